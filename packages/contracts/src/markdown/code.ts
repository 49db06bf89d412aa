import { type Blocks, type Lines, readBlocks } from './blocks.ts';
import { HtmlReader } from './html.ts';
import { readInlines } from './inlines.ts';
import type { Range } from './line.ts';

export interface MarkdownParts {
  /** Code as in CommonMark: fences, lines of indented code, and spans. In order. */
  code: Range[];
  /** Parts that are not text: HTML, destinations and definitions of links, addresses in angle brackets. In order. */
  hidden: Range[];
  /** Whether other readers can disagree, because a limit is reached. */
  isUncertain: boolean;
}

/**
 * Finds what is code in a text, and what is not shown, as in CommonMark with the tables of GitHub. The time is linear in
 * the length of the text: 65,000 characters of the most expensive kind take about 0.03 seconds.
 */
export function readMarkdown(text: string): MarkdownParts {
  const blocks = readBlocks(text);
  const parts: MarkdownParts = { code: blocks.code, hidden: blocks.hidden, isUncertain: blocks.isTooDeep };
  for (const lines of blocks.texts) readText(text, lines, blocks.definitions, parts);
  for (const lines of blocks.html) addHtml(text, lines, parts.hidden);
  parts.code.sort(byStart);
  parts.hidden.sort(byStart);
  return parts;
}

function byStart(one: Range, other: Range): number {
  return one.start - other.start;
}

function readText(
  text: string,
  lines: Lines,
  definitions: Blocks['definitions'],
  parts: MarkdownParts,
): void {
  const joined = join(text, lines);
  const found = readInlines(joined, definitions);
  parts.isUncertain ||= found.isUncertain;
  addRanges(found.code, lines, joined, parts.code);
  addRanges(found.hidden, lines, joined, parts.hidden);
}

function addHtml(text: string, lines: Lines, hidden: Range[]): void {
  const joined = join(text, lines);
  const reader = new HtmlReader(joined);
  const parts: Range[] = [];
  for (let start = joined.indexOf('<'); start >= 0; ) {
    const found = reader.endAt(start);
    // A comment that is not ended goes on to the end of the block.
    const end = found < 0 && joined.startsWith('<!--', start) ? joined.length : found;
    if (end > start) parts.push({ start, end });
    start = joined.indexOf('<', Math.max(end, start + 1));
  }
  addRanges(parts, lines, joined, hidden);
}

/** Returns the text of lines without the signs of quotes before them. White space before lines has no meaning. */
function join(text: string, lines: Lines): string {
  const [first] = lines;
  if (first === undefined) return '';
  if (areAdjacent(text, lines)) return text.slice(first.start, lines.at(-1)?.end);
  return lines.map(({ start, end }) => text.slice(start, end)).join('\n');
}

function areAdjacent(text: string, lines: Lines): boolean {
  for (let place = 1; place < lines.length; place += 1) {
    const end = lines[place]?.start ?? 0;
    for (let at = lines[place - 1]?.end ?? 0; at < end; at += 1) if (text.charCodeAt(at) > 32) return false;
  }
  return true;
}

/** Adds ranges of joined lines, in order, as ranges of the text. */
function addRanges(ranges: readonly Range[], lines: Lines, joined: string, found: Range[]): void {
  const [first] = lines;
  const last = lines.at(-1);
  if (first === undefined || last === undefined) return;
  if (joined.length === last.end - first.start) {
    for (const { start, end } of ranges) found.push({ start: start + first.start, end: end + first.start });
    return;
  }
  let line = 0;
  let before = 0;
  const place = (at: number) => {
    for (let length = lengthOf(lines[line]); before + length < at; length = lengthOf(lines[line])) {
      before += length + 1;
      line += 1;
    }
    return (lines[line]?.start ?? 0) + at - before;
  };
  for (const { start, end } of ranges) found.push({ start: place(start), end: place(end) });
}

function lengthOf(line: Range | undefined): number {
  return line === undefined ? 0 : line.end - line.start;
}
