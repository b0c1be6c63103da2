// Draws edges between operations: threads are columns, order goes down. What the threads and the values order goes
// down the page, so an edge that goes up is the one that closes the circle.

import { short, svg } from './dom';
import { scrolling } from './frame';
import { type Story, type StoryEdge, colourOf, isBasic } from './story';

interface Box {
  node: number;
  column: number;
  x: number;
  y: number;
  width: number;
  height: number;
}

const ROW = 74;
const HEIGHT = 42;
const EVENT = 48;
const HEAD = 34;
const CHARACTER = 7.4;
/** Below this width, columns stand closer together. */
const NARROW = 520;
/** A drawing shrinks so far, and is scrolled if that does not do. */
const SHRINKS = 0.8;

export interface Graph {
  root: HTMLElement;
  /** The line and the label of each edge. */
  edges: Map<number, SVGGElement[]>;
  nodes: Map<number, SVGGElement>;
}

/** Draws these edges, and these nodes. `isTimed` if operations are drawn from their calls to their returns. */
export function drawGraph(
  story: Story,
  edges: StoryEdge[],
  shown: number[],
  alone: number[],
  isTimed: boolean,
  room: number,
  pick: (edge: number) => void,
  pickNode: (node: number) => void,
): Graph {
  const nodes = [...new Set([...alone, ...shown.flatMap((edge) => [edges[edge]!.from, edges[edge]!.to])])].sort(
    (a, b) => a - b,
  );
  const isInitial = (node: number) => story.nodes[node]!.thread === null;
  const threads = [...new Set(nodes.filter((node) => !isInitial(node)).map((node) => story.nodes[node]!.thread!))].sort(
    (a, b) => a - b,
  );
  const columns: (number | null)[] = nodes.some(isInitial) ? [null, ...threads] : threads;
  const rows = isTimed
    ? null
    : layers(
        story,
        nodes,
        shown.map((edge) => edges[edge]!),
      );

  const isNarrow = room < NARROW;
  const label = (node: number) => short(story.nodes[node]!.action, 34);
  const widths = columns.map((thread) => {
    const own = nodes.filter((node) => story.nodes[node]!.thread === thread);
    const texts = own.flatMap((node) => [label(node).length, story.nodes[node]!.place.length * 0.85]);
    return Math.max(isNarrow ? 62 : 86, Math.max(...texts, 4) * CHARACTER + (isNarrow ? 14 : 22));
  });
  const wide = widths.reduce((sum, width) => sum + width, 0);
  const [leastGap, leastSide] = isNarrow ? [40, 12] : [58, 34];
  const gap = Math.min(150, Math.max(leastGap, (room - wide - 90) / Math.max(columns.length - 1, 1)));
  const side = Math.min(60, Math.max(leastSide, (room - wide - gap * (columns.length - 1)) / 2));
  const lefts: number[] = [];
  let x = side;
  for (const width of widths) {
    lefts.push(x);
    x += width + gap;
  }
  const total = x - gap + side;

  const moments = isTimed
    ? [...new Set(nodes.flatMap((node) => [story.nodes[node]!.call ?? 0, story.nodes[node]!.ret ?? Infinity]))].sort(
        (a, b) => a - b,
      )
    : [];
  const boxes = new Map<number, Box>();
  for (const node of nodes) {
    const { thread, call, ret } = story.nodes[node]!;
    const column = columns.indexOf(thread);
    let [y, height] = [HEAD, HEIGHT];
    if (isTimed && !isInitial(node)) {
      const [from, to] = [moments.indexOf(call ?? 0), moments.indexOf(ret ?? Infinity)];
      y = HEAD + 8 + from * EVENT;
      height = Math.max((to - from) * EVENT - 10, EVENT - 10);
    } else if (rows) y = HEAD + 8 + rows.get(node)! * ROW;
    boxes.set(node, { node, column, x: lefts[column]!, y, width: widths[column]!, height });
  }
  const bottom = Math.max(...[...boxes.values()].map((box) => box.y + box.height), HEAD) + 22;

  const drawing = svg('svg', {
    width: Math.ceil(total),
    height: bottom,
    viewBox: `0 0 ${Math.ceil(total)} ${bottom}`,
    role: 'group',
    'aria-label': 'Drawing of the operations that clash and of the edges between them',
  });
  const markers = ['order', 'flow', 'derived'].map((name) =>
    svg(
      'marker',
      {
        id: `tip-${name}`,
        viewBox: '0 0 10 10',
        refX: 9,
        refY: 5,
        markerWidth: 7,
        markerHeight: 7,
        orient: 'auto-start-reverse',
        class: `edge ${name}`,
      },
      svg('path', { d: 'M0 0.8L10 5L0 9.2z' }),
    ),
  );
  drawing.append(svg('defs', {}, ...markers));
  columns.forEach((thread, column) => {
    const middle = lefts[column]! + widths[column]! / 2;
    const name = thread === null ? 'initially' : story.threads[thread]!;
    drawing.append(
      svg('line', { class: 'life', x1: middle, x2: middle, y1: HEAD - 8, y2: bottom - 6 }),
      svg(
        'text',
        { class: 'thread', x: middle, y: 16, 'text-anchor': 'middle' },
        short(name, 22),
        svg('title', {}, name),
      ),
    );
  });

  const drawnNodes = new Map<number, SVGGElement>();
  const drawnEdges = new Map<number, SVGGElement[]>();
  for (const box of boxes.values()) {
    const node = story.nodes[box.node]!;
    const middle = box.x + box.width / 2;
    const y = box.y + Math.min(box.height, 60) / 2;
    const group = svg(
      'g',
      {
        class: isInitial(box.node) ? 'node initial' : node.is_pending ? 'node pending' : 'node',
        click: () => pickNode(box.node),
      },
      svg('title', {}, `${node.text} ${node.place}`),
      svg('rect', { x: box.x, y: box.y, width: box.width, height: box.height, rx: 7 }),
      svg(
        'text',
        {
          class: 'action',
          x: middle,
          y: node.place === '' || box.height < 36 ? y + 4.5 : y - 2,
          'text-anchor': 'middle',
        },
        label(box.node),
      ),
    );
    if (node.place !== '' && box.height >= 36)
      group.append(svg('text', { class: 'place', x: middle, y: y + 13, 'text-anchor': 'middle' }, node.place));
    drawnNodes.set(box.node, group);
  }

  const taken: DOMRect[] = [...boxes.values()].map((box) => new DOMRect(box.x, box.y, box.width, box.height));
  const pairOf = (edge: StoryEdge) => [edge.from, edge.to].sort().join();
  const sizes = new Map<string, number>();
  for (const at of shown) sizes.set(pairOf(edges[at]!), (sizes.get(pairOf(edges[at]!)) ?? 0) + 1);
  const pairs = new Map<string, number>();
  let [first, last, high, low] = [0, total, 0, bottom];
  const reach = (curve: Curve) => {
    for (let t = 0; t <= 1; t += 0.1) {
      const [x, y] = point(curve, t);
      [first, last, high, low] = [
        Math.min(first, x - 8),
        Math.max(last, x + 8),
        Math.min(high, y - 14),
        Math.max(low, y + 14),
      ];
    }
  };
  for (const at of shown) {
    const edge = edges[at]!;
    const [from, to] = [boxes.get(edge.from)!, boxes.get(edge.to)!];
    const pair = pairOf(edge);
    const twin = pairs.get(pair) ?? 0;
    pairs.set(pair, twin + 1);
    const bow = twin - (sizes.get(pair)! - 1) / 2;
    // Around other boxes, if there is a way.
    const others = [...boxes.values()].filter((box) => box !== from && box !== to);
    const isFree = (curve: Curve) => !others.some((box) => crosses(curve, box));
    const ways = [0, 1.5, -1.5, 3, -3, 4.5, -4.5, 6, -6].map((more) =>
      route(from, to, [...boxes.values()], twin, bow + more, edge.kind === 'real-time'),
    );
    const curve = ways.find(isFree) ?? ways[0]!;
    reach(curve);
    const width = edge.label.length * 6.8 + 12;
    const spot = [0.5, 0.4, 0.6, 0.3, 0.7, 0.2, 0.8]
      .map((t) => point(curve, t))
      .map(([cx, cy]) => new DOMRect(cx - width / 2, cy - 9, width, 18));
    const place = spot.find((spot) => !taken.some((other) => overlaps(spot, other))) ?? spot[0]!;
    taken.push(place);
    [first, last] = [Math.min(first, place.x - 6), Math.max(last, place.right + 6)];
    const name = colourOf(edge);
    const words = edge.sentence.map(({ text }) => text).join('');
    const group = svg(
      'g',
      {
        class: `edge ${name}`,
        tabindex: 0,
        role: 'button',
        'aria-label': words,
        'data-edge': at,
        click: () => pick(at),
        keydown: (event: KeyboardEvent) => {
          if (event.key === 'Enter' || event.key === ' ') {
            event.preventDefault();
            pick(at);
          }
        },
      },
      svg('title', {}, words),
      svg('path', { class: 'reach', d: path(curve) }),
      svg('path', { class: isBasic(edge) ? 'line' : 'line broken', d: path(curve), 'marker-end': `url(#tip-${name})` }),
      // The label can be hit, too; it is drawn above all lines.
      svg('rect', { class: 'reach', x: place.x, y: place.y, width, height: 18, rx: 9 }),
    );
    const label = svg(
      'g',
      { class: `label edge ${name}`, 'aria-hidden': 'true' },
      svg('rect', { class: 'label', x: place.x, y: place.y, width, height: 18, rx: 9 }),
      svg('text', { x: place.x + width / 2, y: place.y + 12.8, 'text-anchor': 'middle' }, edge.label),
    );
    drawnEdges.set(at, [group, label]);
  }
  // A curve may reach beyond the columns.
  drawing.setAttribute('width', String(Math.ceil(last - first)));
  drawing.setAttribute('height', String(Math.ceil(low - high)));
  drawing.setAttribute(
    'viewBox',
    `${Math.floor(first)} ${Math.floor(high)} ${Math.ceil(last - first)} ${Math.ceil(low - high)}`,
  );
  drawing.style.minWidth = `${Math.ceil((last - first) * SHRINKS)}px`;
  const parts = [...drawnEdges.values()];
  drawing.append(...parts.map(([line]) => line!), ...drawnNodes.values(), ...parts.map(([, label]) => label!));
  return { root: scrolling('graph', 'The drawing', drawing), edges: drawnEdges, nodes: drawnNodes };
}

