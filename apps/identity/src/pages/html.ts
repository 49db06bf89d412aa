/** A text that is HTML. Only `html` makes one, so every other text is escaped. */
class Markup {
  readonly #text: string;

  constructor(text: string) {
    this.#text = text;
  }

  toString(): string {
    return this.#text;
  }
}

export type Html = Markup;

/** What a template may contain. Nothing is written for `undefined` and `false`. */
export type HtmlValue = string | number | Html | undefined | false | readonly HtmlValue[];

/** Writes a template with its values escaped, for the content of elements and for attributes in quotation marks. */
export function html(texts: TemplateStringsArray, ...values: HtmlValue[]): Html {
  return new Markup(texts.map((text, index) => text + write(values[index])).join(''));
}

function write(value: HtmlValue): string {
  if (value === undefined || value === false) return '';
  if (value instanceof Markup) return value.toString();
  if (typeof value === 'object') return value.map(write).join('');
  return escapeText(String(value));
}

// A document must not contain the characters that become U+FFFD (HTML 13.1.4 and 13.2.3.5).
function escapeText(text: string): string {
  return text
    .toWellFormed()
    .replace(/[\u0000-\u0008\u000b\u000e-\u001f\u007f-\u009f\ufdd0-\ufdef\ufffe\uffff]/g, '\ufffd')
    .replace(/[&<>"'\r]/g, (character) => `&#${character.charCodeAt(0)};`);
}

const marks = /[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g;

/** A text for a title or an attribute that keeps the direction of the text around it (UAX 9). */
export function isolate(text: string): string {
  return `\u2068${text.replace(marks, '')}\u2069`;
}
