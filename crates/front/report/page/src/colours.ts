// The colours of the canvases, which come from the style of the page, so that both themes and the printer have theirs.

const NAMES = [
  'surface',
  'sunken',
  'ink',
  'muted',
  'line',
  'write',
  'read',
  'read-line',
  'update',
  'other',
  'write-soft',
  'read-soft',
  'update-soft',
  'other-soft',
  'clash',
  'accent',
  'found',
  'bin',
  'on-fill',
] as const;

export type Colours = Record<(typeof NAMES)[number], string>;

/** The colours of the theme that is on now. */
export function colours(): Colours {
  const style = getComputedStyle(document.documentElement);
  const read = (name: string) => [name, style.getPropertyValue(`--${name}`).trim()];
  return Object.fromEntries(NAMES.map(read)) as Colours;
}

export const MONO = 'ui-monospace, SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono", monospace';

type Theme = 'light' | 'dark';
const listeners: (() => void)[] = [];
const system = matchMedia('(prefers-color-scheme: dark)');
/** What the reader chose; null is what the system says. */
let chosen: Theme | null = null;

/** Calls back whenever the colours change. */
export function onTheme(listener: () => void): void {
  listeners.push(listener);
}

/** Whether the page is dark now. */
export function isDark(): boolean {
  return document.documentElement.dataset.theme === 'dark';
}

/** Sets the theme for this reader. */
export function setTheme(theme: Theme): void {
  chosen = theme;
  show(theme);
}

function show(theme: Theme): void {
  document.documentElement.dataset.theme = theme;
  for (const listener of listeners) listener();
}

function restore(): void {
  show(chosen ?? (system.matches ? 'dark' : 'light'));
}

restore();
system.addEventListener('change', restore);
// Paper is white.
addEventListener('beforeprint', () => show('light'));
addEventListener('afterprint', restore);
