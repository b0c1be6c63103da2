// What of a history the timeline shows, and where: the part that is visible, what is selected, found or played.

import { History } from './data';
import { type Colours, colours } from './colours';
import { type Layout, layOut } from './layout';

export interface Arrow {
  from: number;
  to: number;
  derived: boolean;
}

/** The height of the axis above the lanes. */
export const AXIS = 20;

export class View {
  layout: Layout;
  palette: Colours = colours();
  width = 0;
  height = 0;
  gutter = 90;
  laneHeight = 30;
  left = 0;
  right = 1;
  top = 0;
  hovered = -1;
  selected = -1;
  found: Uint32Array = new Uint32Array(0);
  marked = new Set<number>();
  arrows: Arrow[] = [];
  /** While an order is played: how far each operation is (0 not yet, 1 done), and the operation of this step. */
  played: Uint8Array | null = null;
  current = -1;
  isTime = false;
  readonly clash: Set<number>;

  constructor(
    readonly history: History,
    clash: number[],
    /** Whether what does not clash is dimmed. */
    readonly dims: boolean,
  ) {
    this.clash = new Set(clash);
    this.layout = layOut(history, false);
  }

  get room(): number {
    return Math.max(1, this.width - this.gutter);
  }

  x(at: number): number {
    return this.gutter + ((at - this.left) / (this.right - this.left)) * this.room;
  }

  at(x: number): number {
    return this.left + ((x - this.gutter) / this.room) * (this.right - this.left);
  }

  /** The height of the band with the words of the tester. */
  get band(): number {
    return this.layout.events.length > 0 ? 16 : 0;
  }

  middle(lane: number): number {
    return AXIS + this.band + lane * this.laneHeight + this.laneHeight / 2 - this.top;
  }

  /** The first place in the row of a lane whose operation ends at or after a moment. */
  after(lane: number, moment: number, from = this.layout.starts[lane]!): number {
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

  /** How far the room beside the bar of an operation reaches: to the bars before and after it in its lane. */
  beside(id: number): [left: number, right: number] {
    const { rows, starts, begin, end, laneOf } = this.layout;
    const lane = laneOf[this.history.process[id]!]!;
    const [first, last] = [starts[lane]!, starts[lane + 1]!];
    let row = this.after(lane, end[id]!);
    for (let looked = 0; row < last && rows[row] !== id && looked < 16; looked++) row++;
    if (rows[row] !== id) return [this.x(begin[id]!), this.x(end[id]!)];
    const left = row > first ? this.x(end[rows[row - 1]!]!) : -Infinity;
    const right = row + 1 < last ? this.x(begin[rows[row + 1]!]!) : Infinity;
    return [Math.max(left, this.gutter), Math.min(right, this.width)];
  }

  hit(x: number, y: number): number {
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
}
