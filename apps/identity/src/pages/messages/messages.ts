import { type Html, type HtmlValue, html } from '../html.ts';
import { de } from './de.ts';
import { en, type Messages } from './en.ts';

export type { MessageKey, Messages } from './en.ts';

export const builtInMessages: Readonly<Record<string, Messages>> = { en, de };

const placeholder = /\{(\w+)\}/g;

/** Puts values into a text. */
export function fillText(message: string, values: Readonly<Record<string, string | number>>): string {
  return message.replace(placeholder, (whole, name: string) => String(values[name] ?? whole));
}

/** Puts values, such as elements, into a text. */
export function fillHtml(message: string, values: Readonly<Record<string, HtmlValue>>): Html {
  const parts = message.split(placeholder);
  return html`${parts.map((part, index) => (index % 2 === 0 ? part : (values[part] ?? `{${part}}`)))}`;
}

/** The names of the values that a text needs. */
export function placeholdersOf(message: string): string[] {
  return [...message.matchAll(placeholder)].map(([, name = '']) => name).sort();
}