/** The row of each node: below what its thread and its value come from. Initial values stand in a column of their own,
    one below the other. */
function layers(story: Story, nodes: number[], edges: StoryEdge[]): Map<number, number> {
  const above = new Map<number, Set<number>>(nodes.map((node) => [node, new Set<number>()]));
  const last = new Map<number, number>();
  // Nodes are in the order of the history, so those of a thread are in its order.
  for (const node of nodes) {
    const thread = story.nodes[node]!.thread;
    if (thread === null) continue;
    if (last.has(thread)) above.get(node)!.add(last.get(thread)!);
    last.set(thread, node);
  }
  const isInitial = (node: number) => story.nodes[node]!.thread === null;
  for (const edge of edges)
    if (isBasic(edge) && edge.from !== edge.to && !isInitial(edge.from)) above.get(edge.to)!.add(edge.from);
  const rows = new Map(nodes.filter(isInitial).map((node, row) => [node, row]));
  const left = new Set(nodes.filter((node) => !isInitial(node)));
  while (left.size > 0) {
    // If these edges alone are a circle, it is opened at the node that waits for the fewest.
    const waits = (node: number) => [...above.get(node)!].filter((other) => left.has(other)).length;
    const next = [...left].reduce((best, node) => (waits(node) < waits(best) ? node : best));
    const done = [...above.get(next)!].filter((other) => rows.has(other)).map((other) => rows.get(other)! + 1);
    rows.set(next, Math.max(0, ...done));
    left.delete(next);
  }
  return rows;
}

