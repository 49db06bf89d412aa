import { type HtmlBlock, htmlBlockAt } from './html.ts';
import { LineReader, type Range } from './line.ts';
import { definitionsIn } from './links.ts';
import { cellsOf, isDelimiterRow } from './tables.ts';

/** The parts of lines that make the text of one paragraph, heading or cell. */
export type Lines = readonly Range[];

export interface Blocks {
  /** Fences with their content, and lines of indented code. */
  code: Range[];
  texts: Lines[];
  html: Lines[];
  /** The definitions of links. */
  hidden: Range[];
  /** The labels of links that are defined. */
  definitions: Set<string>;
  /** Whether quotes and lists are nested so deeply that their content is read as text. */
  isTooDeep: boolean;
}

const quote = -1;

interface Container {
  /** The columns that the content of an item of a list is indented by; or `quote`. */
  indent: number;
  isEmpty: boolean;
}

type Leaf =
  | { kind: 'paragraph'; lines: Range[]; isLastIndented: boolean }
  | { kind: 'table'; columns: number }
  | { kind: 'fence'; marker: string; range: { start: number; end: number } }
  | { kind: 'html'; block: HtmlBlock; lines: Range[] };

// Each line is compared with all open containers.
const depthMax = 100;

const leafSigns = '#`~<=*_-';
const greaterThan = 62;
// `>`, `*`, `+`, `-` and digits.
const mayStartContainer = (sign: number) =>
  sign === greaterThan || sign === 42 || sign === 43 || sign === 45 || (sign >= 48 && sign <= 57);

const heading = /^#{1,6}(?=[ \t]|$)/;
const fence = /^(?:`{3,}(?=[^`]*$)|~{3,})/;
const rule = /^(?:(?:\*[ \t]*){3,}|(?:_[ \t]*){3,}|(?:-[ \t]*){3,})$/;
const underline = /^(?:=+|-+)[ \t]*$/;
const listMarker = /^(?:[*+-]|(\d{1,9})[.)])(?=[ \t]|$)/;

/** Reads the blocks of a text in linear time (CommonMark 4 and 5, and tables as in GitHub Flavored Markdown). */
export function readBlocks(text: string): Blocks {
  return new BlockReader(text).read();
}

