// The live page of a service: asks for /state.json once a second, and shows it. Whatever a client has sent gets in as
// text (dom.ts), or as a picture, which runs no program.
import './colours';
import { count, el, plural, replace, short, svg } from './dom';

interface Counts {
  events: number;
  lines: number;
  bytes: number;
  consistent: number;
  violation: number;
  unknown: number;
  bad: number;
}

interface Client extends Counts {
  number: number;
  name: string;
  seconds: number;
  state: number;
  waiting: number;
  lag: number;
}

interface Violation {
  id: number;
  time: number;
  client: string;
  history: number;
  name: string | null;
  model: string;
  at: number;
  line: number;
  event: string;
  reason: string;
  drawing: string | null;
}

interface State {
  version: string;
  uptime: number;
  memory: number;
  all: Counts & { come: number; refused: number };
  clients: Client[];
  checkpoints: { made: number; failed: number; age: number | null };
  violations: Violation[];
  trouble: string | null;
}

/** How often the state is asked for, in milliseconds, and how many rates are kept. */
const INTERVAL = 1000;
const KEPT = 300;
/** How many clients are shown. */
const MOST = 300;

/** The events of each stream at the last answer, and when that was. The key 0 stands for all. */
let before: { time: number; uptime: number; events: Map<number, number> } | null = null;
const rates: number[] = [];

function size(bytes: number): string {
  const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];
  let unit = 0;
  for (; bytes >= 1024 && unit + 1 < units.length; unit++) bytes /= 1024;
  return `${bytes < 10 && unit > 0 ? bytes.toFixed(1) : Math.round(bytes)} ${units[unit]}`;
}

function duration(seconds: number): string {
  if (seconds < 10) return `${seconds.toFixed(1)} s`;
  if (seconds < 120) return `${Math.round(seconds)} s`;
  if (seconds < 7200) return `${Math.round(seconds / 60)} min`;
  return seconds < 172800 ? `${Math.round(seconds / 3600)} h` : `${Math.round(seconds / 86400)} d`;
}

const health = el('span', { class: 'health', role: 'status' });
const about = el('span', { class: 'none' });
const tiles = el('div', { class: 'tiles' });
const line = svg('polyline', {});
const rate = svg(
  'svg',
  {
    class: 'rate',
    viewBox: `0 0 ${KEPT - 1} 100`,
    preserveAspectRatio: 'none',
    role: 'img',
    'aria-label': 'events a second',
  },
  line,
);
const clients = el('div', { class: 'scroll' });
const violations = el('div', { class: 'violations' });
/** The violations that are on the page, by their numbers. */
const shown = new Map<number, HTMLElement>();

document
  .getElementById('live')!
  .append(
    el('header', {}, el('h1', {}, 'seriatim monitor'), health, about),
    tiles,
    rate,
    el('h2', {}, 'Last violations'),
    violations,
    el('h2', {}, 'Clients'),
    clients,
  );

function tile(value: string, what: string, isBad = false): HTMLElement {
  return el('div', { class: isBad ? 'tile bad' : 'tile' }, el('b', {}, value), el('span', {}, what));
}

/** How many events a second a stream has had since the last answer. */
function rateOf(key: number, events: number, time: number): number {
  const old = before?.events.get(key);
  if (before === null || old === undefined || time <= before.time) return 0;
  return (Math.max(0, events - old) * 1000) / (time - before.time);
}

function table(state: State, time: number): HTMLElement {
  if (state.clients.length === 0) return el('p', { class: 'none' }, 'No client is here.');
  const head = [
    'client',
    'events',
    'events/s',
    'lag',
    'waiting',
    'state',
    'consistent',
    'violations',
    'unknown',
    'bad',
  ];
  const rows = state.clients.slice(0, MOST).map((client) => {
    const { events, lag, waiting, state: bytes, consistent, violation, unknown, bad } = client;
    const rate = Math.round(rateOf(client.number, events, time));
    const cells = [count(events), count(rate), duration(lag), size(waiting), size(bytes)];
    const verdicts = [consistent, violation, unknown, bad].map(count);
    return el(
      'tr',
      {},
      el('td', { title: client.name }, short(client.name, 60)),
      ...[...cells, ...verdicts].map((text) => el('td', {}, text)),
    );
  });
  const more = state.clients.length - rows.length;
  return el(
    'div',
    {},
    el(
      'table',
      { class: 'clients' },
      el('thead', {}, el('tr', {}, ...head.map((text) => el('th', {}, text)))),
      el('tbody', {}, ...rows),
    ),
    more > 0 && el('p', { class: 'none' }, `and ${count(more)} more`),
  );
}

