// Where an operation is drawn: its lane, and its beginning and end along the line of time.
//
// With calls and returns, the line of time counts the events of the history, or it is the recorded time. Without them,
// an operation takes one unit. It comes after the operation before it in its thread, and after the operation whose
// value it returned, if that makes no circle.

import { History, NEVER } from './data';

export interface Layout {
  begin: Float64Array;
  end: Float64Array;
  /** Where the line of time ends. */
  length: number;
  /** The processes that have operations, in the order of the lanes. */
  lanes: number[];
  laneOf: Int32Array;
  /** The operations of all lanes, lane by lane, in the order of time; where each lane begins. */
  rows: Uint32Array;
  starts: Uint32Array;
  /** What the tester did: where it begins, where it ends, its words. */
  events: [from: number, to: number, words: string][];
}

export function layOut(history: History, byTime: boolean): Layout {
  const n = history.count;
  const begin = new Float64Array(n);
  const end = new Float64Array(n);
  let length = 1;
  if (byTime && history.time) {
    const { call, end: ends } = history.time;
    for (let id = 0; id < n; id++) length = Math.max(length, call[id]!, ends[id]! || 0);
    length *= 1.01;
    for (let id = 0; id < n; id++) {
      begin[id] = call[id]!;
      end[id] = Number.isNaN(ends[id]!) || history.end[id] === NEVER ? length : Math.max(ends[id]!, call[id]!);
    }
  } else if (history.hasCalls) {
    for (let id = 0; id < n; id++) {
      length = Math.max(length, history.call[id]! + 1, history.end[id] === NEVER ? 0 : history.end[id]! + 1);
    }
    for (let id = 0; id < n; id++) {
      begin[id] = history.call[id]!;
      end[id] = history.end[id] === NEVER ? length : history.end[id]!;
      // An instant has one moment.
      if (end[id] === begin[id]) end[id]! += 0.8;
    }
  } else if (history.spans) {
    // The operations of a transaction share its time.
    const [begins, ends] = history.spans;
    for (let id = 0; id < n; id++)
      length = Math.max(length, begins[id]! + 1, Number.isFinite(ends[id]!) ? ends[id]! + 1 : 0);
    history.lastOf.forEach((last, first) => {
      if (last < 0) return;
      const [from, to] = [begins[first]!, Math.min(ends[first]!, length)];
      const part = (Math.max(to - from, 0.8) - 0.1) / (last - first + 1);
      for (let id = first; id <= last; id++) {
        begin[id] = from + 0.05 + part * (id - first);
        end[id] = begin[id]! + part * 0.94;
      }
    });
  } else {
    const place = places(history);
    for (let id = 0; id < n; id++) {
      begin[id] = place[id]! + 0.1;
      end[id] = place[id]! + 0.9;
      length = Math.max(length, place[id]! + 1);
    }
  }

  const used = new Uint32Array(history.processes.length);
  for (let id = 0; id < n; id++) used[history.process[id]!]!++;
  const lanes: number[] = [];
  const laneOf = new Int32Array(history.processes.length).fill(-1);
  used.forEach((operations, process) => {
    if (operations > 0) laneOf[process] = lanes.push(process) - 1;
  });
  const starts = new Uint32Array(lanes.length + 1);
  lanes.forEach((process, lane) => (starts[lane + 1] = starts[lane]! + used[process]!));
  const next = starts.slice();
  const rows = new Uint32Array(n);
  for (let id = 0; id < n; id++) rows[next[laneOf[history.process[id]!]!]!++] = id;
  if (byTime) {
    // Recorded times need not agree with the order of the file.
    for (let lane = 0; lane < lanes.length; lane++) {
      rows.subarray(starts[lane], starts[lane + 1]).sort((a, b) => begin[a]! - begin[b]! || a - b);
    }
  }
  return { begin, end, length, lanes, laneOf, rows, starts, events: events(history, begin, length) };
}

/** What was started lasts until it is stopped. */
function events(history: History, begin: Float64Array, length: number): [number, number, string][] {
  const at = (moment: number) => {
    // The operation that is called next tells where the event is.
    let [low, high] = [0, history.count];
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((history.hasCalls ? history.call[middle]! : middle) < moment) low = middle + 1;
      else high = middle;
    }
    return low < history.count ? begin[low]! : length;
  };
  const isStart = (words: string) => /^(start|kill|pause|partition|cut)/i.test(words);
  const isStop = (words: string) => /^(stop|heal|resume|recover|restart)/i.test(words);
  return history.events.map(([moment, words], number) => {
    const from = at(moment);
    if (!isStart(words)) return [from, from, words];
    const stop = history.events.slice(number + 1).find(([, later]) => isStop(later));
    return [from, stop ? at(stop[0]) : length, words];
  });
}

/** Places by the order of threads and by where values came from; by the order of threads alone if that is a circle. */
function places(history: History): Uint32Array {
  const n = history.count;
  const last = new Int32Array(history.processes.length).fill(-1);
  const previous = new Int32Array(n);
  for (let id = 0; id < n; id++) {
    previous[id] = last[history.process[id]!]!;
    last[history.process[id]!] = id;
  }
  const place = new Uint32Array(n);
  const missing = new Uint8Array(n);
  const nextInThread = new Int32Array(n).fill(-1);
  const firstReader = new Int32Array(n).fill(-1);
  const nextReader = new Int32Array(n).fill(-1);
  for (let id = 0; id < n; id++) {
    if (previous[id]! >= 0) {
      missing[id]!++;
      nextInThread[previous[id]!] = id;
    }
    const source = history.source(id);
    if (source >= 0 && source !== id) {
      missing[id]!++;
      nextReader[id] = firstReader[source]!;
      firstReader[source] = id;
    }
  }
  const open: number[] = [];
  for (let id = 0; id < n; id++) if (missing[id] === 0) open.push(id);
  let done = 0;
  const free = (id: number, at: number) => {
    place[id] = Math.max(place[id]!, at);
    if (--missing[id]! === 0) open.push(id);
  };
  while (open.length > 0) {
    const id = open.pop()!;
    done++;
    if (nextInThread[id]! >= 0) free(nextInThread[id]!, place[id]! + 1);
    for (let read = firstReader[id]!; read >= 0; read = nextReader[read]!) free(read, place[id]! + 1);
  }
  if (done < n) for (let id = 0; id < n; id++) place[id] = previous[id]! < 0 ? 0 : place[previous[id]!]! + 1;
  return place;
}
