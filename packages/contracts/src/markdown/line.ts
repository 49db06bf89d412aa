/** A part of a text. */
export interface Range {
  readonly start: number;
  readonly end: number;
}

/** Returns a test for places in ranges. Call it for ascending places. */
export function testOf(ranges: readonly Range[]): (at: number) => boolean {
  let next = 0;
  return (at) => {
    while ((ranges[next]?.end ?? at + 1) <= at) next += 1;
    return (ranges[next]?.start ?? at + 1) <= at;
  };
}

const tab = 9;
const space = 32;

/** Reads the lines of a text with the columns of CommonMark 2.2, where a tab extends to a multiple of four. */
export class LineReader {
  readonly text: string;
  /** The place that is read next. */
  at = 0;
  /** The end of the line, without its line break. */
  end = 0;
  /** The first place that is not white space, from `at`. */
  next = 0;
  /** The number of columns of white space from `at` to `next`. */
  indent = 0;
  #start = 0;
  #column = 0;
  #nextColumn = 0;
  #following = 0;

  constructor(text: string) {
    this.text = text;
  }

  get isBlank(): boolean {
    return this.next === this.end;
  }

  get rest(): string {
    return this.text.slice(this.next, this.end);
  }

  /** Goes to the next line. @returns whether there is one */
  advanceLine(): boolean {
    if (this.#following >= this.text.length) return false;
    this.#start = this.#following;
    this.at = this.#start;
    this.#column = 0;
    let end = this.#start;
    for (; end < this.text.length; end += 1) {
      const code = this.text.charCodeAt(end);
      if (code === 10 || code === 13) break;
    }
    this.end = end;
    this.#following = end + (this.text.startsWith('\r\n', end) ? 2 : 1);
    this.look();
    return true;
  }

  /** Finds the next place that is not white space. */
  look(): void {
    let place = this.at;
    let column = this.#column;
    for (; place < this.end; place += 1) {
      const code = this.text.charCodeAt(place);
      if (code === tab) column += 4 - (column % 4);
      else if (code === space) column += 1;
      else break;
    }
    this.next = place;
    this.#nextColumn = column;
    this.indent = column - this.#column;
  }

  skipWhiteSpace(): void {
    this.at = this.next;
    this.#column = this.#nextColumn;
    this.indent = 0;
  }

  /** Skips characters that are not tabs. */
  skip(characters: number): void {
    this.at += characters;
    this.#column += characters;
    this.look();
  }

  /** Skips columns of white space; a tab may be skipped in part. */
  skipColumns(columns: number): void {
    let left = columns;
    while (left > 0 && this.at < this.next) {
      if (this.text.charCodeAt(this.at) === tab) {
        const width = 4 - (this.#column % 4);
        if (width <= left) this.at += 1;
        this.#column += Math.min(width, left);
        left -= Math.min(width, left);
      } else {
        this.at += 1;
        this.#column += 1;
        left -= 1;
      }
    }
    this.indent = this.#nextColumn - this.#column;
  }
}
