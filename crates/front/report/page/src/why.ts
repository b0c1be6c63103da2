// Why the history violates the model: the drawing of the circle, and the sentence of each of its edges. A derived edge
// unfolds to the edges that it follows from, in the sentences and in the drawing, down to what the history itself says.

import type { Line } from './data';
import { el, replace } from './dom';
import { type Graph, drawGraph } from './graph';
import { KINDS, type Story, type StoryPart, colourOf } from './story';
import type { Arrow } from './view';

/** Shows operations elsewhere: what is marked, and the arrows between. */
export type Show = (operations: number[], arrows: Arrow[]) => void;

/** A line with its styles. A place leads to its operation. */
export function lineOf(line: Line, go: (operation: number) => void): HTMLElement {
  return el(
    'span',
    { class: 'words' },
    ...line.map(({ style, text, operation }) => {
      if (style === 'place' && operation !== undefined)
        return el('button', { type: 'button', class: 'place', click: () => go(operation) }, text);
      if (style === 'operation') return el('code', {}, text);
      if (style === 'heading') return el('strong', {}, text);
      return text;
    }),
  );
}

export class Why {
  readonly root = el('div', { class: 'why' });
  private at: number;
  private unfolded = new Set<number>();
  private selected = -1;
  private graph: Graph | null = null;
  private items = new Map<number, HTMLElement[]>();
  private drawn = 0;

  constructor(
    private story: Story,
    private isTimed: boolean,
    private show: Show,
    private go: (operation: number) => void,
  ) {
    this.at = story.parts.length - 1;
    this.unfoldFirst();
    this.render();
    new ResizeObserver(([entry]) => {
      const room = entry!.contentRect.width;
      if (Math.abs(room - this.drawn) > 40) this.draw();
    }).observe(this.root);
    addEventListener('beforeprint', () => {
      for (let edge = 0; edge < this.part.edges.length && edge < 200; edge++)
        if (this.part.edges[edge]!.premises.length > 0) this.unfolded.add(edge);
      this.render();
    });
  }

  private get part(): StoryPart {
    return this.story.parts[this.at]!;
  }

  /** The edges that a reader sees first. */
  private get first(): number[] {
    const { circle, edges } = this.part;
    if (circle.length > 0) return circle;
    const used = new Set(edges.flatMap(({ premises }) => premises));
    return [...edges.keys()].filter((edge) => !used.has(edge));
  }

  private get visible(): number[] {
    const seen = new Set(this.first);
    const open = [...seen];
    while (open.length > 0) {
      const edge = open.pop()!;
      if (!this.unfolded.has(edge)) continue;
      for (const premise of this.part.edges[edge]!.premises) {
        if (!seen.has(premise)) open.push(premise);
        seen.add(premise);
      }
    }
    return [...seen].sort((a, b) => a - b);
  }

  /** Unfolds until every operation is at an edge, unless that becomes too much to see. */
  private unfoldFirst(): void {
    for (;;) {
      const { edges } = this.part;
      const seen = new Set(this.visible.flatMap((edge) => [edges[edge]!.from, edges[edge]!.to]));
      const isMissing = edges.some(({ from, to }) =>
        [from, to].some((node) => !seen.has(node) && this.story.nodes[node]!.operations.length > 0),
      );
      const folded = this.visible.filter((edge) => edges[edge]!.premises.length > 0 && !this.unfolded.has(edge));
      if (!isMissing || folded.length === 0) return;
      for (const edge of folded) this.unfolded.add(edge);
      if (this.visible.length > 12) {
        for (const edge of folded) this.unfolded.delete(edge);
        return;
      }
    }
  }

  private render(): void {
    const { story, part } = this;
    this.items = new Map();
    const several = story.parts.length > 1;
    const choose = several ? el('label', { class: 'choice parts' }, 'Case ', this.chooser()) : null;
    const kinds = new Map(this.visible.map((edge) => [part.edges[edge]!.label, part.edges[edge]!]));
    const sentences = el('ol', { class: 'reasons' }, ...this.first.map((edge) => this.item(edge, new Set())));
    const supposes =
      part.supposes.length > 0
        ? el(
            'div',
            {},
            el('p', {}, 'Suppose:'),
            el('ul', { class: 'supposes' }, ...part.supposes.map((line) => el('li', {}, lineOf(line, this.go)))),
          )
        : null;
    const uses =
      part.uses.length > 0
        ? el(
            'div',
            {},
            el('p', {}, 'Every way is refuted:'),
            el('ul', { class: 'uses' }, ...part.uses.map((use) => this.use(use))),
          )
        : null;
    const contents =
      part.contents.length > 0
        ? el('ul', { class: 'contents' }, ...part.contents.map((line) => el('li', {}, lineOf(line, this.go))))
        : null;
    const hasDerived = part.edges.some(({ premises }) => premises.length > 0);
    replace(
      this.root,
      choose,
      el('div', { class: 'drawing' }),
      el(
        'div',
        { class: 'told' },
        supposes,
        part.title.length > 0 && several ? el('p', {}, lineOf(part.title, this.go)) : null,
        uses,
        part.circle.length > 0 && !several
          ? el('p', { class: 'circle' }, 'Each of these comes before the next, in a circle:')
          : null,
        this.first.length > 0 ? sentences : null,
        contents,
        hasDerived
          ? el(
              'button',
              { type: 'button', class: 'all', click: () => this.unfoldAll() },
              this.isAllUnfolded ? 'Fold all' : 'Unfold all',
            )
          : null,
        ...story.hints.map((line) => el('p', { class: 'hint' }, lineOf(line, this.go))),
        kinds.size > 0 &&
          el(
            'dl',
            { class: 'kinds' },
            ...[...kinds].map(([label, edge]) =>
              el('div', {}, el('dt', { class: colourOf(edge) }, label), el('dd', {}, KINDS[edge.kind] ?? edge.kind)),
            ),
          ),
      ),
    );
    this.draw();
  }

