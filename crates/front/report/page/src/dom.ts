// Elements are made here and nowhere else. Whatever comes from a history gets in as a text node or an attribute value:
// nothing in the page turns text into elements.

export type Child = Node | string | null | undefined | false;
type Attributes = Record<string, string | number | boolean | null | undefined | ((event: any) => void)>;

function fill<E extends Element>(element: E, attributes: Attributes, children: Child[]): E {
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === 'function') element.addEventListener(name, value);
    else if (value === true) element.setAttribute(name, '');
    else if (value !== false && value !== null && value !== undefined) element.setAttribute(name, String(value));
  }
  add(element, ...children);
  return element;
}

/** An HTML element. A function among the attributes is a listener. */
export function el<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  attributes: Attributes = {},
  ...children: Child[]
): HTMLElementTagNameMap[K] {
  return fill(document.createElement(tag), attributes, children);
}

/** An SVG element. */
export function svg<K extends keyof SVGElementTagNameMap>(
  tag: K,
  attributes: Attributes = {},
  ...children: Child[]
): SVGElementTagNameMap[K] {
  return fill(document.createElementNS('http://www.w3.org/2000/svg', tag), attributes, children);
}

/** Appends children; strings become text nodes. */
export function add(parent: Element, ...children: Child[]): void {
  for (const child of children) if (child !== null && child !== undefined && child !== false) parent.append(child);
}

/** Replaces all children. */
export function replace(parent: Element, ...children: Child[]): void {
  parent.replaceChildren();
  add(parent, ...children);
}

/** A number as a person writes it: 1,234,567. */
export function count(number: number): string {
  return String(number).replace(/\B(?=(\d{3})+$)/g, ',');
}

/** `1 operation`, `2 operations`. */
export function plural(number: number, noun: string): string {
  return `${count(number)} ${noun}${number === 1 ? '' : 's'}`;
}

/** A text whose invisible characters are written out, so that it cannot turn the text around it. */
export function visible(text: string): string {
  return text.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Co}\p{Cn}\p{Cs}]/gu, (character) =>
    character === '\n' ? character : `\\u{${character.codePointAt(0)!.toString(16)}}`,
  );
}

/** A text that is cut in the middle of nowhere if it is too long. */
export function short(text: string, most: number): string {
  const characters = text.length > most ? [...text] : [];
  return characters.length > most ? `${characters.slice(0, most - 1).join('')}…` : text;
}

/** A button with a text. */
export function button(text: string, title: string, press: () => void, attributes: Attributes = {}): HTMLButtonElement {
  return el('button', { type: 'button', title, 'aria-label': title, click: press, ...attributes }, text);
}
