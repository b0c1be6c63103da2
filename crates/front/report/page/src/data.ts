// Reads the data blocks of a page: base64, raw deflate, a header in JSON, columns of numbers. The writer is
// `report::page` of the crate.

export type Verdict = 'consistent' | 'violation' | 'unknown';
/** A piece of a line: its style, its text, and the operation whose place it is. */
export interface Span {
  style: 'plain' | 'heading' | 'place' | 'operation' | 'reason';
  text: string;
  operation?: number;
}
export type Line = Span[];

export interface Standing {
  name: string;
  title: string;
  definition: string;
  verdict: Verdict | null;
  how: string;
}

export interface PartMeta {
  explanation: Line[];
  clash: number[];
  story: import('./story').Story | null;
  minimal?: boolean;
  operations?: number;
  text?: string;
  digest?: string;
  certificate?: string | null;
}

export interface Meta {
  version: string;
  file: string;
  name: string | null;
  model: string;
  title: string;
  definition: string;
  verdict: Verdict;
  strategy: string;
  reason: string | null;
  digest: string;
  operations: number;
  /** How many threads are shown first. */
  threads: number;
  command: string;
  models: Standing[];
  implications: [number, number][];
  whole: PartMeta;
  shrunk?: PartMeta;
}

export interface Witness {
  kind: string;
  orders: Uint32Array[];
  /** The results of operations that never returned, as the order has them. */
  results: Map<number, string>;
  died: number | null;
  of: number | null;
}

interface Block {
  header: any;
  columns: Map<string, Uint8Array>;
}

/** Unpacks the block of that name. */
export async function unpack(name: string): Promise<Block | null> {
  // The browser may still be reading the page, whose largest block comes last.
  const isRead = () => document.getElementById(name)?.nextSibling || document.readyState !== 'loading';
  if (!isRead()) await new Promise((done) => addEventListener('DOMContentLoaded', done));
  const text = document.getElementById(name)?.textContent;
  if (!text) return null;
  const packed = atob(text);
  const bytes = new Uint8Array(packed.length);
  for (let at = 0; at < packed.length; at++) bytes[at] = packed.charCodeAt(at);
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream('deflate-raw'));
  const data = new Uint8Array(await new Response(stream).arrayBuffer());
  const length = new DataView(data.buffer).getUint32(0, true);
  const header = JSON.parse(new TextDecoder().decode(data.subarray(4, 4 + length)));
  const columns = new Map<string, Uint8Array>();
  let begin = 4 + length;
  for (const [column, size] of header.columns) {
    columns.set(column, data.subarray(begin, begin + size));
    begin += size;
  }
  return { header, columns };
}

/** The numbers of a column, one after the other. */
class Numbers {
  private at = 0;
  private last = 0;
  constructor(private bytes: Uint8Array) {}

  get more(): boolean {
    return this.at < this.bytes.length;
  }

  next(): number {
    let byte = this.bytes[this.at++]!;
    if (byte < 128) return byte;
    let number = byte & 127;
    let factor = 128;
    do {
      byte = this.bytes[this.at++]!;
      number += (byte & 127) * factor;
      factor *= 128;
    } while (byte >= 128);
    return number;
  }

  signed(): number {
    const number = this.next();
    return number % 2 === 0 ? number / 2 : -(number + 1) / 2;
  }

  near(): number {
    return (this.last += this.signed());
  }
}

/** No moment: the return never came. */
export const NEVER = 0xffffffff;
/** A value that is a text is this plus the number of the text. Integers are smaller. */
const TEXT = 2 ** 52;
/** The numbers of the texts that mean something. */
export const EMPTY_TEXT = TEXT + 3;

export const OUTCOMES = ['instant', 'ok', 'failed', 'unknown', 'pending'];

/** What an operation does to the values, for its colour: it puts something in, takes or looks, does both, or neither. */
export type Kind = 'write' | 'read' | 'update' | 'other';