  /** An earlier case that this one rests on: what it supposes, and a way to it. */
  private use(at: number): HTMLElement {
    const supposes = this.story.parts[at]!.supposes.map((line) => line.map(({ text }) => text).join(''));
    return el(
      'li',
      {},
      supposes.join(', and '),
      ' ',
      el('button', { type: 'button', class: 'unfold', click: () => this.choose(at) }, `see case ${at + 1}`),
    );
  }

  private chooser(): HTMLElement {
    const select: HTMLSelectElement = el('select', { change: () => this.choose(Number(select.value)) });
    this.story.parts.forEach((part, at) => {
      const what = part.supposes.length > 0 ? 'supposed' : 'in any case';
      select.append(
        el('option', { value: at, selected: at === this.at }, `${at + 1} of ${this.story.parts.length}: ${what}`),
      );
    });
    return select;
  }

  private choose(at: number): void {
    this.at = at;
    this.unfolded.clear();
    this.unfoldFirst();
    this.selected = -1;
    this.render();
    const operations = this.part.core.flatMap((node) => this.story.nodes[node]!.operations);
    this.show(operations, []);
  }

  private get isAllUnfolded(): boolean {
    return this.part.edges.every(({ premises }, edge) => premises.length === 0 || this.unfolded.has(edge));
  }

  private unfoldAll(): void {
    if (this.isAllUnfolded) this.unfolded.clear();
    else this.part.edges.forEach(({ premises }, edge) => premises.length > 0 && this.unfolded.add(edge));
    this.render();
  }

  /** The sentence of an edge, and below it those of its premises if it is unfolded. */
  private item(at: number, above: Set<number>): HTMLElement {
    const edge = this.part.edges[at]!;
    const isOpen = this.unfolded.has(at) && !above.has(at);
    const item = el('li', { class: this.selected === at ? 'reason selected' : 'reason' });
    const chip = el(
      'button',
      {
        type: 'button',
        class: `chip ${colourOf(edge)}`,
        title: KINDS[edge.kind],
        'aria-label': `Show this edge: ${KINDS[edge.kind]}`,
        click: () => this.pick(at),
      },
      edge.label,
    );
    const why =
      edge.premises.length > 0
        ? el(
            'button',
            { type: 'button', class: 'unfold', 'aria-expanded': String(isOpen), click: () => this.unfold(at) },
            isOpen ? 'fold' : 'why?',
          )
        : edge.refuted_by !== null
          ? el(
              'button',
              { type: 'button', class: 'unfold', click: () => this.choose(edge.refuted_by!) },
              `see case ${edge.refuted_by + 1}`,
            )
          : null;
    item.append(el('div', { class: 'sentence' }, chip, lineOf(edge.sentence, this.go), why));
    if (isOpen)
      item.append(
        el('ul', { class: 'premises' }, ...edge.premises.map((premise) => this.item(premise, new Set([...above, at])))),
      );
    const items = this.items.get(at);
    if (items) items.push(item);
    else this.items.set(at, [item]);
    return item;
  }

  private unfold(at: number): void {
    if (!this.unfolded.delete(at)) this.unfolded.add(at);
    this.render();
    this.pick(at);
    (this.items.get(at)?.[0]?.querySelector('.unfold') as HTMLElement | null)?.focus();
  }

  private draw(): void {
    const place = this.root.querySelector('.drawing');
    if (!place) return;
    this.drawn = this.root.clientWidth;
    const room = Math.max(260, place.clientWidth - 8);
    this.graph = drawGraph(
      this.story,
      this.part.edges,
      this.visible,
      this.part.core,
      this.isTimed,
      room,
      (edge) => this.pick(edge),
      (node) => this.pickNode(node),
    );
    replace(place, this.graph.root);
    this.light();
  }

  private light(): void {
    const edge = this.part.edges[this.selected];
    this.graph?.edges.forEach((parts, at) =>
      parts.forEach((part) => part.classList.toggle('selected', at === this.selected)),
    );
    this.graph?.nodes.forEach((group, node) =>
      group.classList.toggle('selected', edge?.from === node || edge?.to === node),
    );
    this.graph?.root.classList.toggle('picked', edge !== undefined);
    this.items.forEach((items, at) => items.forEach((item) => item.classList.toggle('selected', at === this.selected)));
  }

  /** Selects an edge, here and in the timeline. */
  pick(at: number): void {
    this.selected = at;
    const edge = this.part.edges[at]!;
    const [from, to] = [edge.from, edge.to].map((node) => this.story.nodes[node]!.operations);
    const arrows =
      from!.length > 0 && to!.length > 0
        ? [{ from: from![from!.length - 1]!, to: to![0]!, derived: colourOf(edge) === 'derived' }]
        : [];
    this.show([...from!, ...to!], arrows);
    this.light();
  }

  private pickNode(node: number): void {
    const [operation] = this.story.nodes[node]!.operations;
    if (operation !== undefined) this.go(operation);
  }

  /** Nothing is selected. */
  clear(): void {
    if (this.selected < 0) return;
    this.selected = -1;
    this.light();
  }
}
