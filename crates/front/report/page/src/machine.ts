// The machines that play a witness: a memory, store buffers, and every object that is built in. They do what the
// sequential object does; the witness has been checked before, so they check nothing.

import type { History, Witness } from './data';

/** One thing that is seen: a location and its value, a value in a queue. */
export interface Cell {
  name: string;
  text: string;
  /** Whether the last step changed or touched it. */
  hot: boolean;
}

/** Cells that belong together: the memory, one queue, one store buffer. */
export interface Shelf {
  title: string;
  /** `table` has named cells; `row` has its cells one after the other, from its first end to its second. */
  kind: 'table' | 'row';
  ends: [string, string];
  cells: Cell[];
  /** How many more cells there are. */
  hidden: number;
}

/**
 * A step of the play: an operation that takes effect, or one that enters or leaves a store buffer; or a transaction,
 * named by its first operation, that reads or commits.
 */
export interface Step {
  id: number;
  what: 'does' | 'enters' | 'leaves' | 'reads' | 'commits';
}

export interface Machine {
  run(step: Step): void;
  copy(): Machine;
  shelves(): Shelf[];
}

/** How many cells of a shelf, and how many shelves, are shown at most. */
const CELLS = 40;
const SHELVES = 12;

/** A memory: the value of every location. */
class Memory implements Machine {
  constructor(
    protected history: History,
    protected values = new Map<number, string>(),
    protected hot = -1,
  ) {}

  run({ id }: Step): void {
    const { history } = this;
    this.hot = history.key[id]!;
    if (history.kind(id) === 'read' || Number.isNaN(history.argument[id]!)) return;
    const expected = history.expected.get(id);
    if (expected !== undefined && this.value(this.hot) !== history.show(expected)) return;
    this.values.set(this.hot, history.show(history.argument[id]!));
  }

  protected value(key: number): string {
    return this.values.get(key) ?? this.history.initialOf(key);
  }

  copy(): Machine {
    return new Memory(this.history, new Map(this.values), this.hot);
  }

  shelves(): Shelf[] {
    const keys = [...new Set([this.hot, ...this.history.keys.keys()])].filter((key) => key >= 0);
    const shown = keys.slice(0, CELLS).sort((a, b) => a - b);
    if (keys.length === 0 && this.history.count > 0) shown.push(-1);
    const cells = shown.map((key) => ({
      name: key < 0 ? 'value' : this.history.keys[key]!,
      text: this.value(key),
      hot: key === this.hot,
    }));
    return [{ title: 'Memory', kind: 'table', ends: ['', ''], cells, hidden: keys.length - shown.length }];
  }
}

/** A memory behind store buffers: one for each thread or, under `pso`, one for each thread and location. */
class Buffered extends Memory {
  constructor(
    history: History,
    private isPartial: boolean,
    values = new Map<number, string>(),
    hot = -1,
    private buffers = new Map<number, number[]>(),
    private touched = -1,
  ) {
    super(history, values, hot);
  }

  override run(step: Step): void {
    const process = this.history.process[step.id]!;
    this.touched = process;
    if (step.what === 'does') return super.run(step);
    const buffer = this.buffers.get(process) ?? [];
    this.hot = -1;
    if (step.what === 'enters') this.buffers.set(process, [...buffer, step.id]);
    else {
      this.buffers.set(
        process,
        buffer.filter((id) => id !== step.id),
      );
      super.run(step);
    }
  }

  override copy(): Machine {
    return new Buffered(
      this.history,
      this.isPartial,
      new Map(this.values),
      this.hot,
      new Map(this.buffers),
      this.touched,
    );
  }

  override shelves(): Shelf[] {
    const { history } = this;
    const buffers = [...history.processes.keys()].filter(
      (process) => this.buffers.has(process) || process === this.touched,
    );
    const shelves: Shelf[] = buffers.flatMap((process) => {
      const writes = this.buffers.get(process) ?? [];
      if (!this.isPartial) return [this.shelf(process, writes, '')];
      const keys = [...new Set(writes.map((id) => history.key[id]!))];
      return keys.map((key) =>
        this.shelf(
          process,
          writes.filter((id) => history.key[id] === key),
          ` for ${history.keys[key]}`,
        ),
      );
    });
    return [...super.shelves(), ...shelves.slice(0, SHELVES)];
  }

