// The violation in one sentence, for the top of the page.

import type { Line } from './data';

/** The words of a heading without those that lead to a table. */
export function headline(text: string): string {
  return text.replace(/((: )?each of these [^:]*)?:?\s*$/, '');
}

/** The violation in one sentence: the heading of its story. */
export function lead(heading: Line): Line {
  // The last words of a heading may lead to a table.
  const line = heading.map((span) => ({ ...span }));
  const end = line.pop();
  const text = headline(end?.text ?? '');
  if (end && text !== '') line.push({ ...end, text: `${text}.` });
  else if (line.length > 0) line[line.length - 1]!.text = line[line.length - 1]!.text.replace(/:?\s*$/, '.');
  if (line.length > 0) line[0]!.text = line[0]!.text.charAt(0).toUpperCase() + line[0]!.text.slice(1);
  return line;
}
