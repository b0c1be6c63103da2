// The page of a run: counts by model and by file, and the violations with links to their pages.

import { headline as tidy } from './lead';
import { count, el, plural, replace } from './dom';
import { bar, section } from './frame';
import { SIGNS } from './lattice';

type Entry = [file: string, model: string, verdict: string, operations: number, headline: string, page: string | null];

/** How many rows a table shows before more are asked for. */
const ROWS = 200;
const VERDICTS = ['violation', 'unknown', 'consistent'];

export function showIndex(
  root: HTMLElement,
  { version, entries, faults }: { version: string; entries: Entry[]; faults: string[] },
): void {
  const of = (verdict: string) => entries.filter((entry) => entry[2] === verdict);
  const [violations, unknown] = [of('violation'), of('unknown')];
  const files = new Set(entries.map(([file]) => file)).size;
  const verdict =
    violations.length > 0 ? 'violation' : unknown.length > 0 || faults.length > 0 ? 'unknown' : 'consistent';
  const title =
    violations.length > 0
      ? plural(violations.length, 'violation')
      : unknown.length > 0
        ? plural(unknown.length, 'unknown verdict')
        : 'All consistent';
  document.title = `Seriatim: ${title}`;
  replace(
    root,
    bar(version),
    el(
      'main',
      {},
      el(
        'div',
        { class: `verdict ${verdict}` },
        el('h1', {}, el('span', { class: 'sign', 'aria-hidden': 'true' }, SIGNS[verdict]!), title),
        el(
          'p',
          { class: 'lead' },
          `${plural(files, files === 1 ? 'history' : 'historie')}, ${plural(entries.length, 'verdict')}${faults.length > 0 ? `, ${count(faults.length)} that could not be read or checked` : ''}.`,
        ),
      ),
      violations.length > 0 && section('violations', 'Violations', null, list(violations)),
      unknown.length > 0 && section('unknown', 'Unknown', null, list(unknown)),
      section('models', 'By model', null, tally('Model', entries, 1)),
      section('files', 'By file', null, tally('File', entries, 0)),
      faults.length > 0 &&
        section(
          'faults',
          'Not read or not checked',
          null,
          el('ul', { class: 'faults' }, ...faults.slice(0, ROWS).map((fault) => el('li', {}, el('code', {}, fault)))),
          faults.length > ROWS && el('p', {}, `and ${count(faults.length - ROWS)} more`),
        ),
    ),
  );
}

function list(entries: Entry[]): HTMLElement {
  const row = ([file, model, , operations, headline, page]: Entry) =>
    el(
      'tr',
      {},
      el('td', {}, page ? el('a', { href: page }, file) : file),
      el('td', {}, el('code', {}, model)),
      el('td', { class: 'number' }, count(operations)),
      el('td', {}, tidy(headline)),
    );
  return table(
    ['History', 'Model', 'Operations', 'Why'],
    entries.map((entry) => () => row(entry)),
  );
}

/** How many verdicts of each kind there are, for each model or each file. Those with violations come first. */
function tally(title: string, entries: Entry[], column: 0 | 1): HTMLElement {
  const counts = new Map<string, number[]>();
  for (const entry of entries) {
    const row = counts.get(entry[column]) ?? [0, 0, 0];
    row[VERDICTS.indexOf(entry[2])]!++;
    counts.set(entry[column], row);
  }
  const rows = [...counts].sort(([, a], [, b]) => b[0]! - a[0]! || b[1]! - a[1]!);
  return table(
    [title, ...VERDICTS.map((verdict) => `${SIGNS[verdict]} ${verdict}`)],
    rows.map(
      ([name, row]) =>
        () =>
          el(
            'tr',
            {},
            el('td', {}, column === 1 ? el('code', {}, name) : name),
            ...row.map((number, at) =>
              el('td', { class: `number ${number > 0 ? VERDICTS[at] : 'none'}` }, count(number)),
            ),
          ),
    ),
  );
}

function table(titles: string[], rows: (() => HTMLElement)[]): HTMLElement {
  const body = el('tbody');
  let shown = 0;
  const more = el('button', { type: 'button', click: () => extend() });
  const extend = () => {
    body.append(...rows.slice(shown, shown + ROWS).map((row) => row()));
    shown = Math.min(shown + ROWS, rows.length);
    more.hidden = shown === rows.length;
    more.textContent = `${count(rows.length - shown)} more`;
  };
  extend();
  return el(
    'div',
    { class: 'table' },
    el('table', {}, el('thead', {}, el('tr', {}, ...titles.map((title) => el('th', { scope: 'col' }, title)))), body),
    more,
  );
}