  private shelf(process: number, writes: number[], what: string): Shelf {
    const { history } = this;
    return {
      title: `Store buffer of ${history.processes[process]}${what}`,
      kind: 'row',
      ends: ['leaves next', 'came last'],
      cells: writes.slice(0, CELLS).map((id) => ({
        name: '',
        text: `${history.keyName(id)} = ${history.show(history.argument[id]!)}`,
        hot: process === this.touched && id === writes[writes.length - 1],
      })),
      hidden: Math.max(0, writes.length - CELLS),
    };
  }
}

/** The state of one object. */
interface State {
  run(method: string, argument: string, result: string, who: string): void;
  copy(): State;
  shelf(): Omit<Shelf, 'title'>;
}

const row = (cells: Cell[], ends: [string, string] = ['', ''], hidden = 0): Omit<Shelf, 'title'> => ({
  kind: 'row',
  ends,
  cells,
  hidden,
});
const cell = (text: string, hot = false, name = ''): Cell => ({ name, text, hot });

/** A queue, a stack or a priority queue. */
class Container implements State {
  private touched = '';
  constructor(
    private discipline: 'queue' | 'stack' | 'pqueue',
    private items: string[] = [],
    private head = 0,
  ) {}

  run(method: string, argument: string, result: string): void {
    const { items } = this;
    this.touched = '';
    if (/^(enqueue|push|insert)$/.test(method)) {
      this.touched = argument;
      if (this.discipline !== 'pqueue') items.push(argument);
      else {
        const at = items.findIndex((item) => Number(item) < Number(argument));
        items.splice(at < 0 ? items.length : at, 0, argument);
      }
    } else if (method === 'peek') this.touched = result;
    else if (this.discipline === 'stack') items.pop();
    else if (this.discipline === 'pqueue') items.shift();
    else if (this.head < items.length) {
      this.head++;
      if (this.head > 1024 && this.head * 2 > items.length) {
        items.splice(0, this.head);
        this.head = 0;
      }
    }
  }

  copy(): State {
    return new Container(this.discipline, this.items.slice(this.head));
  }

  shelf(): Omit<Shelf, 'title'> {
    let items = this.items.slice(this.head, this.discipline === 'stack' ? undefined : this.head + CELLS);
    if (this.discipline === 'stack') items = items.slice(-CELLS).reverse();
    const ends: [string, string] =
      this.discipline === 'queue'
        ? ['front', 'back']
        : this.discipline === 'stack'
          ? ['top', 'bottom']
          : ['largest', 'smallest'];
    return row(
      items.map((item) => cell(item, item === this.touched)),
      ends,
      this.items.length - this.head - items.length,
    );
  }
}

/** How many copies of each element there are: a set, a multiset, the tags of a lock. */
class Counted implements State {
  private touched = '';
  constructor(
    private isSet: boolean,
    private copies = new Map<string, number>(),
  ) {}

  run(method: string, argument: string, result: string): void {
    const before = this.copies.get(argument) ?? 0;
    this.touched = argument;
    if (/^(add|lock|acquire)$/.test(method)) this.copies.set(argument, this.isSet ? 1 : before + 1);
    else if (/^(remove|unlock|release)$/.test(method) && before > 0) {
      if (before === 1) this.copies.delete(argument);
      else this.copies.set(argument, before - 1);
    } else if (method === 'read') this.touched = result;
  }

  copy(): State {
    return new Counted(this.isSet, new Map(this.copies));
  }

  shelf(): Omit<Shelf, 'title'> {
    const elements = [...this.copies.keys()];
    const cells = elements.slice(-CELLS).map((text) => {
      const copies = this.copies.get(text)!;
      return cell(copies > 1 ? `${text} × ${copies}` : text, text === this.touched);
    });
    return row(cells, ['', ''], elements.length - cells.length);
  }
}

/** Who holds a mutex or a semaphore. */
class Held implements State {
  constructor(
    private capacity: number,
    private holders: string[] = [],
  ) {}

  run(method: string, _argument: string, result: string, who: string): void {
    if (/^(lock|acquire)$/.test(method) || (method === 'try-lock' && result !== 'false')) this.holders.push(who);
    else if (/^(unlock|release)$/.test(method)) {
      const at = this.holders.indexOf(who);
      this.holders.splice(at < 0 ? 0 : at, 1);
    }
  }

