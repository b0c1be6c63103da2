// The page of a verdict: what it is, why it holds, the drawing, the timeline, the player, the other models, and how to
// get it again.

import { History, type Meta, type PartMeta, unpack } from './data';
import { count, el, plural, replace, short, visible } from './dom';
import { bar, copier, progress, section } from './frame';
import { showIndex } from './index';
import { SIGNS, drawLattice } from './lattice';
import { lead } from './lead';
import { Player } from './player';
import { Timeline } from './timeline';
import { Why, lineOf } from './why';

type Part = 'shrunk' | 'whole';

class Page {
  private histories = new Map<Part, History>();
  private part: Part;
  private timeline: Timeline | null = null;
  private player: Player | null = null;
  private why: Why | null = null;
  private stage = el('div', { class: 'stage-of-part' });
  private playerPlace = el('div');

  constructor(
    private meta: Meta,
    private root: HTMLElement,
  ) {
    this.part = meta.shrunk ? 'shrunk' : 'whole';
  }

  async open(): Promise<void> {
    const { meta } = this;
    document.title = `${meta.file}: ${meta.model}: ${meta.verdict}`;
    const first = meta.shrunk ?? meta.whole;
    replace(
      this.root,
      bar(meta.version),
      el(
        'main',
        {},
        this.verdict(first),
        this.explanation(first),
        section('timeline', 'Timeline', this.chooser(), this.stage),
        this.playerPlace,
        meta.models.length > 1 &&
          section('models', 'Other models', null, drawLattice(meta.models, meta.implications, meta.model)),
        this.reproduction(first),
      ),
    );
    await this.show(this.part);
    addEventListener('keydown', (event) => {
      if (event.key === 'Escape') {
        this.why?.clear();
        this.timeline?.clear();
        this.timeline?.play(null, -1);
      }
    });
  }

  private async history(part: Part): Promise<History> {
    let history = this.histories.get(part);
    if (!history) {
      const block = await unpack(part);
      if (!block) throw new Error(`the page has no block '${part}'`);
      this.histories.set(part, (history = new History(block)));
    }
    return history;
  }

  private verdict(first: PartMeta): HTMLElement {
    const { meta } = this;
    const title = {
      violation: `Violates ${meta.title}`,
      consistent: `Satisfies ${meta.title}`,
      unknown: `Unknown: ${meta.title}`,
    }[meta.verdict];
    const heading = lead(first.story?.heading ?? first.explanation[0] ?? []);
    const fact = (name: string, ...value: (string | HTMLElement)[]) =>
      el('div', {}, el('dt', {}, name), el('dd', {}, ...value));
    return el(
      'div',
      { class: `verdict ${meta.verdict}` },
      el(
        'p',
        { class: 'file' },
        el('code', { title: meta.file }, short(meta.file, 120)),
        meta.name ? el('span', {}, short(meta.name, 120)) : null,
      ),
      el('h1', {}, el('span', { class: 'sign', 'aria-hidden': 'true' }, SIGNS[meta.verdict]!), title),
      heading.length > 0
        ? el(
            'p',
            { class: 'lead' },
            lineOf(heading, (id) => this.goTo(id)),
          )
        : el('p', { class: 'lead' }, meta.reason ?? `${capital(meta.definition)}.`),
      el(
        'dl',
        { class: 'facts' },
        fact('Model', el('code', { title: meta.definition }, meta.model)),
        fact(
          'Operations',
          meta.shrunk ? `${count(meta.shrunk.operations!)} of ${count(meta.operations)}` : count(meta.operations),
        ),
        fact('Threads', count(meta.threads)),
        meta.shrunk ? fact('Counterexample', meta.shrunk.minimal ? 'minimal' : 'perhaps not minimal') : null,
        fact('Decided by', meta.strategy),
        fact('Digest', el('code', { title: `SHA-256 of the history: ${meta.digest}` }, meta.digest.slice(0, 12))),
      ),
    );
  }

  private explanation(first: PartMeta): HTMLElement | null {
    const { meta } = this;
    if (meta.verdict !== 'violation') return null;
    const text = first.explanation.map((line) => line.map(({ text }) => text).join('')).join('\n');
    const isTimed = meta.model === 'linearizable';
    if (first.story && first.story.parts.length > 0) {
      this.why = new Why(
        first.story,
        isTimed,
        (operations, arrows) => this.mark(operations, arrows),
        (id) => this.goTo(id),
      );
    }
    return section(
      'why',
      'Why',
      null,
      this.why?.root,
      el(
        'details',
        { class: 'plain', open: !this.why },
        el('summary', {}, 'As text'),
        el('pre', { tabindex: 0 }, text),
      ),
    );
  }

  /** The switch between the minimal counterexample and the whole history. */
  private chooser(): HTMLElement | null {
    const { meta } = this;
    if (!meta.shrunk) return el('span', { class: 'note' }, plural(meta.operations, 'operation'));
    const choice = (part: Part, text: string) =>
      el(
        'button',
        {
          type: 'button',
          'aria-pressed': String(part === this.part),
          'data-part': part,
          click: () => void this.show(part),
        },
        text,
      );
    return el(
      'div',
      { class: 'switch', role: 'group', 'aria-label': 'What the timeline shows' },
      choice('shrunk', `Shrunk: ${plural(meta.shrunk.operations!, 'operation')}`),
      choice('whole', `Whole: ${plural(meta.operations, 'operation')}`),
    );
  }

