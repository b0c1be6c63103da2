// The timeline: a lane for each process, a bar for each operation, on a canvas. Here is what a person does with it;
// `view` is what it shows, `paint` draws it.

import { History, NEVER } from './data';
import { button, count, el, plural, replace } from './dom';
import { MONO, colours, onTheme } from './colours';
import { layOut } from './layout';
import { MAP, Painter } from './paint';
import { search } from './search';
import { AXIS, type Arrow, View } from './view';

export class Timeline {
  readonly root: HTMLElement;
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
  private query = '';
  private foundAt = -1;
  private isDrawing = false;
  readonly view: View;
  private painter: Painter;
  /** How many frames were drawn, for those who measure. */
  frames = 0;

  constructor(
    history: History,
    clash: number[],
    /** Whether what does not clash is dimmed. */
    dims: boolean,
    private onSelect: (id: number) => void,
  ) {
    this.view = new View(history, clash, dims);
    this.painter = new Painter(this.view, this.canvas, this.map);
    const byTime = history.time
      ? el(
          'label',
          { class: 'choice' },
          el('input', {
            type: 'checkbox',
            change: (event: Event) => this.setTime((event.target as HTMLInputElement).checked),
          }),
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
      this.view.palette = colours();
      this.painter.forget();
      this.draw();
    });
    new ResizeObserver(() => this.resize()).observe(this.canvas);
    this.fit();
  }

  private legend(): HTMLElement {
    const kinds = new Set(this.view.history.kinds);
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
      this.view.clash.size > 0 && el('span', {}, el('i', { class: 'swatch clash' }), 'clashes'),
      el('span', { class: 'keys' }, 'drag or arrows to move, Ctrl+wheel or +/− to zoom, / to search'),
    );
  }

  private describe(): void {
    const { view } = this;
    const { history, layout } = view;
    const text =
      `Timeline of ${plural(history.count, 'operation')} in ${plural(layout.lanes.length, 'lane')}` +
      `${view.clash.size > 0 ? `, ${count(view.clash.size)} of which clash` : ''}. ` +
      'Arrow keys go from operation to operation, plus and minus zoom, E jumps to the first error, Escape ends.';
    this.canvas.setAttribute('aria-label', text);
  }

  // What is visible.

  private show(left: number, right: number): void {
    const { view } = this;
    const margin = view.layout.length * 0.02 + 0.2;
    const span = Math.min(
      Math.max(right - left, 1e-3 * Math.min(1, view.layout.length)),
      view.layout.length + 2 * margin,
    );
    const middle = (left + right) / 2;
    view.left = Math.min(Math.max(middle - span / 2, -margin), view.layout.length + margin - span);
    view.right = view.left + span;
    this.draw();
  }

  fit(): void {
    this.show(-Infinity, Infinity);
    const margin = this.view.layout.length * 0.02 + 0.2;
    this.show(-margin, this.view.layout.length + margin);
  }

  zoom(factor: number, around = (this.view.left + this.view.right) / 2): void {
    this.show(around - (around - this.view.left) * factor, around + (this.view.right - around) * factor);
  }

  pan(by: number): void {
    const { view } = this;
    const shift = (view.right - view.left) * by;
    this.show(view.left + shift, view.right + shift);
  }

  private setTime(byTime: boolean): void {
    const { view } = this;
    view.isTime = byTime;
    view.layout = layOut(view.history, byTime);
    this.painter.forget();
    this.fit();
  }

  /** Shows these operations, with something around them. */
  reveal(ids: Iterable<number>, always = true): void {
    const { view } = this;
    let [first, last] = [Infinity, -Infinity];
    let lane = Infinity;
    for (const id of ids) {
      first = Math.min(first, view.layout.begin[id]!);
      const end =
        view.history.hasCalls && view.history.end[id] === NEVER ? view.layout.begin[id]! + 1 : view.layout.end[id]!;
      last = Math.max(last, end);
      lane = Math.min(lane, view.layout.laneOf[view.history.process[id]!]!);
    }
    if (first > last) return;
    const y = lane * view.laneHeight;
    if (y < view.top || y > view.top + view.height - AXIS - view.laneHeight) this.scroll(y - view.laneHeight);
    if (!always && first >= view.left && last <= view.right) return;
    const margin = Math.max((last - first) * 0.3, 3);
    if (view.layout.length < 60) this.fit();
    else this.show(first - margin, last + margin);
  }

  /** Jumps to the first operation that clashes. */
  jump(): void {
    const { view } = this;
    const first = [...view.clash].sort((a, b) => view.layout.begin[a]! - view.layout.begin[b]!)[0];
    if (first === undefined) return;
    this.reveal([first]);
    this.select(first);
  }

  select(id: number): void {
    this.view.selected = id;
    this.onSelect(id);
    this.tell(id);
    this.draw();
  }

  /** Highlights operations, and draws arrows between them. */
  mark(ids: Iterable<number>, arrows: Arrow[] = []): void {
    const { view } = this;
    view.marked = new Set(ids);
    view.arrows = arrows;
    this.reveal(view.marked, false);
    this.draw();
  }

  /** Shows how far an order is played. */
  play(played: Uint8Array | null, current: number): void {
    this.view.played = played;
    this.view.current = current;
    if (current >= 0) this.reveal([current], false);
    this.draw();
  }

  find(query: string): void {
    const { view } = this;
    this.query = query;
    view.found = search(view.history, query);
    this.foundAt = -1;
    this.hits.textContent = query.trim() === '' ? '' : plural(view.found.length, 'hit');
    if (view.found.length > 0) this.next(1);
    this.draw();
  }

  private next(by: number): void {
    const { view } = this;
    if (view.found.length === 0) return;
    this.foundAt = (this.foundAt + by + view.found.length) % view.found.length;
    const id = view.found[this.foundAt]!;
    this.hits.textContent = `${count(this.foundAt + 1)} of ${plural(view.found.length, 'hit')}`;
    this.reveal([id]);
    this.select(id);
  }

  private scroll(to: number): void {
    const { view } = this;
    const whole = view.layout.lanes.length * view.laneHeight;
    view.top = Math.min(Math.max(to, 0), Math.max(0, whole - (view.height - AXIS)));
    this.draw();
  }

  // What a person does.

  private listen(): void {
    const { view } = this;
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
        if (was > 8 && is > 8) this.zoom(was / is, view.at((event.offsetX + other) / 2));
      } else {
        const shift = ((before.offsetX - event.offsetX) / view.room) * (view.right - view.left);
        if (Math.abs(before.offsetX - event.offsetX) + Math.abs(before.offsetY - event.offsetY) > 2) moved = true;
        if (moved) {
          this.show(view.left + shift, view.right + shift);
          this.scroll(view.top + before.offsetY - event.offsetY);
          this.tip.hidden = true;
        } else return;
      }
      pointers.set(event.pointerId, event);
    });
    const up = (event: PointerEvent) => {
      if (pointers.delete(event.pointerId) && !moved && event.type === 'pointerup') {
        const id = view.hit(event.offsetX, event.offsetY);
        if (id >= 0) this.select(id);
        else this.clear();
      }
    };
    canvas.addEventListener('pointerup', up);
    canvas.addEventListener('pointercancel', up);
    canvas.addEventListener('pointerleave', () => this.hover(null));
    canvas.addEventListener('dblclick', (event) => this.zoom(0.4, view.at(event.offsetX)));
    canvas.addEventListener(
      'wheel',
      (event) => {
        const isSideways = event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY);
        const isZoom = event.ctrlKey || event.metaKey;
        if (!isZoom && !isSideways) {
          const before = view.top;
          this.scroll(view.top + event.deltaY);
          // The page scrolls on where the lanes end.
          if (view.top !== before) event.preventDefault();
          return;
        }
        event.preventDefault();
        if (isZoom) this.zoom(Math.exp(Math.max(-1, Math.min(1, event.deltaY / 240))), view.at(event.offsetX));
        else this.pan((event.deltaX || event.deltaY) / view.room);
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
      waiting = setTimeout(() => this.find(this.box.value), view.history.count > 50000 ? 250 : 60) as unknown as number;
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
      const at = ((event.offsetX - view.gutter) / view.room) * view.layout.length;
      const half = (view.right - view.left) / 2;
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
    const { view } = this;
    view.hovered = -1;
    this.tip.hidden = true;
    view.marked = new Set();
    view.arrows = [];
    if (view.selected >= 0) this.select(-1);
    this.draw();
  }

  private step(by: number): void {
    const { view } = this;
    if (view.selected < 0) {
      const first = [...view.clash][0] ?? view.layout.rows[0];
      if (first !== undefined) {
        this.reveal([first], false);
        this.select(first);
      }
      return;
    }
    const lane = view.layout.laneOf[view.history.process[view.selected]!]!;
    const row = view.layout.rows.subarray(view.layout.starts[lane], view.layout.starts[lane + 1]);
    const at = Math.min(Math.max(row.indexOf(view.selected) + by, 0), row.length - 1);
    this.reveal([row[at]!], false);
    this.select(row[at]!);
  }

  /** Goes to the lane above or below. */
  private change(by: number): void {
    const { view } = this;
    if (view.selected < 0) return this.step(by);
    const { laneOf, lanes, begin, end } = view.layout;
    const lane = Math.min(Math.max(laneOf[view.history.process[view.selected]!]! + by, 0), lanes.length - 1);
    const middle = (begin[view.selected]! + end[view.selected]!) / 2;
    const from = view.after(lane, middle);
    const row = view.layout.rows;
    const at = Math.min(from, view.layout.starts[lane + 1]! - 1);
    this.reveal([row[at]!], false);
    this.select(row[at]!);
  }

  private hover(event: PointerEvent | null): void {
    const { view } = this;
    const id = event ? view.hit(event.offsetX, event.offsetY) : -1;
    if (id !== view.hovered) {
      view.hovered = id;
      this.draw();
    }
    this.tip.hidden = id < 0;
    if (id < 0 || !event) return;
    replace(this.tip, el('strong', {}, view.history.full(id)), ...this.facts(id).map((fact) => el('span', {}, fact)));
    const place = Math.min(event.offsetX + 14, view.width - this.tip.offsetWidth - 8);
    this.tip.style.left = `${Math.max(4, place)}px`;
    this.tip.style.top = `${event.offsetY + 18}px`;
  }

  private facts(id: number): string[] {
    const { history } = this.view;
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
      if (outcome === 2 || outcome === 3)
        facts.push(outcome === 2 ? 'failed: it did not happen' : 'nobody knows whether it happened');
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
    const text = id < 0 ? '' : `${this.view.history.full(id)}, ${this.facts(id).join(', ')}`;
    this.spoken.textContent = text;
    replace(
      this.detail,
      ...(id < 0 ? [] : [el('code', {}, this.view.history.full(id)), ` ${this.facts(id).join(' · ')}`]),
    );
  }

  // Drawing.

  private resize(): void {
    const { view } = this;
    const lanes = view.layout.lanes.length;
    view.width = this.canvas.clientWidth;
    view.laneHeight = lanes <= 12 ? 32 : lanes <= 30 ? 24 : 18;
    view.height = AXIS + view.band + Math.min(Math.max(lanes, 1) * view.laneHeight, 460) + 6;
    this.canvas.style.height = `${view.height}px`;
    const context = this.canvas.getContext('2d')!;
    context.font = `12px ${MONO}`;
    const names = view.layout.lanes
      .slice(0, 200)
      .map((process) => context.measureText(view.history.processes[process]!.slice(0, 40)).width);
    view.gutter = Math.min(Math.max(28, Math.max(...names, 0) + 18), view.width < 500 ? 72 : 150);
    const scale = devicePixelRatio || 1;
    for (const [canvas, height] of [
      [this.canvas, view.height],
      [this.map, MAP],
    ] as const) {
      canvas.width = Math.round(view.width * scale);
      canvas.height = Math.round(height * scale);
    }
    this.painter.forget();
    this.draw();
  }

  /** Draws in the next frame. */
  private draw(): void {
    if (this.isDrawing || this.view.width === 0) return;
    this.isDrawing = true;
    requestAnimationFrame(() => {
      this.isDrawing = false;
      this.frames++;
      this.painter.paint();
      this.painter.paintMap();
    });
  }
}
