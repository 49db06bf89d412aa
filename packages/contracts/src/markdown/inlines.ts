import { HtmlReader } from './html.ts';
import type { Range } from './line.ts';
import { endOfResource, labelAt, normalizedLabel } from './links.ts';

export interface InlineParts {
  /** Code spans with their backticks. In order. */
  code: Range[];
  /** Destinations of links, addresses and HTML. In order. */
  hidden: Range[];
  isUncertain: boolean;
}

const backtick = 96;
const backslash = 92;
const lessThan = 60;
const openingBracket = 91;
const closingBracket = 93;
const exclamationMark = 33;
const labelMax = 999;
const nothing: InlineParts = { code: [], hidden: [], isUncertain: false };

/** Finds the code spans of a paragraph, of a heading or of a cell (CommonMark 6), in linear time. */
export function readInlines(text: string, definitions: ReadonlySet<string>): InlineParts {
  const hasLinks = text.includes('](') || (definitions.size > 0 && text.includes(']'));
  if (!hasLinks && !text.includes('`') && !text.includes('<')) return nothing;
  return new InlineReader(text, definitions, hasLinks).read();
}

/** An opening bracket. */
interface Bracket {
  readonly start: number;
  readonly isImage: boolean;
  hasBracketAfter: boolean;
}

class InlineReader {
  readonly #text: string;
  readonly #definitions: ReadonlySet<string>;
  readonly #hasLinks: boolean;
  #html: HtmlReader | undefined;
  readonly #parts: InlineParts = { code: [], hidden: [], isUncertain: false };
  readonly #brackets: Bracket[] = [];
  /** So many brackets, from the first, begin no link, because a link contains no other link. */
  #inactive = 0;
  /** The last known place of a run of backticks, by length. */
  #runs: Map<number, number> | undefined;
  #hasAllRuns = false;

  constructor(text: string, definitions: ReadonlySet<string>, hasLinks: boolean) {
    this.#text = text;
    this.#definitions = definitions;
    this.#hasLinks = hasLinks;
  }

  read(): InlineParts {
    const { length } = this.#text;
    for (let at = 0; at < length; ) at = this.#readAt(at);
    this.#parts.isUncertain = this.#html?.isUncertain === true;
    return this.#parts;
  }

  /** Reads what begins at a place. @returns the place after it */
  #readAt(at: number): number {
    const sign = this.#text.charCodeAt(at);
    if (sign === backtick) return this.#readRun(at);
    if (sign === backslash) return isPunctuation(this.#text.charCodeAt(at + 1)) ? at + 2 : at + 1;
    if (sign === lessThan) return this.#readHtml(at);
    if (this.#hasLinks && sign === openingBracket) return this.#openBracket(at + 1, false);
    if (this.#hasLinks && sign === exclamationMark && this.#text.charCodeAt(at + 1) === openingBracket)
      return this.#openBracket(at + 2, true);
    if (sign === closingBracket && this.#brackets.length > 0) return this.#closeBracket(at);
    return at + 1;
  }

  #readRun(at: number): number {
    const end = this.#endOfRun(at);
    const closing = this.#closingRun(end, end - at);
    if (closing < 0) return end;
    const after = closing + end - at;
    this.#parts.code.push({ start: at, end: after });
    return after;
  }

  #endOfRun(at: number): number {
    let end = at;
    while (this.#text.charCodeAt(end) === backtick) end += 1;
    return end;
  }

  // A search in vain reads all runs, so there is only one.
  #closingRun(from: number, length: number): number {
    if (this.#hasAllRuns && (this.#runs?.get(length) ?? -1) < from) return -1;
    for (let place = this.#text.indexOf('`', from); place >= 0; ) {
      const end = this.#endOfRun(place);
      if (end - place === length) return place;
      if (!this.#hasAllRuns) this.#runs = (this.#runs ?? new Map()).set(end - place, place);
      place = this.#text.indexOf('`', end);
    }
    this.#hasAllRuns = true;
    return -1;
  }

  #readHtml(at: number): number {
    this.#html ??= new HtmlReader(this.#text);
    const end = this.#html.endAt(at);
    if (end < 0) return at + 1;
    this.#parts.hidden.push({ start: at, end });
    return end;
  }

  #openBracket(start: number, isImage: boolean): number {
    const above = this.#brackets.at(-1);
    if (above !== undefined) above.hasBracketAfter = true;
    this.#brackets.push({ start, isImage, hasBracketAfter: false });
    return start;
  }

  /** Looks for a link or an image, as CommonMark's appendix describes it. */
  #closeBracket(at: number): number {
    const opener = this.#brackets.pop();
    const depth = this.#brackets.length;
    const isInactive = depth < this.#inactive;
    this.#inactive = Math.min(this.#inactive, depth);
    if (opener === undefined || (isInactive && !opener.isImage)) return at + 1;
    const resource = endOfResource(this.#text, at + 1);
    const end = resource >= 0 ? resource : this.#endOfReference(opener, at);
    if (end < 0) return at + 1;
    if (end > at + 1) this.#parts.hidden.push({ start: at + 1, end });
    if (!opener.isImage) this.#inactive = depth;
    return end;
  }

  #endOfReference({ start, hasBracketAfter }: Bracket, at: number): number {
    if (this.#definitions.size === 0) return -1;
    const given = labelAt(this.#text, at + 1);
    const isFull = given !== undefined && given.label !== '';
    const own = hasBracketAfter || at - start > labelMax ? '' : this.#text.slice(start, at);
    const label = isFull ? given.label : own;
    if (!this.#definitions.has(normalizedLabel(label))) return -1;
    return given?.end ?? at + 1;
  }
}

function isPunctuation(code: number): boolean {
  return (
    (code >= 33 && code <= 47) ||
    (code >= 58 && code <= 64) ||
    (code >= 91 && code <= 96) ||
    (code >= 123 && code <= 126)
  );
}