type Curve = [x0: number, y0: number, x1: number, y1: number, x2: number, y2: number, x3: number, y3: number];

function route(from: Box, to: Box, boxes: Box[], twin: number, bow: number, isRealTime: boolean): Curve {
  const centre = (box: Box) => box.x + box.width / 2;
  const middle = (box: Box) => box.y + box.height / 2;
  if (from.node === to.node) {
    const [x, y] = [from.x + from.width, middle(from)];
    return [x, y - 8, x + 46, y - 40, x + 46, y + 40, x, y + 8];
  }
  if (from.column === to.column) {
    const [high, low] = from.y < to.y ? [from, to] : [to, from];
    const between = boxes.some((box) => box.column === from.column && box.y > high.y && box.y < low.y);
    if (from === high && !between && twin === 0) {
      const [x, y0, y1] = [centre(from), from.y + from.height, to.y];
      return [x, y0, x, y0 + (y1 - y0) / 3, x, y1 - (y1 - y0) / 3, x, y1];
    }
    const isRight = twin % 2 === 0;
    const out = (isRight ? 1 : -1) * (34 + 10 * twin + Math.min(Math.abs(middle(to) - middle(from)) / 8, 20));
    const edge = (box: Box) => (isRight ? box.x + box.width : box.x);
    return [edge(from), middle(from), edge(from) + out, middle(from), edge(to) + out, middle(to), edge(to), middle(to)];
  }
  const isRight = to.column > from.column;
  const [x0, x3] = isRight ? [from.x + from.width, to.x] : [from.x, to.x + to.width];
  let [y0, y3] = [middle(from) + 5, middle(to) - 5];
  if (isRealTime) {
    // It leads from a return to a call.
    y0 = from.y + from.height - 8;
    y3 = to.y + 8;
  }
  const reach = Math.max(36, Math.abs(x3 - x0) * 0.45) * (isRight ? 1 : -1);
  // Several edges between two nodes bow apart.
  const within = (box: Box, y: number) => Math.min(Math.max(y, box.y + 7), box.y + box.height - 7);
  return [
    x0,
    within(from, y0 + bow * 9),
    x0 + reach,
    y0 + bow * 34,
    x3 - reach,
    y3 + bow * 34,
    x3,
    within(to, y3 + bow * 9),
  ];
}

function path([x0, y0, x1, y1, x2, y2, x3, y3]: Curve): string {
  const round = (number: number) => Math.round(number * 10) / 10;
  return `M${round(x0)} ${round(y0)}C${round(x1)} ${round(y1)} ${round(x2)} ${round(y2)} ${round(x3)} ${round(y3)}`;
}

function point([x0, y0, x1, y1, x2, y2, x3, y3]: Curve, t: number): [number, number] {
  const u = 1 - t;
  const mix = (a: number, b: number, c: number, d: number) =>
    u * u * u * a + 3 * u * u * t * b + 3 * u * t * t * c + t * t * t * d;
  return [mix(x0, x1, x2, x3), mix(y0, y1, y2, y3)];
}

/** Whether a curve goes through a box. */
function crosses(curve: Curve, box: Box): boolean {
  for (let t = 0.04; t < 1; t += 0.04) {
    const [x, y] = point(curve, t);
    if (x > box.x - 4 && x < box.x + box.width + 4 && y > box.y - 4 && y < box.y + box.height + 4) return true;
  }
  return false;
}

function overlaps(a: DOMRect, b: DOMRect): boolean {
  return a.x < b.right && b.x < a.right && a.y < b.bottom && b.y < a.bottom;
}
