// Paints the timeline and the map below it.
//
// Only what is visible is drawn. Where many operations share a pixel, the pixel is drawn once: the search for the next
// operation skips what lies behind the same pixel. So a frame costs lanes times pixels, whatever the number of
// operations. Operations that clash, that are selected or found are drawn above the others, and are never too small to
// see.

import { count, el } from './dom';
import { MONO } from './colours';
import { AXIS, type Arrow, type View } from './view';

/** The height of the map. */
export const MAP = 40;

export class Painter {
  /** How busy the lanes are: it changes with the size and the theme only. */
  private mapPicture: HTMLCanvasElement | null = null;
  /** The texts of the bars that were painted last, and where they stand. */
  labels: { id: number; text: string; from: number; to: number; y: number }[] = [];

  constructor(
    private view: View,
    private canvas: HTMLCanvasElement,
    private map: HTMLCanvasElement,
  ) {}

  /** The picture in the map is out of date. */
  forget(): void {
    this.mapPicture = null;
  }

  paint(): void {
    const { view } = this;
    const { palette, width, height, layout } = view;
    const c = this.canvas.getContext('2d')!;
    const scale = devicePixelRatio || 1;
    this.labels = [];
    c.setTransform(scale, 0, 0, scale, 0, 0);
    c.globalAlpha = 1;
    c.fillStyle = palette.surface;
    c.fillRect(0, 0, width, height);
    c.save();
    c.beginPath();
    c.rect(0, AXIS, width, height - AXIS);
    c.clip();
    const firstLane = Math.max(0, Math.floor(view.top / view.laneHeight));
    const lastLane = Math.min(layout.lanes.length, Math.ceil((view.top + height - AXIS) / view.laneHeight));
    this.paintEvents(c);
    for (let lane = firstLane; lane < lastLane; lane++) this.paintLane(c, lane);
    this.paintSpecial(c);
    this.paintArrows(c);
    c.restore();
    // The names of the lanes.
    c.fillStyle = palette.surface;
    c.fillRect(0, 0, view.gutter, height);
    c.save();
    c.beginPath();
    c.rect(0, AXIS, view.gutter, height - AXIS);
    c.clip();
    c.font = `12px ${MONO}`;
    c.textBaseline = 'middle';
    c.textAlign = 'right';
    for (let lane = firstLane; lane < lastLane; lane++) {
      c.fillStyle = palette.muted;
      const name = view.history.processes[layout.lanes[lane]!]!;
      c.fillText(cut(c, name, view.gutter - 16), view.gutter - 10, view.middle(lane));
    }
    c.restore();
    this.paintAxis(c);
    if (document.activeElement === this.canvas && view.selected < 0) {
      c.strokeStyle = palette.accent;
      c.lineWidth = 2;
      c.strokeRect(1, 1, width - 2, height - 2);
    }
  }

  private paintLane(c: CanvasRenderingContext2D, lane: number): void {
    const { view } = this;
    const { palette, layout } = view;
    const y = view.middle(lane);
    c.fillStyle = palette.line;
    c.fillRect(view.gutter, Math.round(y), view.room, 1);
    const { rows, starts, begin, end } = layout;
    const last = starts[lane + 1]!;
    const thickness = view.laneHeight - (view.laneHeight > 24 ? 10 : 6);
    const top = y - thickness / 2;
    const isDim = view.dims && view.clash.size > 0;
    const pixel = (view.right - view.left) / view.room;
    let row = view.after(lane, view.left);
    // Bars if there is room for them, else one picture of what is below each pixel.
    let seen = 0;
    for (let at = row; at < last && begin[rows[at]!]! <= view.right && seen <= view.room / 3; at++) seen++;
    if (seen <= view.room / 3) {
      const isGrouped = view.history.lastOf.length > 0;
      for (; row < last && begin[rows[row]!]! <= view.right; row++) {
        if (isGrouped) this.paintGroup(c, rows[row]!, top, thickness);
        this.paintBar(c, rows[row]!, top, thickness, isDim);
      }
      return;
    }
    c.globalAlpha = 1;
    let from = -1;
    let to = -1;
    let weight = 0;
    const flush = () => {
      if (to < from || from < 0) return;
      c.fillStyle = palette.bin;
      c.globalAlpha = weight > 1 ? 1 : 0.7;
      c.fillRect(from, top, to - from, thickness);
    };
    while (row < last) {
      const id = rows[row]!;
      if (begin[id]! > view.right) break;
      const x0 = Math.floor(Math.max(view.x(begin[id]!), view.gutter));
      const x1 = Math.max(x0 + 1, Math.ceil(Math.min(view.x(end[id]!), view.width)));
      if (x0 > to) {
        flush();
        from = x0;
        weight = 0;
      }
      to = Math.max(to, x1);
      // What ends within this pixel is behind it.
      const next = view.after(lane, view.at(to) + pixel * 1e-6, row + 1);
      weight = Math.max(weight, next - row);
      row = next;
    }
    flush();
    c.globalAlpha = 1;
  }

