// The verdicts of the other models: a drawing in which a model stands above those that it implies.

import type { Standing } from './data';
import { el, svg } from './dom';
import { scrolling } from './frame';

const HEIGHT = 28;
const GAP = 14;
const DROP = 30;
export const SIGNS: Record<string, string> = { consistent: '✓', violation: '✕', unknown: '?' };

export function drawLattice(models: Standing[], implications: [number, number][], own: string): HTMLElement {
  const lists = (['violation', 'consistent', 'unknown'] as const).map((verdict) => {
    const names = models.filter((model) => model.verdict === verdict).map(({ name }) => name);
    const title = { violation: 'Broken', consistent: 'Satisfied', unknown: 'Unknown' }[verdict];
    return names.length > 0
      ? el(
          'p',
          { class: `verdicts ${verdict}` },
          el('strong', {}, `${SIGNS[verdict]} ${title}: `),
          ...names.flatMap((name, at) => [at > 0 ? ', ' : null, model(models, name, own)]),
        )
      : null;
  });
  const outside = models.filter((model) => model.verdict === null).map(({ name }) => name);
  const words = el(
    'div',
    { class: 'told' },
    ...lists,
    outside.length > 0
      ? el('p', { class: 'verdicts' }, el('strong', {}, 'Does not apply: '), outside.join(', '))
      : null,
  );
  const linked = new Set(implications.flat());
  if (linked.size < 2) return el('div', { class: 'models' }, words);
  const drawing = picture(models, implications, own, linked);
  // A wide drawing has a row of its own.
  const isWide = Number(drawing.getAttribute('width')) > 620;
  return el(
    'div',
    { class: isWide ? 'models wide' : 'models' },
    words,
    scrolling('lattice', 'The drawing', drawing, drawing.querySelector('.own') ?? undefined),
  );
}

function model(models: Standing[], name: string, own: string): HTMLElement {
  const standing = models.find((model) => model.name === name)!;
  return el(
    name === own ? 'strong' : 'span',
    { title: `${standing.title}: ${standing.definition} (${standing.how})` },
    name,
  );
}

function picture(models: Standing[], edges: [number, number][], own: string, linked: Set<number>): SVGSVGElement {
  const longest = Math.max(...[...linked].map((model) => models[model]!.name.length));
  const breadth = Math.max(96, (longest + 2) * 7.6 + 18);
  const layer = models.map(() => 0);
  for (let round = 0; round < models.length; round++)
    for (const [from, to] of edges) layer[to] = Math.max(layer[to]!, layer[from]! + 1);
  const layers: number[][] = [];
  for (const model of [...linked].sort((a, b) => a - b)) (layers[layer[model]!] ??= []).push(model);
  // Each model moves towards the middle of those that it is joined with.
  const x = models.map(() => 0);
  const place = () => layers.forEach((row) => row.forEach((model, at) => (x[model] = at - (row.length - 1) / 2)));
  place();
  for (let round = 0; round < 16; round++) {
    const rows = round % 2 === 0 ? layers : [...layers].reverse();
    for (const row of rows) {
      const mean = (model: number) => {
        const near = edges.flatMap(([from, to]) => (from === model ? [x[to]!] : to === model ? [x[from]!] : []));
        return near.reduce((sum, at) => sum + at, 0) / near.length;
      };
      const means = new Map(row.map((model) => [model, mean(model)]));
      row.sort((a, b) => means.get(a)! - means.get(b)! || a - b);
      row.forEach((model, at) => (x[model] = at - (row.length - 1) / 2));
    }
  }
  const widest = Math.max(...layers.map((row) => row.length));
  const width = widest * (breadth + GAP) + GAP;
  const height = layers.length * (HEIGHT + DROP) - DROP + 4;
  const middle = (model: number) => width / 2 + x[model]! * (breadth + GAP);
  const top = (model: number) => 2 + layer[model]! * (HEIGHT + DROP);
  const drawing = svg('svg', { viewBox: `0 0 ${width} ${height}`, width, height, 'aria-hidden': 'true' });
  // It shrinks as far as its names can be read.
  drawing.style.minWidth = `${Math.ceil(width * 0.88)}px`;
  for (const [from, to] of edges) {
    const [x0, y0, x1, y1] = [middle(from), top(from) + HEIGHT, middle(to), top(to)];
    const half = (y1 - y0) / 2;
    drawing.append(
      svg('path', { class: 'implies', d: `M${x0} ${y0}C${x0} ${y0 + half} ${x1} ${y1 - half} ${x1} ${y1}` }),
    );
  }
  for (const number of linked) {
    const { name, verdict, title, definition, how } = models[number]!;
    drawing.append(
      svg(
        'g',
        { class: `model ${verdict ?? 'outside'}${name === own ? ' own' : ''}` },
        svg('title', {}, `${name}: ${title}: ${definition} (${how})`),
        svg('rect', { x: middle(number) - breadth / 2, y: top(number), width: breadth, height: HEIGHT, rx: 14 }),
        svg(
          'text',
          { x: middle(number), y: top(number) + 18.5, 'text-anchor': 'middle' },
          `${verdict ? `${SIGNS[verdict]} ` : ''}${name}`,
        ),
      ),
    );
  }
  return drawing;
}