function violation(it: Violation): HTMLElement {
  const when = new Date(it.time * 1000).toISOString().replace('T', ' ').slice(0, 19);
  const history = it.history > 0 ? `#${it.history}` : '';
  const details = el(
    'details',
    { 'data-id': it.id },
    el('summary', {}, `${when} UTC: ${it.client}${history} violates ${it.model} at event ${it.at}: ${it.event}`),
    el('p', {}, `Line ${it.line} of the stream${it.name === null ? '' : `, in ${it.name}`}. ${it.reason}`),
  );
  if (it.drawing === null) details.append(el('p', { class: 'none' }, 'There is no drawing of this one.'));
  else {
    details.append(
      el('pre', {}, it.drawing),
      el('img', { src: `/violations/${it.id}.svg`, alt: 'The operations that clash', loading: 'lazy' }),
    );
  }
  return details;
}

/** What was unfolded stays unfolded: only what is new is added. */
function showViolations(state: State): void {
  const ids = new Set(state.violations.map(({ id }) => id));
  for (const [id, element] of shown) {
    if (!ids.has(id)) {
      element.remove();
      shown.delete(id);
    }
  }
  if (state.violations.length === 0) replace(violations, el('p', { class: 'none' }, 'None so far.'));
  else violations.querySelector('.none:only-child')?.remove();
  for (const it of [...state.violations].reverse()) {
    if (shown.has(it.id)) continue;
    const element = violation(it);
    shown.set(it.id, element);
    violations.prepend(element);
  }
}

function show(state: State, time: number): void {
  // Another process counts from zero, and numbers its violations anew.
  if (before !== null && state.uptime < before.uptime) {
    before = null;
    replace(violations);
    shown.clear();
  }
  const { all, checkpoints } = state;
  const now = rateOf(0, all.events, time);
  if (before !== null) rates.push(now);
  if (rates.length > KEPT) rates.shift();
  const most = Math.max(1, ...rates);
  const points = rates.map((value, at) => `${KEPT - rates.length + at},${(98 - (96 * value) / most).toFixed(1)}`);
  line.setAttribute('points', points.join(' '));
  health.textContent = state.trouble ?? 'ready';
  health.className = state.trouble === null ? 'health' : 'health bad';
  about.textContent = `seriatim ${state.version}, up for ${duration(state.uptime)}`;
  const lag = Math.max(0, ...state.clients.map((client) => client.lag));
  const waiting = state.clients.reduce((sum, client) => sum + client.waiting, 0);
  replace(
    tiles,
    tile(count(Math.round(now)), 'events a second'),
    tile(count(all.events), 'events checked'),
    tile(count(state.clients.length), `${plural(all.come, 'stream')} came, ${count(all.refused)} refused`),
    tile(duration(lag), `greatest lag; ${size(waiting)} waiting`),
    tile(size(state.memory), 'memory of the process'),
    tile(count(all.violation), 'violations', all.violation > 0),
    tile(count(all.consistent), `consistent; ${count(all.unknown)} unknown, ${count(all.bad)} bad`),
    tile(
      checkpoints.age === null ? 'none' : duration(checkpoints.age),
      `since a checkpoint; ${count(checkpoints.made)} made, ${count(checkpoints.failed)} failed`,
      checkpoints.failed > 0 && state.trouble !== null,
    ),
  );
  replace(clients, table(state, time));
  showViolations(state);
  const events = new Map(state.clients.map((client) => [client.number, client.events]));
  before = { time, uptime: state.uptime, events: events.set(0, all.events) };
}

async function ask(): Promise<void> {
  try {
    const answer = await fetch('/state.json', { cache: 'no-store' });
    show((await answer.json()) as State, performance.now());
    document.documentElement.dataset.ready = 'yes';
  } catch {
    health.textContent = 'the service does not answer';
    health.className = 'health bad';
  }
  setTimeout(() => void ask(), INTERVAL);
}

void ask();