  /** The frame of a transaction, if this is its first operation. */
  private paintGroup(c: CanvasRenderingContext2D, id: number, top: number, thickness: number): void {
    const { view } = this;
    const last = view.history.lastOf[id]!;
    if (last < 0) return;
    const [x0, x1] = [view.x(view.layout.begin[id]!) - 4, view.x(view.layout.end[last]!) + 4];
    c.fillStyle = view.palette.sunken;
    c.strokeStyle = view.palette.muted;
    c.lineWidth = 1;
    c.beginPath();
    c.roundRect(x0, top - 4, x1 - x0, thickness + 8, 6);
    c.fill();
    c.stroke();
  }

  private paintBar(
    c: CanvasRenderingContext2D,
    id: number,
    top: number,
    thickness: number,
    isDim: boolean,
    special = false,
  ): void {
    const { view } = this;
    const { palette, history, layout } = view;
    if (!special && (view.clash.has(id) || id === view.selected)) return;
    const x0 = Math.max(view.x(layout.begin[id]!), view.gutter - 8);
    let x1 = Math.min(view.x(layout.end[id]!), view.width + 8);
    const least = special ? 6 : 1.5;
    if (x1 - x0 < least) x1 = x0 + least;
    const wide = x1 - x0;
    const kind = history.kind(id);
    const outcome = history.outcome[id]!;
    const isOpen = outcome >= 3;
    c.globalAlpha = outcome === 2 ? 0.35 : isDim && !special ? 0.5 : 1;
    if (view.played) c.globalAlpha = view.played[id] ? 1 : 0.3;
    const radius = Math.min(4, wide / 2);
    const isSoft = (isDim || view.played !== null) && !special ? !view.played?.[id] : kind === 'read';
    c.fillStyle = isSoft ? palette[`${kind}-soft`] : palette[kind];
    if (isOpen && wide > 20) {
      // It never returned: the bar fades out.
      const fade = c.createLinearGradient(x0, 0, x1, 0);
      fade.addColorStop(0, isSoft ? palette[`${kind}-soft`] : palette[kind]);
      fade.addColorStop(1, palette.surface);
      c.fillStyle = fade;
    }
    c.beginPath();
    c.roundRect(x0, top, wide, thickness, isOpen ? [radius, 0, 0, radius] : radius);
    c.fill();
    if (wide > 4) {
      c.strokeStyle = kind === 'read' ? palette['read-line'] : palette[kind];
      c.lineWidth = 1;
      if (isOpen || outcome === 2) c.setLineDash([4, 3]);
      c.stroke();
      c.setLineDash([]);
    }
    this.paintLabel(c, id, x0, x1, top + thickness / 2 + 0.5, isSoft || isOpen || kind === 'read');
    c.globalAlpha = 1;
  }

