// Plays a witness step by step, and shows what memory, the object or the store buffers hold after each step.

import type { History, Witness } from './data';
import { button, count, el, replace, short } from './dom';
import { type Machine, type Shelf, type Step, machineOf, stepsOf } from './machine';
import type { Timeline } from './timeline';

/** How many copies of the machine are kept, so that going back is fast. */
const COPIES = 64;

export class Player {
  readonly root: HTMLElement;
  private witness: Witness;
  private which = 0;
  private steps: Step[] = [];
  private places = new Map<number, number>();
  private machine!: Machine;
  /** How many steps the machine has done. */
  private done = 0;
  private copies: Machine[] = [];
  private timer = 0;
  private slider = el('input', { type: 'range', min: 0, value: 0, 'aria-label': 'Step' });
  private title = el('p', { class: 'step', 'aria-live': 'polite' });
  private list = el('ol', { class: 'steps' });
  private state = el('div', { class: 'state' });
  private note = el('p', { class: 'note', 'aria-live': 'polite' });
  private playing = button('Play', 'Play or pause (space)', () => this.toggle());
  private choice: HTMLSelectElement | null = null;

  constructor(
    private history: History,
    private timeline: Timeline,
    private model: string,
  ) {
    this.witness = history.witnesses[0]!;
    const names = this.orders();
    if (names.length > 1) {
      this.choice = el('select', {
        'aria-label': 'Which order',
        change: () => this.choose(Number(this.choice!.value)),
      });
      names.forEach((name, at) => this.choice!.append(el('option', { value: at }, short(name, 80))));
    }
    this.slider.addEventListener('input', () => this.go(Number(this.slider.value)));
    const controls = el(
      'div',
      { class: 'controls' },
      el(
        'span',
        { class: 'group' },
        button('|◀', 'To the beginning (Home)', () => this.go(0)),
        button('◀', 'One step back (left arrow)', () => this.go(this.done - 1)),
        this.playing,
        button('▶', 'One step on (right arrow)', () => this.go(this.done + 1)),
        button('▶|', 'To the end (End)', () => this.go(this.steps.length)),
      ),
      this.slider,
      this.choice,
    );
    this.root = el(
      'div',
      {
        class: 'player',
        tabindex: 0,
        role: 'group',
        'aria-label': 'Player of the order',
        keydown: (event: KeyboardEvent) => this.press(event),
      },
      controls,
      this.title,
      this.note,
      el('div', { class: 'scene' }, this.state, this.list),
    );
    this.begin();
  }

  /** The names of what can be played. */
  private orders(): string[] {
    const { history, witness } = this;
    if (witness.kind === 'orders of views')
      return witness.orders.map((_, process) => `what ${history.processes[process] ?? process} sees`);
    if (witness.kind === 'modification orders')
      return witness.orders.map((_, key) => `writes of ${history.keys[key] ?? key}`);
    return [];
  }

  private choose(which: number): void {
    this.which = which;
    this.begin();
  }

  private use(witness: Witness): void {
    this.witness = witness;
    this.begin();
  }

  private begin(): void {
    this.stop();
    this.steps = stepsOf(this.history, this.witness, this.which);
    this.places = new Map();
    // A transaction that reads and later commits is found where it commits.
    this.steps.forEach((step, at) => this.operations(step).forEach((id) => this.places.set(id, at + 1)));
    this.machine = machineOf(this.history, this.witness, this.model);
    this.copies = [this.machine.copy()];
    this.done = 0;
    this.slider.max = String(this.steps.length);
    // The longest beginning is told from its end: what the object holds when all orders die.
    this.go(this.witness.died === null ? 0 : this.steps.length, false);
  }

  private get distance(): number {
    return Math.max(1, Math.ceil(this.steps.length / COPIES));
  }

  /** Goes to where so many steps are done. */
  go(to: number, isAsked = true): void {
    to = Math.min(Math.max(to, 0), this.steps.length);
    if (to < this.done) {
      const copy = Math.min(Math.floor(to / this.distance), this.copies.length - 1);
      this.machine = this.copies[copy]!.copy();
      this.done = copy * this.distance;
    }
    while (this.done < to) {
      this.machine.run(this.steps[this.done++]!);
      if (this.done % this.distance === 0 && this.copies.length === this.done / this.distance)
        this.copies.push(this.machine.copy());
    }
    this.slider.value = String(this.done);
    this.show(isAsked);
  }