  copy(): State {
    return new Held(this.capacity, [...this.holders]);
  }

  shelf(): Omit<Shelf, 'title'> {
    const cells = this.holders.slice(-CELLS).map((who) => cell(`held by ${who}`, true));
    return row(cells.length > 0 ? cells : [cell(this.capacity > 1 ? `free: ${this.capacity}` : 'free')], ['', ''], 0);
  }
}

/** One value: a register, a string, a counter, a max-register. */
class Single implements State {
  constructor(
    private object: string,
    private value: string,
    private hot = false,
  ) {}

  run(method: string, argument: string, result: string): void {
    this.hot = true;
    if (method === 'write' || method === 'w' || method === 'put' || method === 'u') this.value = argument;
    else if (method === 'append') this.value += argument;
    else if (method === 'cas' && result !== 'false') this.value = argument;
    else if (method === 'add' && this.object === 'counter')
      this.value = String(integer(this.value) + integer(argument));
    else if (method === 'write-max' && integer(argument) > integer(this.value)) this.value = argument;
  }

  copy(): State {
    return new Single(this.object, this.value, this.hot);
  }

  shelf(): Omit<Shelf, 'title'> {
    return row([cell(this.value === '' ? '""' : this.value, this.hot)]);
  }
}

function integer(text: string): bigint {
  return /^-?\d+$/.test(text) ? BigInt(text) : 0n;
}

/** The objects of a history: one for each key. */
class Objects implements Machine {
  constructor(
    private history: History,
    private results: Map<number, string>,
    private states = new Map<number, State>(),
    private hot = -1,
  ) {}

  private state(key: number): State {
    const { object, capacity } = this.history;
    switch (object) {
      case 'queue':
      case 'stack':
      case 'pqueue':
        return new Container(object);
      case 'set':
        return new Counted(true);
      case 'multiset':
      case 'tagged-mutex':
      case 'tagged-semaphore':
        return new Counted(false);
      case 'mutex':
      case 'semaphore':
        return new Held(object === 'mutex' ? 1 : (capacity ?? 1));
      case 'counter':
      case 'max-register':
        return new Single(object, '0');
      case 'kv': {
        const initial = this.history.initialOf(key);
        return new Single(object, initial === 'null' ? '' : initial);
      }
      default:
        return new Single(object, this.history.initialOf(key));
    }
  }

  run({ id }: Step): void {
    const { history } = this;
    this.hot = history.key[id]!;
    let state = this.states.get(this.hot);
    if (!state) this.states.set(this.hot, (state = this.state(this.hot)));
    const text = (value: number) => (Number.isNaN(value) ? '' : history.show(value));
    const result = this.results.get(id) ?? text(history.result[id]!);
    state.run(history.methodName(id).replace(/\..*/, ''), text(history.argument[id]!), result, history.processName(id));
  }

  copy(): Machine {
    const states = new Map([...this.states].map(([key, state]) => [key, state.copy()]));
    return new Objects(this.history, this.results, states, this.hot);
  }

  shelves(): Shelf[] {
    const { object, keys } = this.history;
    if (this.states.size === 0) this.states.set(keys.length > 0 ? 0 : -1, this.state(keys.length > 0 ? 0 : -1));
    // The object of this step is seen, whichever it is.
    const shown = [...new Set([this.hot, ...this.states.keys()])]
      .filter((key) => this.states.has(key))
      .slice(0, SHELVES);
    return shown
      .sort((a, b) => a - b)
      .map((key) => ({
        title: key < 0 || keys.length < 2 ? object : `${object} ${keys[key]}`,
        ...this.states.get(key)!.shelf(),
      }));
  }
}

/** A database: the last committed version of every key. */
class Database implements Machine {
  constructor(
    private history: History,
    private values = new Map<number, string | string[]>(),
    private hot: number[] = [],
  ) {}

  run({ id, what }: Step): void {
    const { history } = this;
    this.hot = [];
    for (const operation of history.operationsOf(id)) {
      const key = history.key[operation]!;
      const isRead = history.kind(operation) === 'read';
      if (what === 'commits' || isRead) this.hot.push(key);
      if (what === 'reads' || isRead) continue;
      const value = history.show(history.argument[operation]!);
      const known = this.values.get(key);
      if (history.methodName(operation) !== 'a') this.values.set(key, value);
      else this.values.set(key, [...(Array.isArray(known) ? known : []), value]);
    }
  }