  /** The text of a bar: in it, or beside it if there is room, else cut. */
  private paintLabel(
    c: CanvasRenderingContext2D,
    id: number,
    x0: number,
    x1: number,
    y: number,
    isOnLight: boolean,
  ): void {
    const { view } = this;
    c.font = `${view.laneHeight > 24 ? 12 : 11}px ${MONO}`;
    c.textBaseline = 'middle';
    c.textAlign = 'left';
    const [whole, wide] = [view.history.brief(id).slice(0, 400), x1 - x0];
    const width = c.measureText(whole).width;
    // The text stays in sight while its bar is.
    const begin = Math.max(x0, view.gutter) + 6;
    if (width <= x1 - begin - 4) return this.write(c, id, whole, begin, y, isOnLight);
    const pad = view.history.lastOf.length > 0 ? 10 : 6;
    const [before, after] = view.beside(id);
    const isFree = (from: number) =>
      from >= before + pad &&
      from + width <= after - pad &&
      !this.labels.some((label) => label.y === y && from < label.to + 6 && label.from < from + width + 6);
    const beside = [x1 + pad, x0 - pad - width].find(isFree);
    if (beside !== undefined) this.write(c, id, whole, beside, y, true);
    else if (wide > 22) this.write(c, id, cut(c, whole, wide - 10), begin, y, isOnLight);
  }

  private write(
    c: CanvasRenderingContext2D,
    id: number,
    text: string,
    from: number,
    y: number,
    isOnLight: boolean,
  ): void {
    if (text === '…') return;
    c.fillStyle = isOnLight ? this.view.palette.ink : this.view.palette['on-fill'];
    c.fillText(text, from, y);
    this.labels.push({ id, text, from, to: from + c.measureText(text).width, y });
  }

  /** What is drawn above the rest: what clashes, what is found, what is selected. */
  private paintSpecial(c: CanvasRenderingContext2D): void {
    const { view } = this;
    const { layout, palette } = view;
    const thickness = view.laneHeight - (view.laneHeight > 24 ? 10 : 6);
    const frame = (id: number, colour: string, out: number, line: number) => {
      const y = view.middle(layout.laneOf[view.history.process[id]!]!);
      const x0 = Math.max(view.x(layout.begin[id]!), view.gutter - 8);
      const x1 = Math.max(Math.min(view.x(layout.end[id]!), view.width + 8), x0 + 6);
      if (x1 < view.gutter || x0 > view.width) return;
      c.strokeStyle = colour;
      c.lineWidth = line;
      c.beginPath();
      c.roundRect(x0 - out, y - thickness / 2 - out, x1 - x0 + 2 * out, thickness + 2 * out, 5);
      c.stroke();
    };
    const isVisible = (id: number) => layout.end[id]! >= view.left && layout.begin[id]! <= view.right;
    const above = view.selected >= 0 ? [...view.clash, view.selected] : [...view.clash];
    for (const id of above) {
      if (!isVisible(id)) continue;
      const y = view.middle(layout.laneOf[view.history.process[id]!]!);
      this.paintBar(c, id, y - thickness / 2, thickness, false, true);
      if (view.clash.has(id)) frame(id, palette.clash, 1, 2);
    }
    // No more marks than pixels.
    let last = -Infinity;
    const pixel = ((view.right - view.left) / view.room) * 0.5;
    for (const id of view.found) {
      if (!isVisible(id) || Math.abs(layout.begin[id]! - last) < pixel) continue;
      last = layout.begin[id]!;
      frame(id, palette.found, 1.5, 2.5);
    }
    for (const id of view.marked) if (isVisible(id)) frame(id, palette.accent, 3, 2);
    if (view.hovered >= 0) frame(view.hovered, palette.ink, 1, 1.5);
    if (view.current >= 0) frame(view.current, palette.accent, 3, 3);
    if (view.selected >= 0) frame(view.selected, palette.accent, 2, 2.5);
  }

