// CommonMark 4.6 and 6.6: raw HTML.

const attribute = '\\s+[a-z_:][\\w.:-]*(?:\\s*=\\s*(?:[^\\s"\'=<>`]+|\'[^\']*\'|"[^"]*"))?';
const openTag = `<[a-z][a-z\\d-]*(?:${attribute})*\\s*\\/?>`;
const closingTag = '<\\/[a-z][a-z\\d-]*\\s*>';
const blockNames =
  'address|article|aside|base|basefont|blockquote|body|caption|center|col|colgroup|dd|details|dialog|dir|div|dl|dt|fieldset|figcaption|figure|footer|form|frame|frameset|h[1-6]|head|header|hr|html|iframe|legend|li|link|main|menu|menuitem|nav|noframes|ol|optgroup|option|p|param|search|section|summary|table|tbody|td|tfoot|th|thead|title|tr|track|ul';

/** The start of an HTML block, and what ends it on the same or a later line; without an end, an empty line does. */
const blocks: readonly { start: RegExp; end?: RegExp; interrupts?: false }[] = [
  { start: /^<(?:script|pre|textarea|style)(?:\s|>|$)/i, end: /<\/(?:script|pre|textarea|style)>/i },
  { start: /^<!--/, end: /-->/ },
  { start: /^<\?/, end: /\?>/ },
  { start: /^<![a-z]/i, end: />/ },
  { start: /^<!\[CDATA\[/, end: /\]\]>/ },
  { start: new RegExp(`^<\\/?(?:${blockNames})(?:\\s|\\/?>|$)`, 'i') },
  { start: new RegExp(`^(?:${openTag}|${closingTag})\\s*$`, 'i'), interrupts: false },
];

export interface HtmlBlock {
  end?: RegExp;
}

/** Returns the HTML block that begins with a line. */
export function htmlBlockAt(line: string, isInParagraph: boolean): HtmlBlock | undefined {
  if (!line.startsWith('<')) return undefined;
  return blocks.find(({ start, interrupts }) => !(isInParagraph && interrupts === false) && start.test(line));
}

const tag = new RegExp(`^(?:${openTag}|${closingTag})`, 'i');
const unendedTag = new RegExp(
  `^<(?:[a-z][a-z\\d-]*(?:${attribute})*(?:\\s+(?:[a-z_:][\\w.:-]*(?:\\s*=\\s*(?:'[^']*|"[^"]*)?)?)?)?|\\/[a-z][a-z\\d-]*\\s*)$`,
  'i',
);
const autolink = /^<(?:[a-z][a-z\d.+-]{1,31}:[^\s<>\u0000-\u001f]*|[\w.!#$%&'*+/=?^`{|}~-]+@[a-z\d.-]+)>/i;
/** A longer tag is none, so that the time stays linear. */
const tagMax = 1_000;

/** Reads the tags, comments and addresses in angle brackets of one text, each search from a later place on. */
export class HtmlReader {
  readonly #text: string;
  /** Whether a tag is too long, so that another reader finds one where this one finds none. */
  isUncertain = false;
  readonly #missing = new Set<string>();

  constructor(text: string) {
    this.#text = text;
  }

  /** Returns the end of what begins with `<` at a place, or -1. */
  endAt(at: number): number {
    const text = this.#text;
    if (text.startsWith('<!--', at)) {
      if (text.startsWith('<!-->', at)) return at + 5;
      if (text.startsWith('<!--->', at)) return at + 6;
      return this.#endOf('-->', at + 4);
    }
    if (text.startsWith('<?', at)) return this.#endOf('?>', at + 2);
    if (text.startsWith('<![CDATA[', at)) return this.#endOf(']]>', at + 9);
    if (text.startsWith('<!', at)) return /[a-z]/i.test(text[at + 2] ?? '') ? this.#endOf('>', at + 2) : -1;
    if (!/[\w/.!#$%&'*+=?^`{|}~-]/.test(text[at + 1] ?? '')) return -1;
    const part = text.slice(at, at + tagMax);
    const found = (autolink.exec(part) ?? tag.exec(part))?.[0];
    if (found !== undefined) return at + found.length;
    if (part.length === tagMax && unendedTag.test(part)) this.isUncertain = true;
    return -1;
  }

  // Each sign is searched for in vain only once.
  #endOf(sign: string, from: number): number {
    if (this.#missing.has(sign)) return -1;
    const found = this.#text.indexOf(sign, from);
    if (found < 0) this.#missing.add(sign);
    return found < 0 ? -1 : found + sign.length;
  }
}