  copy(): Machine {
    return new Database(this.history, new Map(this.values), this.hot);
  }

  shelves(): Shelf[] {
    const { history } = this;
    const keys = [...new Set([...this.hot, ...history.keys.keys()])];
    const shown = keys.slice(0, CELLS).sort((a, b) => a - b);
    const cells = shown.map((key) => {
      const value = this.values.get(key) ?? (history.isList(key) ? [] : history.initialOf(key));
      return {
        name: history.keys[key]!,
        text: Array.isArray(value) ? `[${value.join(',')}]` : value,
        hot: this.hot.includes(key),
      };
    });
    return [{ title: 'Last committed', kind: 'table', ends: ['', ''], cells, hidden: keys.length - shown.length }];
  }
}

/** Nothing to see but the order itself. */
class Nothing implements Machine {
  run(): void {}
  copy(): Machine {
    return this;
  }
  shelves(): Shelf[] {
    return [];
  }
}

/** The machine on which a witness is played. */
export function machineOf(history: History, witness: Witness, model: string): Machine {
  switch (witness.kind) {
    case 'memory order':
      return new Buffered(history, model === 'pso' || model === 'wpso');
    case 'linearizations':
      return history.object === 'memory' ? new Memory(history) : new Objects(history, witness.results);
    case 'commit order':
    case 'order of reads and commits':
      return new Database(history);
    case 'pairs':
    case 'none':
      return new Nothing();
    default:
      return new Memory(history);
  }
}

/** The steps of a witness. `which` is the order to play, if there are several that cannot be merged. */
export function stepsOf(history: History, witness: Witness, which: number): Step[] {
  const does = (id: number): Step => ({ id, what: 'does' });
  switch (witness.kind) {
    case 'memory order':
      return bufferedSteps(history, witness.orders[0] ?? new Uint32Array());
    case 'linearizations':
    case 'pairs':
      return merged(history, witness.orders).map(does);
    case 'commit order':
      return Array.from(witness.orders[0] ?? [], (id) => ({ id, what: 'commits' }));
    case 'order of reads and commits': {
      const begun = new Set<number>();
      return Array.from(witness.orders[0] ?? [], (id): Step => {
        const what = begun.has(id) ? 'commits' : 'reads';
        begun.add(id);
        return { id, what };
      });
    }
    default:
      return Array.from(witness.orders[which] ?? [], does);
  }
}

/** Orders of several objects as one: each operation takes effect as early as it can. */
function merged(history: History, orders: Uint32Array[]): number[] {
  const points: [point: number, order: number, id: number][] = [];
  orders.forEach((order, number) => {
    let point = -1;
    for (const id of order) {
      point = Math.max(point, history.hasCalls ? history.call[id]! : id);
      points.push([point, number, id]);
    }
  });
  // The sort is stable, so an order stays as it is.
  points.sort((a, b) => a[0] - b[0] || a[1] - b[1]);
  return points.map(([, , id]) => id);
}

/** A write enters the buffer of its thread as late as possible, and leaves it where the memory order has it. */
function bufferedSteps(history: History, order: Uint32Array): Step[] {
  const threads = new Map<number, number[]>();
  for (let id = 0; id < history.count; id++) {
    const thread = threads.get(history.process[id]!);
    if (thread) thread.push(id);
    else threads.set(history.process[id]!, [id]);
  }
  const listed = new Set(order);
  const next = new Map<number, number>();
  const entered = new Set<number>();
  const steps: Step[] = [];
  for (const id of order) {
    const process = history.process[id]!;
    const thread = threads.get(process)!;
    if (entered.has(id)) {
      steps.push({ id, what: 'leaves' });
      continue;
    }
    let at = next.get(process) ?? 0;
    for (; at < thread.length && thread[at] !== id; at++) {
      if (!listed.has(thread[at]!)) continue;
      steps.push({ id: thread[at]!, what: 'enters' });
      entered.add(thread[at]!);
    }
    next.set(process, at + 1);
    if (history.kind(id) !== 'write') steps.push({ id, what: 'does' });
    else {
      entered.add(id);
      steps.push({ id, what: 'enters' }, { id, what: 'leaves' });
    }
  }
  return steps;
}