  private paintArrows(c: CanvasRenderingContext2D): void {
    const { view } = this;
    const arrows: Arrow[] = [...view.arrows];
    const looked = view.hovered >= 0 ? view.hovered : view.selected;
    if (looked >= 0) {
      const source = view.history.source(looked);
      if (source >= 0) arrows.push({ from: source, to: looked, derived: false });
      for (const reader of view.history.readersOf(looked).slice(0, 200))
        arrows.push({ from: looked, to: reader, derived: false });
    }
    for (const { from, to, derived } of arrows) this.paintArrow(c, from, to, derived);
  }

  private paintArrow(c: CanvasRenderingContext2D, from: number, to: number, derived: boolean): void {
    const { view } = this;
    const { layout, palette } = view;
    const end = (id: number) => Math.min(view.x(layout.end[id]!), view.width - 4);
    const lane = (id: number) => layout.laneOf[view.history.process[id]!]!;
    const [y0, y1] = [view.middle(lane(from)), view.middle(lane(to))];
    // From the middle of one bar to the middle of the other; within a lane from end to beginning.
    const centre = (id: number) => (Math.max(view.x(layout.begin[id]!), view.gutter) + end(id)) / 2;
    const isSame = lane(from) === lane(to);
    const [x0, x1] = isSame ? [end(from), view.x(layout.begin[to]!)] : [centre(from), centre(to)];
    const half = view.laneHeight / 2 - 5;
    c.strokeStyle = derived ? palette.clash : palette.accent;
    c.fillStyle = c.strokeStyle;
    c.lineWidth = 1.8;
    if (derived) c.setLineDash([6, 4]);
    const down = y1 > y0 ? 1 : -1;
    const [begin, stop] = isSame ? [y0, y1] : [y0 + down * half, y1 - down * half];
    const bend = isSame ? -view.laneHeight * 0.7 : (stop - begin) / 2;
    c.beginPath();
    c.moveTo(x0, begin);
    c.bezierCurveTo(x0, begin + bend, x1, isSame ? stop + bend : stop - bend, x1, stop);
    c.stroke();
    c.setLineDash([]);
    const tip = isSame ? 1 : down;
    c.beginPath();
    c.moveTo(x1, stop);
    c.lineTo(x1 - 4, stop - tip * 7);
    c.lineTo(x1 + 4, stop - tip * 7);
    c.fill();
  }

  /** The events of the tester, such as a network that was cut, as a band behind all lanes. */
  private paintEvents(c: CanvasRenderingContext2D): void {
    const { view } = this;
    const { palette } = view;
    let free = -Infinity;
    for (const [from, to, words] of view.layout.events) {
      const [x0, x1] = [view.x(from), view.x(to)];
      if (x1 < view.gutter || x0 > view.width) continue;
      c.fillStyle = palette.update;
      c.globalAlpha = 0.1;
      if (x1 > x0) c.fillRect(x0, AXIS, x1 - x0, view.height);
      c.globalAlpha = 0.7;
      c.fillRect(x0, AXIS, 1.5, view.height);
      c.globalAlpha = 1;
      if (x0 < free) continue;
      c.font = `10.5px ${MONO}`;
      c.textAlign = 'left';
      c.textBaseline = 'middle';
      const text = cut(c, words, 180);
      free = x0 + c.measureText(text).width + 10;
      c.fillText(text, Math.max(x0, view.gutter) + 5, AXIS + 8);
    }
  }

  private paintAxis(c: CanvasRenderingContext2D): void {
    const { view } = this;
    const { palette } = view;
    if (!view.history.hasCalls) return;
    const span = view.right - view.left;
    let step = 10 ** Math.ceil(Math.log10((span / view.room) * 70));
    if (step / 5 > (span / view.room) * 70) step /= 5;
    else if (step / 2 > (span / view.room) * 70) step /= 2;
    if (!view.isTime) step = Math.max(1, step);
    // Recorded times count from the first of them.
    const unit = view.isTime ? (view.history.time?.unit ?? 1) : 1;
    c.font = `10.5px ${MONO}`;
    c.textAlign = 'center';
    c.textBaseline = 'middle';
    c.fillStyle = palette.muted;
    c.strokeStyle = palette.line;
    c.lineWidth = 1;
    for (
      let at = Math.max(0, Math.ceil(view.left / step) * step);
      at <= Math.min(view.right, view.layout.length);
      at += step
    ) {
      const x = Math.round(view.x(at)) + 0.5;
      if (x < view.gutter) continue;
      c.beginPath();
      c.moveTo(x, AXIS - 4);
      c.lineTo(x, AXIS);
      c.stroke();
      const text = count(Math.round(at * unit));
      if (x + c.measureText(text).width / 2 < view.width) c.fillText(text, x, 8);
    }
  }

