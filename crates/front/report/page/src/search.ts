// Finds operations by key, value, process or line.

import { History } from './data';

/** The operations that a query finds. A query is words, all of which must match: `x`, `key:x`, `value:3`, `process:a`,
    `line:7`, `method:cas`. A word alone matches any of these, and names of keys and processes also in part. */
export function search(history: History, query: string): Uint32Array {
  const tests = query
    .trim()
    .split(/\s+/)
    .filter(Boolean)
    .map((word) => test(history, word));
  const found: number[] = [];
  if (tests.length === 0) return new Uint32Array(0);
  for (let id = 0; id < history.count; id++) if (tests.every((matches) => matches(id))) found.push(id);
  return Uint32Array.from(found);
}

const FIELDS = ['key', 'value', 'process', 'thread', 'line', 'method'];

function test(history: History, word: string): (id: number) => boolean {
  const colon = word.indexOf(':');
  const named = colon > 0 && FIELDS.includes(word.slice(0, colon).toLowerCase());
  const field = named ? word.slice(0, colon).toLowerCase() : '';
  const text = named ? word.slice(colon + 1) : word;
  const wanted = (name: string) => field === '' || field === name;
  const marks = (names: string[], matches: (name: string) => boolean) =>
    Uint8Array.from(names, (name) => +matches(name));
  const same = (name: string) => name.toLowerCase() === text.toLowerCase();
  const like = (name: string) => name.toLowerCase().includes(text.toLowerCase());
  // A short word would be part of too many names.
  const similar = text.length > 2 ? like : same;
  const none = () => false;
  const keys = wanted('key') ? marks(history.keys, similar) : null;
  const byThread = wanted('process') || wanted('thread');
  const processes = byThread ? marks(history.processes, field ? same : similar) : null;
  const methods = wanted('method')
    ? marks(history.methods, (name) => same(name.replace(/\..*/, '')) || same(name))
    : null;
  const value = wanted('value') ? history.value(text) : NaN;
  const line = wanted('line') && /^\d+$/.test(text) ? Number(text) : -2;
  if (!keys && !processes && !methods && Number.isNaN(value) && line < 0) return none;
  return (id) =>
    (keys !== null && history.key[id]! >= 0 && keys[history.key[id]!] === 1) ||
    (processes !== null && processes[history.process[id]!] === 1) ||
    (methods !== null && methods[history.method[id]!] === 1) ||
    history.argument[id] === value ||
    history.result[id] === value ||
    history.line[id] === line;
}
