// What every page has: the bar at the top, sections, a button that copies.

import { type Child, button, el } from './dom';
import { isDark, setTheme } from './colours';

export function bar(version: string): HTMLElement {
  const theme = button(isDark() ? 'Light' : 'Dark', 'Switch between light and dark', () => {
    setTheme(isDark() ? 'light' : 'dark');
    theme.textContent = isDark() ? 'Light' : 'Dark';
  });
  return el(
    'header',
    { class: 'bar' },
    el('span', { class: 'brand' }, 'Seriatim', el('small', {}, version)),
    el('span', { class: 'space' }),
    theme,
  );
}

export function section(id: string, title: string, note: Child, ...children: Child[]): HTMLElement {
  return el(
    'section',
    { id, 'aria-labelledby': `${id}-title` },
    el('div', { class: 'head' }, el('h2', { id: `${id}-title` }, title), note),
    ...children,
  );
}

/** A button that copies a text. */
export function copier(label: string, text: () => string): HTMLButtonElement {
  const copy = button(
    label,
    `${label}`,
    async () => {
      let isCopied = true;
      try {
        await navigator.clipboard.writeText(text());
      } catch {
        isCopied = byHand(text());
      }
      copy.textContent = isCopied ? 'Copied' : 'Not copied';
      setTimeout(() => (copy.textContent = label), 1600);
    },
    { class: 'copy' },
  );
  return copy;
}

/** Copies where the page has no clipboard of its own. */
function byHand(text: string): boolean {
  const area = el('textarea', { class: 'spoken', readonly: true });
  area.value = text;
  document.body.append(area);
  area.select();
  const isCopied = document.execCommand('copy');
  area.remove();
  return isCopied;
}
