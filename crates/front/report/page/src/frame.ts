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

/** A box that is scrolled sideways if what is in it is wider. Then it says so, and the keyboard reaches it. It begins
    where the element is in sight that is in the middle of what matters. */
export function scrolling(name: string, what: string, content: Element, middle?: Element): HTMLElement {
  const box = el('div', { class: name }, content);
  const hint = el(
    'p',
    { class: 'sideways', hidden: true },
    `${what} is wider than the screen: swipe or scroll sideways.`,
  );
  let isPlaced = false;
  new ResizeObserver(() => {
    const isWide = box.scrollWidth > box.clientWidth + 1;
    hint.hidden = !isWide;
    if (!isWide) return box.removeAttribute('tabindex');
    box.setAttribute('tabindex', '0');
    box.setAttribute('role', 'group');
    box.setAttribute('aria-label', what);
    if (middle && !isPlaced) {
      const [own, all] = [middle.getBoundingClientRect(), box.getBoundingClientRect()];
      box.scrollLeft += own.x + own.width / 2 - all.x - all.width / 2;
    }
    isPlaced = true;
  }).observe(box);
  return el('div', { class: 'scrolling' }, box, hint);
}

/** A line that says what the page waits for. */
export function progress(text: string): HTMLElement {
  return el('p', { class: 'progress', role: 'status' }, el('progress', { 'aria-label': text }), text);
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