  paintMap(): void {
    const { view } = this;
    const c = this.map.getContext('2d')!;
    const scale = devicePixelRatio || 1;
    this.mapPicture ??= this.mapOf(scale);
    c.setTransform(1, 0, 0, 1, 0, 0);
    c.clearRect(0, 0, this.map.width, this.map.height);
    c.drawImage(this.mapPicture, 0, 0);
    c.setTransform(scale, 0, 0, scale, 0, 0);
    const x = (at: number) => view.gutter + (at / view.layout.length) * view.room;
    c.fillStyle = view.palette.found;
    let last = -9;
    for (const id of view.found) {
      const at = x(view.layout.begin[id]!);
      if (at - last < 1 && at >= last) continue;
      last = at;
      c.fillRect(at - 0.5, MAP - 8, 1.5, 8);
    }
    c.fillStyle = view.palette.clash;
    for (const id of view.clash) c.fillRect(x(view.layout.begin[id]!) - 1, 0, 2.5, MAP);
    const [from, to] = [Math.max(x(view.left), view.gutter), Math.min(x(view.right), view.width)];
    c.strokeStyle = view.palette.accent;
    c.lineWidth = 2;
    c.strokeRect(from + 1, 1, Math.max(to - from - 2, 4), MAP - 2);
    c.fillStyle = view.palette.accent;
    c.globalAlpha = 0.1;
    c.fillRect(from + 1, 1, Math.max(to - from - 2, 4), MAP - 2);
    c.globalAlpha = 1;
  }

  /** How busy each lane is, pixel by pixel. */
  private mapOf(scale: number): HTMLCanvasElement {
    const { view } = this;
    const picture = el('canvas', { width: this.map.width, height: this.map.height });
    const c = picture.getContext('2d')!;
    c.scale(scale, scale);
    c.fillStyle = view.palette.sunken;
    c.fillRect(view.gutter, 0, view.room, MAP);
    const { layout } = view;
    const lanes = layout.lanes.length;
    // With more lanes than pixels, only some are drawn.
    const shown = Math.min(lanes, MAP - 8);
    const height = (MAP - 8) / Math.max(shown, 1);
    const length = layout.length;
    c.fillStyle = view.palette.bin;
    for (let at = 0; at < shown; at++) {
      const lane = Math.floor((at * lanes) / shown);
      const last = layout.starts[lane + 1]!;
      let row = layout.starts[lane]!;
      while (row < last) {
        const id = layout.rows[row]!;
        const x0 = Math.floor((layout.begin[id]! / length) * view.room);
        const x1 = Math.max(x0 + 1, Math.ceil((layout.end[id]! / length) * view.room));
        c.fillRect(view.gutter + x0, 4 + at * height, x1 - x0, Math.max(height - 1, Math.min(height, 0.7)));
        row = view.after(lane, ((x0 + 1) / view.room) * length, row + 1);
      }
    }
    return picture;
  }
}

/** A text that fits into so many pixels. */
function cut(c: CanvasRenderingContext2D, text: string, width: number): string {
  if (text.length > 400) text = text.slice(0, 400);
  if (c.measureText(text).width <= width) return text;
  let low = 0;
  let high = text.length;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (c.measureText(`${text.slice(0, middle)}…`).width <= width) low = middle;
    else high = middle - 1;
  }
  return `${text.slice(0, low)}…`;
}