class BlockReader {
  readonly #line: LineReader;
  readonly #text: string;
  readonly #blocks: Blocks = {
    code: [],
    texts: [],
    html: [],
    hidden: [],
    definitions: new Set(),
    isTooDeep: false,
  };
  readonly #containers: Container[] = [];
  #leaf: Leaf | undefined;

  constructor(text: string) {
    this.#text = text;
    this.#line = new LineReader(text);
  }

  read(): Blocks {
    while (this.#line.advanceLine()) this.#readLine();
    this.#close(0);
    return this.#blocks;
  }

  #readLine(): void {
    const line = this.#line;
    let depth = this.#matched();
    if (depth === this.#containers.length && this.#continuesLeaf()) return;
    // A line that belongs to no open container may still continue a paragraph, until a block begins in it.
    while (line.indent < 4 && !line.isBlank) {
      const isInParagraph = depth === this.#containers.length && this.#leaf?.kind === 'paragraph';
      if (this.#startsContainer(depth, isInParagraph)) {
        depth += 1;
        continue;
      }
      if (this.#startsLeaf(depth, isInParagraph)) return;
      break;
    }
    if (line.isBlank) {
      this.#close(depth);
      return;
    }
    const leaf = this.#leaf;
    const isMatched = depth === this.#containers.length;
    if (leaf?.kind === 'paragraph') {
      if (isMatched && this.#startsTable(leaf)) return;
      leaf.lines.push(this.#rest());
      leaf.isLastIndented = line.indent >= 4;
      return;
    }
    if (isMatched && leaf?.kind === 'table' && line.indent < 4) {
      this.#readRow(this.#rest(), leaf.columns);
      return;
    }
    this.#open(depth);
    if (line.indent >= 4) this.#blocks.code.push(this.#rest());
    else this.#leaf = { kind: 'paragraph', lines: [this.#rest()], isLastIndented: false };
  }

  /** Skips the signs of the open containers in the line. @returns how many of them continue */
  #matched(): number {
    const line = this.#line;
    let depth = 0;
    for (const { indent, isEmpty } of this.#containers) {
      if (indent === quote) {
        if (!this.#skipQuoteSign()) return depth;
      } else if (line.isBlank) {
        if (isEmpty) return depth;
      } else if (line.indent >= indent) line.skipColumns(indent);
      else return depth;
      depth += 1;
    }
    return depth;
  }

  #skipQuoteSign(): boolean {
    const line = this.#line;
    if (line.indent >= 4 || line.isBlank || this.#text[line.next] !== '>') return false;
    line.skipWhiteSpace();
    line.skip(1);
    line.skipColumns(1);
    return true;
  }

  /** Reads a line of a fence or of HTML. */
  #continuesLeaf(): boolean {
    const line = this.#line;
    const leaf = this.#leaf;
    if (leaf?.kind === 'fence') {
      leaf.range.end = line.end;
      const { rest } = line;
      if (line.indent < 4 && rest.startsWith(leaf.marker) && isRun(rest.trimEnd())) this.#closeLeaf();
      return true;
    }
    if (leaf?.kind !== 'html' || (line.isBlank && leaf.block.end === undefined)) return false;
    this.#readHtml(leaf);
    return true;
  }

  #readHtml(leaf: Leaf & { kind: 'html' }): void {
    leaf.lines.push(this.#rest());
    if (leaf.block.end?.test(this.#line.rest)) this.#closeLeaf();
  }

  #startsContainer(depth: number, isInParagraph: boolean): boolean {
    const line = this.#line;
    const sign = this.#text.charCodeAt(line.next);
    if (!mayStartContainer(sign)) return false;
    const isQuote = sign === greaterThan;
    const { rest } = line;
    const [marker, number] = (isQuote ? null : listMarker.exec(rest)) ?? [];
    if (!isQuote) {
      if (marker === undefined || rule.test(rest)) return false;
      // An empty item, and one with another number than 1, do not interrupt a paragraph.
      if (isInParagraph && (rest.length === marker.length || rest.slice(marker.length).trim() === ''))
        return false;
      if (isInParagraph && number !== undefined && Number(number) !== 1) return false;
    }
    if (depth >= depthMax) {
      this.#blocks.isTooDeep = true;
      return false;
    }
    this.#open(depth);
    if (isQuote) {
      this.#skipQuoteSign();
      this.#containers.push({ indent: quote, isEmpty: true });
    } else {
      const { indent } = line;
      line.skipWhiteSpace();
      const { length } = marker ?? '';
      line.skip(length);
      const isCode = line.indent > 4;
      const isEmpty = line.isBlank;
      const padding = isCode || isEmpty ? 1 : line.indent;
      line.skipColumns(padding);
      this.#containers.push({ indent: indent + length + padding, isEmpty: true });
    }
    return true;
  }

  #startsLeaf(depth: number, isInParagraph: boolean): boolean {
    const line = this.#line;
    if (!leafSigns.includes(this.#text[line.next] ?? '')) return false;
    const { rest } = line;
    const marker = fence.exec(rest)?.[0];
    if (marker !== undefined) {
      this.#open(depth);
      const range = { start: line.next, end: line.end };
      this.#blocks.code.push(range);
      this.#leaf = { kind: 'fence', marker, range };
      return true;
    }
    // Also in a paragraph of a container that the line does not belong to.
    const block = htmlBlockAt(rest, this.#leaf?.kind === 'paragraph');
    if (block !== undefined) {
      this.#open(depth);
      const leaf: Leaf = { kind: 'html', block, lines: [] };
      this.#leaf = leaf;
      this.#readHtml(leaf);
      return true;
    }
    const leaf = this.#leaf;
    if (isInParagraph && leaf?.kind === 'paragraph') {
      if (this.#startsTable(leaf)) return true;
      if (underline.test(rest)) {
        leaf.lines = this.#withoutDefinitions(leaf.lines);
        if (leaf.lines.length > 0) {
          this.#closeLeaf();
          return true;
        }
      }
    }
    const isHeading = heading.test(rest);
    if (!isHeading && !rule.test(rest)) return false;
    this.#open(depth);
    if (isHeading) this.#blocks.texts.push([this.#rest()]);
    return true;
  }

  /** Begins a table whose head is the last line of a paragraph. */
  #startsTable({ lines, isLastIndented }: Leaf & { kind: 'paragraph' }): boolean {
    const { rest, indent } = this.#line;
    const head = lines.at(-1);
    if (indent >= 4 || isLastIndented || head === undefined || !isDelimiterRow(rest)) return false;
    const { length: columns } = cellsOf(this.#text, this.#rest());
    if (cellsOf(this.#text, head).length !== columns) return false;
    lines.pop();
    this.#closeLeaf();
    this.#readRow(head, columns);
    this.#leaf = { kind: 'table', columns };
    return true;
  }

  // Cells beyond the columns of the table are not shown.
  #readRow(row: Range, columns: number): void {
    let column = 0;
    for (const cell of cellsOf(this.#text, row)) {
      if (column < columns) this.#blocks.texts.push([cell]);
      else this.#blocks.hidden.push(cell);
      column += 1;
    }
  }

  #rest(): Range {
    return { start: this.#line.next, end: this.#line.end };
  }

  /** Closes what is deeper, because a block begins at a depth. */
  #open(depth: number): void {
    this.#close(depth);
    const parent = this.#containers.at(-1);
    if (parent !== undefined) parent.isEmpty = false;
  }

  #close(depth: number): void {
    this.#closeLeaf();
    if (this.#containers.length > depth) this.#containers.length = depth;
  }

  #closeLeaf(): void {
    const leaf = this.#leaf;
    this.#leaf = undefined;
    if (leaf?.kind === 'html') this.#blocks.html.push(leaf.lines);
    if (leaf?.kind !== 'paragraph') return;
    const lines = this.#withoutDefinitions(leaf.lines);
    if (lines.length > 0) this.#blocks.texts.push(lines);
  }

  /** Takes the definitions of links from the start of a paragraph. */
  #withoutDefinitions(lines: Range[]): Range[] {
    const [first] = lines;
    if (first === undefined || this.#text[first.start] !== '[') return lines;
    const joined = lines.map(({ start, end }) => this.#text.slice(start, end)).join('\n');
    const { labels, lineCount } = definitionsIn(joined);
    for (const label of labels) this.#blocks.definitions.add(label);
    for (const line of lines.slice(0, lineCount)) this.#blocks.hidden.push(line);
    return lines.slice(lineCount);
  }
}

function isRun(text: string): boolean {
  const [sign = ''] = text;
  return text === sign.repeat(text.length);
}