const KINDS: Record<string, Kind> = {};
for (const name of [
  'w',
  'a',
  'write',
  'enqueue',
  'push',
  'insert',
  'add',
  'put',
  'append',
  'write-max',
  'lock',
  'acquire',
])
  KINDS[name] = 'write';
for (const name of ['r', 'read', 'dequeue', 'pop', 'delete-max', 'peek', 'contains', 'count', 'get'])
  KINDS[name] = 'read';
for (const name of ['u', 'cas', 'exchange', 'remove', 'try-lock', 'unlock', 'release']) KINDS[name] = 'update';

/** A history, column by column. An operation is its number. */
export class History {
  readonly count: number;
  readonly object: string;
  readonly capacity: number | null;
  readonly initial: string;
  readonly inits: Map<number, string>;
  readonly processes: string[];
  readonly keys: string[];
  readonly methods: string[];
  readonly kinds: Kind[];
  readonly process: Uint32Array;
  readonly method: Uint16Array;
  readonly outcome: Uint8Array;
  /** -1 for none. */
  readonly key: Int32Array;
  /** -1 at the end, 0 for none. */
  readonly line: Int32Array;
  /** An integer, a text, or NaN for none. */
  readonly argument: Float64Array;
  readonly result: Float64Array;
  readonly hasCalls: boolean;
  readonly call: Uint32Array;
  readonly end: Uint32Array;
  readonly time: { call: Float64Array; end: Float64Array; first: number; unit: number } | null;
  /** For the first operation of a transaction its last, else -1; empty without transactions. */
  readonly lastOf: Int32Array;
  /** The moments of begin and end of the transaction of each operation; empty if they are not known. */
  readonly spans: [begin: Float64Array, end: Float64Array] | null;
  readonly expected = new Map<number, number>();
  readonly arguments = new Map<number, string[]>();
  readonly origin: Uint32Array;
  private lists: Set<number> | null = null;
  readonly witnesses: Witness[] = [];
  readonly events: [number, string][];
  private readonly texts: string[];
  private readonly recorded = new Map<number, number>();
  /** For each operation the first that returned its value; for each of these the next. */
  private readers: [first: Int32Array, next: Int32Array] | null = null;
  private found: Int32Array | null = null;

