// The timeline: a lane for each process, a bar for each operation, on a canvas.
//
// Only what is visible is drawn. Where many operations share a pixel, the pixel is drawn once: the search for the next
// operation skips what lies behind the same pixel. So a frame costs lanes times pixels, whatever the number of
// operations. Operations that clash, that are selected or found are drawn above the others, and are never too small to
// see.

import { History, NEVER } from './data';
import { button, count, el, plural, replace } from './dom';
import { type Colours, MONO, colours, onTheme } from './colours';
import { type Layout, layOut } from './layout';
import { search } from './search';

export interface Arrow {
  from: number;
  to: number;
  derived: boolean;
}

const AXIS = 20;
const MAP = 40;

export class Timeline {
  readonly root: HTMLElement;
  private layout: Layout;
  private canvas = el('canvas', {
    tabindex: 0,
    role: 'application',
    'aria-roledescription': 'timeline',
    class: 'lanes',
  });
  private map = el('canvas', { class: 'minimap', 'aria-hidden': 'true' });
  private tip = el('div', { class: 'tip', role: 'tooltip', hidden: true });
  private spoken = el('div', { class: 'spoken', 'aria-live': 'polite' });
  private box = el('input', {
    type: 'search',
    placeholder: 'Search key, value, process, line',
    'aria-label': 'Search operations by key, value, process or line',
    spellcheck: 'false',
  });
  private hits = el('span', { class: 'hits', 'aria-live': 'polite' });
  private detail = el('p', { class: 'selected' });
  private palette: Colours = colours();
  private width = 0;
  private height = 0;
  private gutter = 90;
  private laneHeight = 30;
  private left = 0;
  private right = 1;
  private top = 0;
  private hovered = -1;
  private selected = -1;
  private found: Uint32Array = new Uint32Array(0);
  private query = '';
  private foundAt = -1;
  private marked = new Set<number>();
  private arrows: Arrow[] = [];
  /** While an order is played: how far each operation is (0 not yet, 1 done), and the operation of this step. */
  private played: Uint8Array | null = null;
  private current = -1;
  private isDrawing = false;
  private isTime = false;
  private mapPicture: HTMLCanvasElement | null = null;
  private clash: Set<number>;
  /** How many frames were drawn, for those who measure. */
  frames = 0;

  constructor(
    private history: History,
    clash: number[],
    /** Whether what does not clash is dimmed. */
    private dims: boolean,
    private onSelect: (id: number) => void,
  ) {
    this.clash = new Set(clash);
    this.layout = layOut(history, false);
    const byTime = history.time
      ? el(
          'label',
          { class: 'choice' },
          el('input', { type: 'checkbox', change: (event: Event) => this.setTime((event.target as HTMLInputElement).checked) }),
          ' recorded time',
        )
      : null;
    const tools = el(
      'div',
      { class: 'tools' },
      el('span', { class: 'search' }, this.box, this.hits),
      clash.length > 0 && button('First error', 'Jump to the first operation that clashes (e)', () => this.jump()),
      byTime,
      el(
        'span',
        { class: 'group' },
        button('−', 'Zoom out (-)', () => this.zoom(1.6)),
        button('+', 'Zoom in (+)', () => this.zoom(1 / 1.6)),
        button('Fit', 'Show all (0)', () => this.fit()),
      ),
    );
    this.root = el(
      'div',
      { class: 'timeline' },
      tools,
      el('div', { class: 'stage' }, this.canvas, this.tip),
      this.map,
      this.legend(),
      this.detail,
      this.spoken,
    );
    this.describe();
    this.listen();
    onTheme(() => {
      this.palette = colours();
      this.mapPicture = null;
      this.draw();
    });
    new ResizeObserver(() => this.resize()).observe(this.canvas);
    this.fit();
  }

  private legend(): HTMLElement {
    const kinds = new Set(this.history.kinds);
    const names: [string, string][] = [
      ['write', 'puts a value'],
      ['read', 'returns a value'],
      ['update', 'does both, or removes'],
      ['other', 'other'],
    ];
    const entries = names.filter(([kind]) => kinds.has(kind as 'write'));
    return el(
      'p',
      { class: 'legend' },
      ...entries.map(([kind, text]) => el('span', {}, el('i', { class: `swatch ${kind}` }), text)),
      this.clash.size > 0 && el('span', {}, el('i', { class: 'swatch clash' }), 'clashes'),
      el('span', { class: 'keys' }, 'drag or arrows to move, Ctrl+wheel or +/− to zoom, / to search'),
    );
  }

