/** Maximum number of different names that one text can mention; later ones are ignored. */
export const namesMax = 50;

// `@name` after a character that is neither part of a word, an e-mail address or a path nor an escape. The name extends
// as far as its characters do, so an e-mail address after `@` mentions no one.
const mention =
  /(?<![\p{L}\p{N}\p{M}_/@\\+-])@([\p{L}\p{N}_][\p{L}\p{N}\p{M}_.+-]{0,149})(?![\p{L}\p{N}\p{M}_.+@-])/gu;
const punctuation = /[._+-]+$/;

/**
 * Returns the names that a text mentions outside code, in order, each with its forms: as written, and without the
 * punctuation after it. The time is linear in the length of the text.
 */
export function mentionedNames(text: string): string[][] {
  if (!text.includes('@')) return [];
  const names = new Map<string, string[]>();
  for (const [, name = ''] of withoutCode(text).matchAll(mention)) {
    const plain = name.replace(punctuation, '');
    names.set(name, plain === name || plain === '' ? [name] : [name, plain]);
    if (names.size >= namesMax) break;
  }
  return [...names.values()];
}

// Quotations and lists may contain a fence.
const fence = /^([ \t>*+.)\d-]*)(`{3,}|~{3,})(.*)$/;
const container = /[ \t>*+-]|\d{1,9}[.)]/g;
const quote = /^[ \t]*>/;

/** Returns a Markdown text without fenced code and code spans (CommonMark 4.5, 6.1). Indented code stays. */
export function withoutCode(text: string): string {
  if (!/[`~]/.test(text)) return text;
  const blocks: string[] = [];
  let lines: string[] = [];
  const endBlock = () => {
    blocks.push(withoutSpans(lines.join('\n')));
    lines = [];
  };
  let open: { marker: string; isQuoted: boolean } | undefined;
  for (const line of text.split(/\r\n?|\n/)) {
    // A fence in a quotation ends with the quotation.
    if (open?.isQuoted && !quote.test(line)) open = undefined;
    const { marker, info, isQuoted } = fenceOf(line);
    if (open !== undefined) {
      if (marker.startsWith(open.marker) && info.trim() === '') open = undefined;
    } else if (marker !== '' && !(marker.startsWith('`') && info.includes('`'))) {
      open = { marker, isQuoted };
      endBlock();
    } else if (line.trim() === '') {
      endBlock();
    } else {
      lines.push(line);
    }
  }
  endBlock();
  return blocks.join('\n\n');
}

// Returns the run of backticks or tildes that begins a line; empty if the line is no fence.
function fenceOf(line: string): { marker: string; info: string; isQuoted: boolean } {
  const [, before = '', marker = '', info = ''] = fence.exec(line) ?? [];
  if (before.replace(container, '') !== '') return { marker: '', info: '', isQuoted: false };
  return { marker, info, isQuoted: before.includes('>') };
}

// A code span is enclosed in two runs of equally many backticks. A backslash before a run makes its first backtick a
// character, but not within code.
function withoutSpans(block: string): string {
  const runs = Array.from(block.matchAll(/`+/g), ({ 0: { length }, index }) => ({ index, length }));
  const waiting = new Map<number, number[]>();
  for (const { index, length } of runs.toReversed()) {
    const places = waiting.get(length) ?? [];
    places.push(index);
    waiting.set(length, places);
  }
  // Takes each place at most once, because `after` only grows.
  const next = (length: number, after: number) => {
    const places = waiting.get(length) ?? [];
    while ((places.at(-1) ?? after) < after) places.pop();
    return places.at(-1);
  };
  let plain = '';
  let end = 0;
  for (const { index, length } of runs) {
    if (index < end) continue;
    const isEscaped = /(?<!\\)(?:\\\\)*\\$/.test(block.slice(Math.max(end, index - 32), index));
    const opening = isEscaped ? length - 1 : length;
    const closing = opening === 0 ? undefined : next(opening, index + length);
    if (closing === undefined) continue;
    plain += `${block.slice(end, index)} `;
    end = closing + opening;
  }
  return plain + block.slice(end);
}