  constructor({ header, columns }: Block) {
    const numbers = (name: string) => new Numbers(columns.get(name)!);
    const n: number = (this.count = header.count);
    this.object = header.object;
    this.capacity = header.capacity;
    this.initial = header.initial;
    this.inits = new Map(header.inits);
    this.processes = header.processes;
    this.keys = header.keys;
    this.methods = header.methods;
    this.kinds = this.methods.map((name) => KINDS[name.replace(/\..*/, '')] ?? 'other');
    this.texts = header.texts;
    this.events = header.events ?? [];
    this.process = new Uint32Array(n);
    this.method = new Uint16Array(n);
    this.outcome = new Uint8Array(n);
    this.key = new Int32Array(n);
    this.line = new Int32Array(n);
    const [process, method, outcome, key, line] = ['process', 'method', 'outcome', 'key', 'line'].map(numbers);
    for (let id = 0; id < n; id++) {
      this.process[id] = process!.next();
      this.method[id] = method!.next();
      this.outcome[id] = outcome!.next();
      this.key[id] = key!.next() - 1;
      this.line[id] = line!.near();
    }
    this.argument = new Float64Array(n);
    this.result = new Float64Array(n);
    const nearArguments = header.near === 'arguments';
    const [argument, result] = [numbers('argument'), numbers('result')];
    let last = 0;
    let lastResult = 0;
    for (let id = 0; id < n; id++) {
      let number = argument.next();
      if (number === 0) this.argument[id] = NaN;
      else if (number % 2 === 0) this.argument[id] = TEXT + number / 2 - 1;
      else this.argument[id] = last += unsigned((number - 1) / 2);
      number = result.next();
      if (nearArguments) lastResult = last;
      if (number === 0) this.result[id] = NaN;
      else if (number % 2 === 0) this.result[id] = TEXT + number / 2 - 1;
      else this.result[id] = lastResult += unsigned((number - 1) / 2);
    }
    const expected = numbers('expected');
    while (expected.more) {
      const id = expected.near();
      const number = expected.next();
      this.expected.set(id, number % 2 === 0 ? TEXT + number / 2 - 1 : unsigned((number - 1) / 2));
    }
    for (const [id, more] of header.arguments) this.arguments.set(id, more);
    this.hasCalls = columns.get('call')!.length > 0;
    this.call = new Uint32Array(this.hasCalls ? n : 0);
    this.end = new Uint32Array(this.hasCalls ? n : 0);
    if (this.hasCalls) {
      const [call, end] = [numbers('call'), numbers('end')];
      for (let id = 0; id < n; id++) {
        this.call[id] = call.near();
        const length = end.next();
        this.end[id] = length === 0 ? NEVER : this.call[id]! + length - 1;
      }
    }
    const sizes = numbers('transaction-sizes');
    const isTimed = columns.get('transaction-begin')!.length > 0;
    this.lastOf = new Int32Array(sizes.more ? n : 0).fill(-1);
    this.spans = isTimed ? [new Float64Array(n), new Float64Array(n)] : null;
    const [begins, ends] = [numbers('transaction-begin'), numbers('transaction-end')];
    for (let id = 0; sizes.more;) {
      const size = sizes.next();
      if (size > 0) this.lastOf[id] = id + size - 1;
      const begin = isTimed ? begins.near() : 0;
      const length = isTimed ? ends.next() : 0;
      for (const first = id; id < first + size; id++) {
        if (!this.spans) continue;
        this.spans[0][id] = begin;
        this.spans[1][id] = length === 0 ? Infinity : begin + length - 1;
      }
    }
    this.time = null;
    if (header.time) {
      const [call, end] = [numbers('time-call'), numbers('time-end')];
      this.time = {
        call: new Float64Array(n),
        end: new Float64Array(n),
        first: Number(header.time[0]),
        unit: Number(header.time[1]),
      };
      for (let id = 0; id < n; id++) {
        this.time.call[id] = call.near();
        const length = end.next();
        this.time.end[id] = length === 0 ? NaN : this.time.call[id]! + unsigned(length - 1);
      }
    }
    const origin = numbers('origin');
    const origins: number[] = [];
    while (origin.more) origins.push(origin.near());
    this.origin = Uint32Array.from(origins);
    const sources = numbers('sources');
    while (sources.more) {
      const read = sources.near();
      this.recorded.set(read, sources.next() - 1);
    }
    const [order, lengths] = [numbers('order'), numbers('lengths')];
    for (const { kind, orders, results, died, of } of header.witnesses) {
      const witness: Witness = { kind, orders: [], results: new Map(results), died, of };
      for (let at = 0; at < orders; at++) {
        const ids = new Uint32Array(lengths.next());
        for (let place = 0; place < ids.length; place++) ids[place] = order.near();
        witness.orders.push(ids);
      }
      this.witnesses.push(witness);
    }
  }

  /** A value as text. */
  show(value: number): string {
    return value >= TEXT ? this.texts[value - TEXT]! : String(value);
  }

  /** Text as a value: the value that is shown so, or NaN. */
  value(text: string): number {
    if (/^-?\d{1,15}$/.test(text)) return Number(text);
    const at = this.texts.indexOf(text);
    return at < 0 ? NaN : TEXT + at;
  }

  kind(id: number): Kind {
    return this.kinds[this.method[id]!]!;
  }

  methodName(id: number): string {
    return this.methods[this.method[id]!]!;
  }

  processName(id: number): string {
    return this.processes[this.process[id]!]!;
  }

  keyName(id: number): string {
    const key = this.key[id]!;
    return key < 0 ? '' : this.keys[key]!;
  }

  /** The initial value of a key, as text. */
  initialOf(key: number): string {
    return this.inits.get(key) ?? this.initial;
  }

  /** `line 7`. */
  place(id: number): string {
    const line = this.line[id]!;
    return line < 0 ? 'the end' : line === 0 ? `operation ${id + 1}` : `line ${line}`;
  }