  private describe(): void {
    const { history, layout } = this;
    const text =
      `Timeline of ${plural(history.count, 'operation')} in ${plural(layout.lanes.length, 'lane')}` +
      `${this.clash.size > 0 ? `, ${count(this.clash.size)} of which clash` : ''}. ` +
      'Arrow keys go from operation to operation, plus and minus zoom, E jumps to the first error, Escape ends.';
    this.canvas.setAttribute('aria-label', text);
  }

  // What is visible.

  private get room(): number {
    return Math.max(1, this.width - this.gutter);
  }

  private x(at: number): number {
    return this.gutter + ((at - this.left) / (this.right - this.left)) * this.room;
  }

  private at(x: number): number {
    return this.left + ((x - this.gutter) / this.room) * (this.right - this.left);
  }

  private show(left: number, right: number): void {
    const margin = this.layout.length * 0.02 + 0.2;
    const span = Math.min(Math.max(right - left, 1e-3 * Math.min(1, this.layout.length)), this.layout.length + 2 * margin);
    const middle = (left + right) / 2;
    this.left = Math.min(Math.max(middle - span / 2, -margin), this.layout.length + margin - span);
    this.right = this.left + span;
    this.draw();
  }

  fit(): void {
    this.show(-Infinity, Infinity);
    const margin = this.layout.length * 0.02 + 0.2;
    this.show(-margin, this.layout.length + margin);
  }

  zoom(factor: number, around = (this.left + this.right) / 2): void {
    this.show(around - (around - this.left) * factor, around + (this.right - around) * factor);
  }

  pan(by: number): void {
    const shift = (this.right - this.left) * by;
    this.show(this.left + shift, this.right + shift);
  }

  private setTime(byTime: boolean): void {
    this.isTime = byTime;
    this.layout = layOut(this.history, byTime);
    this.mapPicture = null;
    this.fit();
  }

  /** Shows these operations, with something around them. */
  reveal(ids: Iterable<number>, always = true): void {
    let [first, last] = [Infinity, -Infinity];
    let lane = Infinity;
    for (const id of ids) {
      first = Math.min(first, this.layout.begin[id]!);
      const end = this.history.hasCalls && this.history.end[id] === NEVER ? this.layout.begin[id]! + 1 : this.layout.end[id]!;
      last = Math.max(last, end);
      lane = Math.min(lane, this.layout.laneOf[this.history.process[id]!]!);
    }
    if (first > last) return;
    const y = lane * this.laneHeight;
    if (y < this.top || y > this.top + this.height - AXIS - this.laneHeight) this.scroll(y - this.laneHeight);
    if (!always && first >= this.left && last <= this.right) return;
    const margin = Math.max((last - first) * 0.3, 3);
    if (this.layout.length < 60) this.fit();
    else this.show(first - margin, last + margin);
  }

  /** Jumps to the first operation that clashes. */
  jump(): void {
    const first = [...this.clash].sort((a, b) => this.layout.begin[a]! - this.layout.begin[b]!)[0];
    if (first === undefined) return;
    this.reveal([first]);
    this.select(first);
  }

  select(id: number): void {
    this.selected = id;
    this.onSelect(id);
    this.tell(id);
    this.draw();
  }

  /** Highlights operations, and draws arrows between them. */
  mark(ids: Iterable<number>, arrows: Arrow[] = []): void {
    this.marked = new Set(ids);
    this.arrows = arrows;
    this.reveal(this.marked, false);
    this.draw();
  }

  /** Shows how far an order is played. */
  play(played: Uint8Array | null, current: number): void {
    this.played = played;
    this.current = current;
    if (current >= 0) this.reveal([current], false);
    this.draw();
  }

  find(query: string): void {
    this.query = query;
    this.found = search(this.history, query);
    this.foundAt = -1;
    this.hits.textContent = query.trim() === '' ? '' : plural(this.found.length, 'hit');
    if (this.found.length > 0) this.next(1);
    this.draw();
  }

  private next(by: number): void {
    if (this.found.length === 0) return;
    this.foundAt = (this.foundAt + by + this.found.length) % this.found.length;
    const id = this.found[this.foundAt]!;
    this.hits.textContent = `${count(this.foundAt + 1)} of ${plural(this.found.length, 'hit')}`;
    this.reveal([id]);
    this.select(id);
  }