  /** Shows the timeline and the player of a part. */
  private async show(part: Part): Promise<void> {
    const { meta } = this;
    const operations = plural((part === 'shrunk' ? meta.shrunk?.operations : meta.operations) ?? 0, 'operation');
    replace(this.stage, progress(`Reading ${operations}…`));
    await shown();
    const history = await this.history(part);
    this.part = part;
    for (const choice of this.root.querySelectorAll('.switch button'))
      choice.setAttribute('aria-pressed', String(choice.getAttribute('data-part') === part));
    const told = clashOf(meta.shrunk ?? meta.whole);
    const clash = part === 'whole' && meta.shrunk ? this.inWhole(told) : told;
    this.timeline = new Timeline(history, clash, part === 'whole', (id) => {
      if (id >= 0) this.player?.find(id);
      else this.why?.clear();
    });
    replace(this.stage, this.timeline.root);
    if (part === 'whole' && clash.length > 0) this.timeline.reveal(clash);
    const witness = history.witnesses[0];
    this.player = null;
    if (witness && witness.kind !== 'none') {
      this.player = new Player(history, this.timeline, meta.model);
      const title = witness.died === null ? 'An order that explains it' : 'How far an order goes';
      const note =
        witness.died === null
          ? WITNESSES[witness.kind]
          : 'The longest beginning of the history that can be put in order. Click an operation of the timeline to see the order that contains it.';
      replace(
        this.playerPlace,
        section('player', title, null, el('p', { class: 'note' }, note ?? ''), this.player.root),
      );
    } else if (meta.verdict === 'consistent') {
      replace(
        this.playerPlace,
        section(
          'player',
          'An order that explains it',
          null,
          el(
            'p',
            { class: 'note' },
            'There is no order of single operations to play. The certificate has what the verdict is checked with.',
          ),
        ),
      );
    } else replace(this.playerPlace);
    Object.assign(window, { seriatim: { timeline: this.timeline, player: this.player } });
  }

  private inWhole(operations: number[]): number[] {
    const origin = this.histories.get('shrunk')?.origin;
    return operations.flatMap((id) => (origin && id < origin.length ? [origin[id]!] : []));
  }

  /** The operations that the story names, as the timeline of this part numbers them. */
  private here(operations: number[]): number[] {
    return this.part === 'whole' && this.meta.shrunk ? this.inWhole(operations) : operations;
  }

  private mark(operations: number[], arrows: { from: number; to: number; derived: boolean }[]): void {
    const here = (id: number) => this.here([id])[0] ?? id;
    this.timeline?.mark(
      this.here(operations),
      arrows.map(({ from, to, derived }) => ({ from: here(from), to: here(to), derived })),
    );
  }

  private goTo(operation: number): void {
    const [id] = this.here([operation]);
    if (id === undefined) return;
    this.timeline?.reveal([id], false);
    this.timeline?.select(id);
  }

  private reproduction(first: PartMeta): HTMLElement {
    const { meta } = this;
    const text = first.text ? `# ${meta.command}\n${first.text}` : meta.command;
    const certificate = first.certificate;
    return section(
      'reproduce',
      'Reproduce',
      el(
        'span',
        { class: 'group' },
        copier('Copy', () => text),
        certificate ? copier('Copy certificate', () => certificate) : null,
      ),
      el('pre', { class: 'command', tabindex: 0 }, `$ ${meta.command}`),
      first.text ? el('pre', { class: 'history', tabindex: 0 }, short(visible(first.text), 20000)) : null,
      el(
        'p',
        { class: 'digest' },
        'The certificate is bound to the digest of the history: ',
        el('code', {}, meta.digest),
        ...(first.digest ? [' The shrunk history has the digest ', el('code', {}, first.digest)] : []),
      ),
    );
  }
}

const WITNESSES: Record<string, string> = {
  interleaving: 'One interleaving of all threads in which every read returns the last value written.',
  'memory order':
    'All operations in the order in which they reach memory. A write waits in the store buffer of its thread until then.',
  'order of writes':
    'All writes in one order that agrees with causality. Each read returns the last of those that it knows of.',
  'orders of views': 'For each thread an order of its own operations and of the writes that it knows of.',
  'modification orders': 'For each location the order of its writes.',
  linearizations: 'Each operation takes effect at one moment between its call and its return.',
  pairs: 'The pairs of operations that exchanged their values.',
  'commit order':
    'The transactions in an order in which they can commit. Under serializability each reads what was committed last; a weaker level lets it read older versions.',
  'order of reads and commits': 'Each transaction reads a snapshot, and later its writes become visible together.',
};

/** The operations that clash: those of the evidence, and those of the last part of the story. */
function clashOf({ clash, story }: PartMeta): number[] {
  const core = story?.parts[story.parts.length - 1]?.core ?? [];
  return [...new Set([...clash, ...core.flatMap((node) => story!.nodes[node]!.operations)])].sort((a, b) => a - b);
}

/** When the browser has drawn what is there. Where nobody looks, it draws nothing, and there is nothing to wait for. */
function shown(): Promise<void> {
  return new Promise((done) => {
    requestAnimationFrame(() => setTimeout(done));
    setTimeout(done, 100);
  });
}

function capital(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

async function start(): Promise<void> {
  const root = document.getElementById('page')!;
  try {
    const meta = await unpack('meta');
    const index = meta ? null : await unpack('index');
    if (meta) await new Page(meta.header as Meta, root).open();
    else if (index) showIndex(root, index.header);
    else throw new Error('the page has no data');
    document.documentElement.dataset.ready = 'yes';
  } catch (error) {
    replace(
      root,
      el('p', { class: 'fault' }, `This page cannot be shown: ${error instanceof Error ? error.message : error}`),
    );
    throw error;
  }
}

void start();