  /** The operation in a few characters, without its process: `w x 1`, `dequeue → 2`. */
  brief(id: number): string {
    const words = [this.methodName(id)];
    const isMemory = this.object === 'memory' || this.object === 'transactions';
    const result = this.result[id]!;
    if (this.key[id]! >= 0 && (isMemory || this.keys.length > 1)) words.push(this.keyName(id));
    if (isMemory && !Number.isNaN(result)) words.push(this.show(result));
    const expected = this.expected.get(id);
    if (expected !== undefined) words.push(this.show(expected));
    if (!Number.isNaN(this.argument[id]!)) words.push(this.show(this.argument[id]!));
    words.push(...(this.arguments.get(id) ?? []));
    if (!isMemory && !Number.isNaN(result)) words.push('→', this.show(result));
    return words.join(' ');
  }

  /** The operation with its process and how it ended. */
  full(id: number): string {
    const outcome = this.outcome[id]!;
    return `[${this.processName(id)}] ${this.brief(id)}${outcome > 1 ? ` (${OUTCOMES[outcome]})` : ''}`;
  }

  /** The operations of the transaction that begins with this one; without transactions, this one alone. */
  operationsOf(first: number): number[] {
    const last = Math.max(first, this.lastOf[first] ?? first);
    return Array.from({ length: last - first + 1 }, (_, at) => first + at);
  }

  /** Whether transactions append to a key, or read a list there. */
  isList(key: number): boolean {
    this.lists ??= this.findLists();
    return this.lists.has(key);
  }

  private findLists(): Set<number> {
    const lists = new Set<number>();
    for (let id = 0; id < this.count; id++) {
      const read = this.result[id]!;
      if (this.methodName(id) === 'a' || (!Number.isNaN(read) && this.show(read).startsWith('[')))
        lists.add(this.key[id]!);
    }
    return lists;
  }

  /** The operation whose value this one returned: -1 for the initial value, -2 if there is none or several. */
  source(id: number): number {
    const recorded = this.recorded.get(id);
    if (recorded !== undefined) return recorded;
    this.found ??= this.findSources();
    return this.found[id]!;
  }

  /** The operations that returned the value of this one. */
  readersOf(id: number): number[] {
    if (!this.readers) {
      const [first, next] = [new Int32Array(this.count).fill(-1), new Int32Array(this.count).fill(-1)];
      for (let read = this.count - 1; read >= 0; read--) {
        const source = this.source(read);
        if (source < 0) continue;
        next[read] = first[source]!;
        first[source] = read;
      }
      this.readers = [first, next];
    }
    const [first, next] = this.readers;
    const readers: number[] = [];
    for (let read = first[id]!; read >= 0; read = next[read]!) readers.push(read);
    return readers;
  }

  private findSources(): Int32Array {
    const sources = new Int32Array(this.count).fill(-2);
    const writers = new Map<number, Map<number, number>>();
    const puts = this.methods.map((name) => /^(w|u|write|cas|enqueue|push|insert|put)(\.|$)/.test(name));
    const takes = this.methods.map((name) => /^(r|u|read|dequeue|pop|peek|delete-max|get)(\.|$)/.test(name));
    for (let id = 0; id < this.count; id++) {
      if (!puts[this.method[id]!] || this.outcome[id] === 2) continue;
      let of = writers.get(this.key[id]!);
      if (!of) writers.set(this.key[id]!, (of = new Map()));
      const value = this.argument[id]!;
      of.set(value, of.has(value) ? -2 : id);
    }
    for (let id = 0; id < this.count; id++) {
      if (!takes[this.method[id]!]) continue;
      const value = this.result[id]!;
      if (Number.isNaN(value) || value === EMPTY_TEXT) continue;
      const writer = writers.get(this.key[id]!)?.get(value);
      if (writer !== undefined) sources[id] = writer;
      else if (this.show(value) === this.initialOf(this.key[id]!)) sources[id] = -1;
    }
    return sources;
  }
}

function unsigned(number: number): number {
  return number % 2 === 0 ? number / 2 : -(number + 1) / 2;
}