  private scroll(to: number): void {
    const whole = this.layout.lanes.length * this.laneHeight;
    this.top = Math.min(Math.max(to, 0), Math.max(0, whole - (this.height - AXIS)));
    this.draw();
  }

  // What a person does.

  private listen(): void {
    const { canvas } = this;
    const pointers = new Map<number, PointerEvent>();
    let moved = false;
    canvas.addEventListener('pointerdown', (event) => {
      pointers.set(event.pointerId, event);
      canvas.setPointerCapture(event.pointerId);
      moved = false;
    });
    canvas.addEventListener('pointermove', (event) => {
      const before = pointers.get(event.pointerId);
      if (!before) {
        this.hover(event);
        return;
      }
      const others = [...pointers.values()].filter((other) => other.pointerId !== event.pointerId);
      if (others.length > 0) {
        const other = others[0]!.offsetX;
        const [was, is] = [Math.abs(before.offsetX - other), Math.abs(event.offsetX - other)];
        if (was > 8 && is > 8) this.zoom(was / is, this.at((event.offsetX + other) / 2));
      } else {
        const shift = ((before.offsetX - event.offsetX) / this.room) * (this.right - this.left);
        if (Math.abs(before.offsetX - event.offsetX) + Math.abs(before.offsetY - event.offsetY) > 2) moved = true;
        if (moved) {
          this.show(this.left + shift, this.right + shift);
          this.scroll(this.top + before.offsetY - event.offsetY);
          this.tip.hidden = true;
        } else return;
      }
      pointers.set(event.pointerId, event);
    });
    const up = (event: PointerEvent) => {
      if (pointers.delete(event.pointerId) && !moved && event.type === 'pointerup') {
        const id = this.hit(event.offsetX, event.offsetY);
        if (id >= 0) this.select(id);
        else this.clear();
      }
    };
    canvas.addEventListener('pointerup', up);
    canvas.addEventListener('pointercancel', up);
    canvas.addEventListener('pointerleave', () => this.hover(null));
    canvas.addEventListener('dblclick', (event) => this.zoom(0.4, this.at(event.offsetX)));
    canvas.addEventListener(
      'wheel',
      (event) => {
        const isSideways = event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY);
        const isZoom = event.ctrlKey || event.metaKey;
        if (!isZoom && !isSideways) {
          const before = this.top;
          this.scroll(this.top + event.deltaY);
          // The page scrolls on where the lanes end.
          if (this.top !== before) event.preventDefault();
          return;
        }
        event.preventDefault();
        if (isZoom) this.zoom(Math.exp(Math.max(-1, Math.min(1, event.deltaY / 240))), this.at(event.offsetX));
        else this.pan((event.deltaX || event.deltaY) / this.room);
      },
      { passive: false },
    );
    canvas.addEventListener('keydown', (event) => {
      if (event.ctrlKey || event.metaKey || event.altKey) return;
      if (this.press(event.key, event.shiftKey)) event.preventDefault();
    });
    canvas.addEventListener('focus', () => this.draw());
    canvas.addEventListener('blur', () => this.draw());
    let waiting = 0;
    this.box.addEventListener('input', () => {
      clearTimeout(waiting);
      waiting = setTimeout(() => this.find(this.box.value), this.history.count > 50000 ? 250 : 60) as unknown as number;
    });
    this.box.addEventListener('keydown', (event) => {
      if (event.key === 'Enter') {
        clearTimeout(waiting);
        if (this.query !== this.box.value) this.find(this.box.value);
        else this.next(event.shiftKey ? -1 : 1);
      } else if (event.key === 'Escape') {
        this.box.value = '';
        this.find('');
        this.clear();
        canvas.focus();
      } else return;
      event.preventDefault();
    });
    let isHeld = false;
    const go = (event: PointerEvent) => {
      const at = ((event.offsetX - this.gutter) / this.room) * this.layout.length;
      const half = (this.right - this.left) / 2;
      this.show(at - half, at + half);
    };
    this.map.addEventListener('pointerdown', (event) => {
      isHeld = true;
      this.map.setPointerCapture(event.pointerId);
      go(event);
    });
    this.map.addEventListener('pointermove', (event) => isHeld && go(event));
    this.map.addEventListener('pointerup', () => (isHeld = false));
    this.map.addEventListener('pointercancel', () => (isHeld = false));
  }

  /** Does what a key means. Returns whether it means something. */
  private press(key: string, shift: boolean): boolean {
    switch (key) {
      case 'ArrowLeft':
      case 'ArrowRight': {
        const by = key === 'ArrowLeft' ? -1 : 1;
        if (shift) this.pan(by * 0.2);
        else this.step(by);
        return true;
      }
      case 'ArrowUp':
      case 'ArrowDown':
        this.change(key === 'ArrowUp' ? -1 : 1);
        return true;
      case '+':
      case '=':
        this.zoom(1 / 1.6);
        return true;
      case '-':
        this.zoom(1.6);
        return true;
      case '0':
      case 'Home':
        this.fit();
        return true;
      case 'PageUp':
        this.pan(-0.9);
        return true;
      case 'PageDown':
        this.pan(0.9);
        return true;
      case 'e':
      case 'E':
        this.jump();
        return true;
      case 'n':
        this.next(1);
        return true;
      case 'N':
        this.next(-1);
        return true;
      case '/':
        this.box.focus();
        return true;
      case 'Escape':
        this.clear();
        return true;
      default:
        return false;
    }
  }

  /** Nothing is selected, marked or hovered. */
  clear(): void {
    this.hovered = -1;
    this.tip.hidden = true;
    this.marked = new Set();
    this.arrows = [];
    if (this.selected >= 0) this.select(-1);
    this.draw();
  }

  private step(by: number): void {
    if (this.selected < 0) {
      const first = [...this.clash][0] ?? this.layout.rows[0];
      if (first !== undefined) {
        this.reveal([first], false);
        this.select(first);
      }
      return;
    }
    const lane = this.layout.laneOf[this.history.process[this.selected]!]!;
    const row = this.layout.rows.subarray(this.layout.starts[lane], this.layout.starts[lane + 1]);
    const at = Math.min(Math.max(row.indexOf(this.selected) + by, 0), row.length - 1);
    this.reveal([row[at]!], false);
    this.select(row[at]!);
  }

  /** Goes to the lane above or below. */
  private change(by: number): void {
    if (this.selected < 0) return this.step(by);
    const { laneOf, lanes, begin, end } = this.layout;
    const lane = Math.min(Math.max(laneOf[this.history.process[this.selected]!]! + by, 0), lanes.length - 1);
    const middle = (begin[this.selected]! + end[this.selected]!) / 2;
    const from = this.after(lane, middle);
    const row = this.layout.rows;
    const at = Math.min(from, this.layout.starts[lane + 1]! - 1);
    this.reveal([row[at]!], false);
    this.select(row[at]!);
  }

  private hover(event: PointerEvent | null): void {
    const id = event ? this.hit(event.offsetX, event.offsetY) : -1;
    if (id !== this.hovered) {
      this.hovered = id;
      this.draw();
    }
    this.tip.hidden = id < 0;
    if (id < 0 || !event) return;
    replace(this.tip, el('strong', {}, this.history.full(id)), ...this.facts(id).map((fact) => el('span', {}, fact)));
    const place = Math.min(event.offsetX + 14, this.width - this.tip.offsetWidth - 8);
    this.tip.style.left = `${Math.max(4, place)}px`;
    this.tip.style.top = `${event.offsetY + 18}px`;
  }

  private facts(id: number): string[] {
    const { history } = this;
    const facts = [history.place(id)];
    if (history.hasCalls) {
      const end = history.end[id]!;
      const outcome = history.outcome[id]!;
      facts.push(
        end === NEVER
          ? `called at event ${count(history.call[id]!)}, never returned`
          : outcome === 0
            ? `at event ${count(history.call[id]!)}`
            : `from event ${count(history.call[id]!)} to ${count(end)}`,
      );
      if (outcome === 2 || outcome === 3) facts.push(outcome === 2 ? 'failed: it did not happen' : 'nobody knows whether it happened');
    }
    if (history.time) {
      const { first, unit, call } = history.time;
      facts.push(`recorded at ${unit > 1 ? 'about ' : ''}${count(first + call[id]! * unit)}`);
    }
    const source = history.source(id);
    if (source >= 0) facts.push(`its value is from ${history.place(source)} ${history.full(source)}`);
    if (source === -1) facts.push('its value is the initial value');
    const readers = history.readersOf(id).length;
    if (readers > 0) facts.push(`returned by ${plural(readers, 'operation')}`);
    return facts;
  }

  /** Says in words which operation is selected. */
  private tell(id: number): void {
    const text = id < 0 ? '' : `${this.history.full(id)}, ${this.facts(id).join(', ')}`;
    this.spoken.textContent = text;
    replace(
      this.detail,
      ...(id < 0 ? [] : [el('code', {}, this.history.full(id)), ` ${this.facts(id).join(' · ')}`]),
    );
  }

  /** The first place in the row of a lane whose operation ends at or after a moment. */
  private after(lane: number, moment: number, from = this.layout.starts[lane]!): number {
    const { rows, starts, end } = this.layout;
    let low = from;
    const last = starts[lane + 1]!;
    // The operation is mostly near: look ever further, then halve.
    let step = 1;
    while (low + step < last && end[rows[low + step]!]! < moment) {
      low += step;
      step *= 2;
    }
    let high = Math.min(low + step, last);
    while (low < high) {
      const middle = (low + high) >> 1;
      if (end[rows[middle]!]! < moment) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  private hit(x: number, y: number): number {
    if (x < this.gutter || y < AXIS) return -1;
    const lane = Math.floor((y - AXIS - this.band + this.top) / this.laneHeight);
    if (lane < 0 || lane >= this.layout.lanes.length) return -1;
    const { rows, starts, begin } = this.layout;
    const slack = ((this.right - this.left) / this.room) * 2;
    const from = this.after(lane, this.at(x) - slack);
    const to = starts[lane + 1]!;
    let hit = -1;
    for (let row = from; row < to && begin[rows[row]!]! <= this.at(x) + slack; row++) {
      const id = rows[row]!;
      if (hit < 0 || this.clash.has(id)) hit = id;
      if (row - from > 2000) break;
    }
    return hit;
  }

  // Drawing.

  private resize(): void {
    const lanes = this.layout.lanes.length;
    this.width = this.canvas.clientWidth;
    this.laneHeight = lanes <= 12 ? 32 : lanes <= 30 ? 24 : 18;
    this.height = AXIS + this.band + Math.min(Math.max(lanes, 1) * this.laneHeight, 460) + 6;
    this.canvas.style.height = `${this.height}px`;
    const context = this.canvas.getContext('2d')!;
    context.font = `12px ${MONO}`;
    const names = this.layout.lanes.slice(0, 200).map((process) => context.measureText(this.history.processes[process]!.slice(0, 40)).width);
    this.gutter = Math.min(Math.max(28, Math.max(...names, 0) + 18), this.width < 500 ? 72 : 150);
    const scale = devicePixelRatio || 1;
    for (const [canvas, height] of [[this.canvas, this.height], [this.map, MAP]] as const) {
      canvas.width = Math.round(this.width * scale);
      canvas.height = Math.round(height * scale);
    }
    this.mapPicture = null;
    this.draw();
  }

  /** Draws in the next frame. */
  private draw(): void {
    if (this.isDrawing || this.width === 0) return;
    this.isDrawing = true;
    requestAnimationFrame(() => {
      this.isDrawing = false;
      this.frames++;
      this.paint();
      this.paintMap();
    });
  }

  private paint(): void {
    const { palette, width, height, layout } = this;
    const c = this.canvas.getContext('2d')!;
    const scale = devicePixelRatio || 1;
    c.setTransform(scale, 0, 0, scale, 0, 0);
    c.globalAlpha = 1;
    c.fillStyle = palette.surface;
    c.fillRect(0, 0, width, height);
    c.save();
    c.beginPath();
    c.rect(0, AXIS, width, height - AXIS);
    c.clip();
    const firstLane = Math.max(0, Math.floor(this.top / this.laneHeight));
    const lastLane = Math.min(layout.lanes.length, Math.ceil((this.top + height - AXIS) / this.laneHeight));
    this.paintEvents(c);
    for (let lane = firstLane; lane < lastLane; lane++) this.paintLane(c, lane);
    this.paintSpecial(c);
    this.paintArrows(c);
    c.restore();
    // The names of the lanes.
    c.fillStyle = palette.surface;
    c.fillRect(0, 0, this.gutter, height);
    c.save();
    c.beginPath();
    c.rect(0, AXIS, this.gutter, height - AXIS);
    c.clip();
    c.font = `12px ${MONO}`;
    c.textBaseline = 'middle';
    c.textAlign = 'right';
    for (let lane = firstLane; lane < lastLane; lane++) {
      c.fillStyle = palette.muted;
      const name = this.history.processes[layout.lanes[lane]!]!;
      c.fillText(cut(c, name, this.gutter - 16), this.gutter - 10, this.middle(lane));
    }
    c.restore();
    this.paintAxis(c);
    if (document.activeElement === this.canvas && this.selected < 0) {
      c.strokeStyle = palette.accent;
      c.lineWidth = 2;
      c.strokeRect(1, 1, width - 2, height - 2);
    }
  }

  /** The height of the band with the words of the tester. */
  private get band(): number {
    return this.layout.events.length > 0 ? 16 : 0;
  }

  private middle(lane: number): number {
    return AXIS + this.band + lane * this.laneHeight + this.laneHeight / 2 - this.top;
  }

  private paintLane(c: CanvasRenderingContext2D, lane: number): void {
    const { palette, layout } = this;
    const y = this.middle(lane);
    c.fillStyle = palette.line;
    c.fillRect(this.gutter, Math.round(y), this.room, 1);
    const { rows, starts, begin, end } = layout;
    const last = starts[lane + 1]!;
    const thickness = this.laneHeight - (this.laneHeight > 24 ? 10 : 6);
    const top = y - thickness / 2;
    const isDim = this.dims && this.clash.size > 0;
    const pixel = (this.right - this.left) / this.room;
    let row = this.after(lane, this.left);
    // Bars if there is room for them, else one picture of what is below each pixel.
    let seen = 0;
    for (let at = row; at < last && begin[rows[at]!]! <= this.right && seen <= this.room / 3; at++) seen++;
    if (seen <= this.room / 3) {
      for (; row < last && begin[rows[row]!]! <= this.right; row++) this.paintBar(c, rows[row]!, top, thickness, isDim);
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
      if (begin[id]! > this.right) break;
      const x0 = Math.floor(Math.max(this.x(begin[id]!), this.gutter));
      const x1 = Math.max(x0 + 1, Math.ceil(Math.min(this.x(end[id]!), this.width)));
      if (x0 > to) {
        flush();
        from = x0;
        weight = 0;
      }
      to = Math.max(to, x1);
      // What ends within this pixel is behind it.
      const next = this.after(lane, this.at(to) + pixel * 1e-6, row + 1);
      weight = Math.max(weight, next - row);
      row = next;
    }
    flush();
    c.globalAlpha = 1;
  }

  private paintBar(
    c: CanvasRenderingContext2D, id: number, top: number, thickness: number, isDim: boolean, special = false,
  ): void {
    const { palette, history, layout } = this;
    if (!special && (this.clash.has(id) || id === this.selected)) return;
    const x0 = Math.max(this.x(layout.begin[id]!), this.gutter - 8);
    let x1 = Math.min(this.x(layout.end[id]!), this.width + 8);
    const least = special ? 6 : 1.5;
    if (x1 - x0 < least) x1 = x0 + least;
    const wide = x1 - x0;
    const kind = history.kind(id);
    const outcome = history.outcome[id]!;
    const isOpen = outcome >= 3;
    c.globalAlpha = outcome === 2 ? 0.35 : isDim && !special ? 0.5 : 1;
    if (this.played) c.globalAlpha = this.played[id] ? 1 : 0.3;
    const radius = Math.min(4, wide / 2);
    const isSoft = (isDim || this.played !== null) && !special ? !this.played?.[id] : kind === 'read';
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
    if (wide > 22) {
      c.font = `${this.laneHeight > 24 ? 12 : 11}px ${MONO}`;
      c.textBaseline = 'middle';
      c.textAlign = 'left';
      c.fillStyle = isSoft || isOpen || kind === 'read' ? palette.ink : palette['on-fill'];
      const text = cut(c, history.brief(id), wide - 10);
      if (text !== '…') {
        // The text stays in sight while its bar is.
        const begin = Math.max(x0, this.gutter) + 6;
        c.fillText(text, begin, top + thickness / 2 + 0.5);
      }
    }
    c.globalAlpha = 1;
  }

  /** What is drawn above the rest: what clashes, what is found, what is selected. */
  private paintSpecial(c: CanvasRenderingContext2D): void {
    const { layout, palette } = this;
    const thickness = this.laneHeight - (this.laneHeight > 24 ? 10 : 6);
    const frame = (id: number, colour: string, out: number, line: number) => {
      const y = this.middle(layout.laneOf[this.history.process[id]!]!);
      const x0 = Math.max(this.x(layout.begin[id]!), this.gutter - 8);
      const x1 = Math.max(Math.min(this.x(layout.end[id]!), this.width + 8), x0 + 6);
      if (x1 < this.gutter || x0 > this.width) return;
      c.strokeStyle = colour;
      c.lineWidth = line;
      c.beginPath();
      c.roundRect(x0 - out, y - thickness / 2 - out, x1 - x0 + 2 * out, thickness + 2 * out, 5);
      c.stroke();
    };
    const isVisible = (id: number) => layout.end[id]! >= this.left && layout.begin[id]! <= this.right;
    const above = this.selected >= 0 ? [...this.clash, this.selected] : [...this.clash];
    for (const id of above) {
      if (!isVisible(id)) continue;
      const y = this.middle(layout.laneOf[this.history.process[id]!]!);
      this.paintBar(c, id, y - thickness / 2, thickness, false, true);
      if (this.clash.has(id)) frame(id, palette.clash, 1, 2);
    }
    // No more marks than pixels.
    let last = -Infinity;
    const pixel = ((this.right - this.left) / this.room) * 0.5;
    for (const id of this.found) {
      if (!isVisible(id) || Math.abs(layout.begin[id]! - last) < pixel) continue;
      last = layout.begin[id]!;
      frame(id, palette.found, 1.5, 2.5);
    }
    for (const id of this.marked) if (isVisible(id)) frame(id, palette.accent, 3, 2);
    if (this.hovered >= 0) frame(this.hovered, palette.ink, 1, 1.5);
    if (this.current >= 0) frame(this.current, palette.accent, 3, 3);
    if (this.selected >= 0) frame(this.selected, palette.accent, 2, 2.5);
  }

  private paintArrows(c: CanvasRenderingContext2D): void {
    const arrows: Arrow[] = [...this.arrows];
    const looked = this.hovered >= 0 ? this.hovered : this.selected;
    if (looked >= 0) {
      const source = this.history.source(looked);
      if (source >= 0) arrows.push({ from: source, to: looked, derived: false });
      for (const reader of this.history.readersOf(looked).slice(0, 200)) arrows.push({ from: looked, to: reader, derived: false });
    }
    for (const { from, to, derived } of arrows) this.paintArrow(c, from, to, derived);
  }

  private paintArrow(c: CanvasRenderingContext2D, from: number, to: number, derived: boolean): void {
    const { layout, palette } = this;
    const end = (id: number) => Math.min(this.x(layout.end[id]!), this.width - 4);
    const lane = (id: number) => layout.laneOf[this.history.process[id]!]!;
    const [y0, y1] = [this.middle(lane(from)), this.middle(lane(to))];
    // From the middle of one bar to the middle of the other; within a lane from end to beginning.
    const centre = (id: number) => (Math.max(this.x(layout.begin[id]!), this.gutter) + end(id)) / 2;
    const isSame = lane(from) === lane(to);
    const [x0, x1] = isSame ? [end(from), this.x(layout.begin[to]!)] : [centre(from), centre(to)];
    const half = this.laneHeight / 2 - 5;
    c.strokeStyle = derived ? palette.clash : palette.accent;
    c.fillStyle = c.strokeStyle;
    c.lineWidth = 1.8;
    if (derived) c.setLineDash([6, 4]);
    const down = y1 > y0 ? 1 : -1;
    const [begin, stop] = isSame ? [y0, y1] : [y0 + down * half, y1 - down * half];
    const bend = isSame ? -this.laneHeight * 0.7 : (stop - begin) / 2;
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
    const { palette } = this;
    let free = -Infinity;
    for (const [from, to, words] of this.layout.events) {
      const [x0, x1] = [this.x(from), this.x(to)];
      if (x1 < this.gutter || x0 > this.width) continue;
      c.fillStyle = palette.update;
      c.globalAlpha = 0.1;
      if (x1 > x0) c.fillRect(x0, AXIS, x1 - x0, this.height);
      c.globalAlpha = 0.7;
      c.fillRect(x0, AXIS, 1.5, this.height);
      c.globalAlpha = 1;
      if (x0 < free) continue;
      c.font = `10.5px ${MONO}`;
      c.textAlign = 'left';
      c.textBaseline = 'middle';
      const text = cut(c, words, 180);
      free = x0 + c.measureText(text).width + 10;
      c.fillText(text, Math.max(x0, this.gutter) + 5, AXIS + 8);
    }
  }

  private paintAxis(c: CanvasRenderingContext2D): void {
    const { palette } = this;
    if (!this.history.hasCalls) return;
    const span = this.right - this.left;
    let step = 10 ** Math.ceil(Math.log10((span / this.room) * 70));
    if (step / 5 > (span / this.room) * 70) step /= 5;
    else if (step / 2 > (span / this.room) * 70) step /= 2;
    if (!this.isTime) step = Math.max(1, step);
    // Recorded times count from the first of them.
    const unit = this.isTime ? (this.history.time?.unit ?? 1) : 1;
    c.font = `10.5px ${MONO}`;
    c.textAlign = 'center';
    c.textBaseline = 'middle';
    c.fillStyle = palette.muted;
    c.strokeStyle = palette.line;
    c.lineWidth = 1;
    for (let at = Math.max(0, Math.ceil(this.left / step) * step); at <= Math.min(this.right, this.layout.length); at += step) {
      const x = Math.round(this.x(at)) + 0.5;
      if (x < this.gutter) continue;
      c.beginPath();
      c.moveTo(x, AXIS - 4);
      c.lineTo(x, AXIS);
      c.stroke();
      const text = count(Math.round(at * unit));
      if (x + c.measureText(text).width / 2 < this.width) c.fillText(text, x, 8);
    }
  }

  private paintMap(): void {
    const c = this.map.getContext('2d')!;
    const scale = devicePixelRatio || 1;
    this.mapPicture ??= this.mapOf(scale);
    c.setTransform(1, 0, 0, 1, 0, 0);
    c.clearRect(0, 0, this.map.width, this.map.height);
    c.drawImage(this.mapPicture, 0, 0);
    c.setTransform(scale, 0, 0, scale, 0, 0);
    const x = (at: number) => this.gutter + (at / this.layout.length) * this.room;
    c.fillStyle = this.palette.found;
    let last = -9;
    for (const id of this.found) {
      const at = x(this.layout.begin[id]!);
      if (at - last < 1 && at >= last) continue;
      last = at;
      c.fillRect(at - 0.5, MAP - 8, 1.5, 8);
    }
    c.fillStyle = this.palette.clash;
    for (const id of this.clash) c.fillRect(x(this.layout.begin[id]!) - 1, 0, 2.5, MAP);
    const [from, to] = [Math.max(x(this.left), this.gutter), Math.min(x(this.right), this.width)];
    c.strokeStyle = this.palette.accent;
    c.lineWidth = 2;
    c.strokeRect(from + 1, 1, Math.max(to - from - 2, 4), MAP - 2);
    c.fillStyle = this.palette.accent;
    c.globalAlpha = 0.1;
    c.fillRect(from + 1, 1, Math.max(to - from - 2, 4), MAP - 2);
    c.globalAlpha = 1;
  }

  /** How busy each lane is, pixel by pixel. */
  private mapOf(scale: number): HTMLCanvasElement {
    const picture = el('canvas', { width: this.map.width, height: this.map.height });
    const c = picture.getContext('2d')!;
    c.scale(scale, scale);
    c.fillStyle = this.palette.sunken;
    c.fillRect(this.gutter, 0, this.room, MAP);
    const { layout } = this;
    const lanes = layout.lanes.length;
    // With more lanes than pixels, only some are drawn.
    const shown = Math.min(lanes, MAP - 8);
    const height = (MAP - 8) / Math.max(shown, 1);
    const length = layout.length;
    c.fillStyle = this.palette.bin;
    for (let at = 0; at < shown; at++) {
      const lane = Math.floor((at * lanes) / shown);
      const last = layout.starts[lane + 1]!;
      let row = layout.starts[lane]!;
      while (row < last) {
        const id = layout.rows[row]!;
        const x0 = Math.floor((layout.begin[id]! / length) * this.room);
        const x1 = Math.max(x0 + 1, Math.ceil((layout.end[id]! / length) * this.room));
        c.fillRect(this.gutter + x0, 4 + at * height, x1 - x0, Math.max(height - 1, Math.min(height, 0.7)));
        row = this.after(lane, ((x0 + 1) / this.room) * length, row + 1);
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