  private show(isAsked: boolean): void {
    const { history, steps, done, witness } = this;
    const step = steps[done - 1];
    this.slider.setAttribute('aria-valuetext', step ? this.words(step) : 'before the first step');
    const where = `Step ${count(done)} of ${count(steps.length)}`;
    replace(
      this.title,
      el('span', { class: 'where' }, where),
      step ? el('code', {}, this.words(step)) : 'Nothing has happened yet.',
      step ? el('span', { class: 'place' }, history.place(step.id)) : null,
    );
    const isDead = witness.died !== null && done === steps.length;
    replace(
      this.note,
      ...(isDead
        ? [
            el('strong', {}, 'Here all orders die. '),
            'The next event is the return of ',
            el('code', {}, history.full(witness.died!)),
            ` (${history.place(witness.died!)}), and no order of what happened allows it.`,
          ]
        : []),
    );
    replace(this.state, ...this.machine.shelves().map(shelf));
    const from = Math.max(0, Math.min(done - 5, steps.length - 9));
    replace(
      this.list,
      ...steps.slice(from, from + 9).map((near, at) => {
        const number = from + at + 1;
        const name = number === done ? 'now' : number < done ? 'past' : 'later';
        return el(
          'li',
          { class: name, value: number, 'aria-current': number === done ? 'step' : null },
          el('button', { type: 'button', tabindex: -1, click: () => this.go(number) }, short(this.words(near), 90)),
        );
      }),
    );
    if (isAsked) {
      const played = new Uint8Array(history.count);
      for (let at = 0; at < done; at++) {
        const { what } = steps[at]!;
        if (what !== 'enters' && what !== 'reads') for (const id of this.operations(steps[at]!)) played[id] = 1;
      }
      this.timeline.play(played, isDead ? witness.died! : (step?.id ?? -1));
    }
  }

  /** The operations of a step. */
  private operations({ id, what }: Step): number[] {
    return what === 'reads' || what === 'commits' ? this.history.operationsOf(id) : [id];
  }

  private words(step: Step): string {
    const { id, what } = step;
    if (what === 'reads' || what === 'commits') {
      const { history } = this;
      const shown = this.operations(step).filter(
        (operation) => what === 'commits' || history.kind(operation) === 'read',
      );
      const briefs = shown.slice(0, 12).map((operation) => history.brief(operation));
      if (shown.length > briefs.length) briefs.push(`and ${count(shown.length - briefs.length)} more`);
      return `[${history.processName(id)}] ${what}${briefs.length > 0 ? ': ' : ''}${briefs.join(', ')}`;
    }
    const result = this.witness.results.get(id);
    const text = this.history.full(id) + (result === undefined ? '' : ` → ${result}`);
    if (what === 'enters') return `${text}  enters the store buffer`;
    return what === 'leaves' ? `${text}  reaches memory` : text;
  }

  /** Goes to the step of an operation, or says why there is none. */
  find(id: number): void {
    const { history } = this;
    const others = history.witnesses.filter(({ of }) => of === id);
    if (!this.places.has(id) && others.length > 0) this.use(others[0]!);
    const place = this.places.get(id);
    if (place !== undefined) return this.go(place);
    const died = this.witness.died;
    if (died === null) return;
    this.timeline.play(null, -1);
    const operation = el('code', {}, history.full(id));
    const end = history.end[died]!;
    const why =
      id === died
        ? ' is where all orders die: none of them lets it return what it returned.'
        : history.call[id]! > end
          ? [' was called after ', el('code', {}, history.full(died)), ' had returned, and no order reaches that far.']
          : ' was open when all orders died, and takes effect in none of them before.';
    replace(this.note, operation, ...(typeof why === 'string' ? [why] : why));
  }

  private toggle(): void {
    if (this.timer) return this.stop();
    if (this.done === this.steps.length) this.go(0);
    this.playing.textContent = 'Pause';
    this.timer = setInterval(() => {
      this.go(this.done + 1);
      if (this.done === this.steps.length) this.stop();
    }, 700) as unknown as number;
  }

  private stop(): void {
    clearInterval(this.timer);
    this.timer = 0;
    this.playing.textContent = 'Play';
  }

  private press(event: KeyboardEvent): void {
    const isSlider = event.target === this.slider;
    const isButton = event.target instanceof HTMLButtonElement;
    if (event.key === 'ArrowRight' && !isSlider) this.go(this.done + 1);
    else if (event.key === 'ArrowLeft' && !isSlider) this.go(this.done - 1);
    else if (event.key === 'Home' && !isSlider) this.go(0);
    else if (event.key === 'End' && !isSlider) this.go(this.steps.length);
    else if (event.key === ' ' && !isButton) this.toggle();
    else if (event.key === 'Escape') {
      this.stop();
      this.timeline.play(null, -1);
    } else return;
    event.preventDefault();
  }
}

function shelf({ title, kind, ends, cells, hidden }: Shelf): HTMLElement {
  const more = hidden > 0 ? el('span', { class: 'more' }, `and ${count(hidden)} more`) : null;
  const body =
    kind === 'table'
      ? el(
          'dl',
          { class: 'cells' },
          ...cells.map(({ name, text, hot }) =>
            el('div', { class: hot ? 'hot' : '' }, el('dt', {}, short(name, 24)), el('dd', {}, short(text, 40))),
          ),
        )
      : el(
          'div',
          { class: 'row' },
          ends[0] !== '' && cells.length > 0 ? el('span', { class: 'end' }, ends[0]) : null,
          ...(cells.length > 0
            ? cells.map(({ text, hot }) => el('span', { class: hot ? 'cell hot' : 'cell' }, short(text, 40)))
            : [el('span', { class: 'nothing' }, 'empty')]),
          more,
          ends[1] !== '' && cells.length > 0 ? el('span', { class: 'end' }, ends[1]) : null,
        );
  return el('section', { class: 'shelf' }, el('h4', {}, short(title, 60)), body, kind === 'table' ? more : null);
}
