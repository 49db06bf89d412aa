import type { Range } from './line.ts';

// GitHub Flavored Markdown 4.10: tables.

const verticalBar = 124;
const backslash = 92;
const delimiterRow = /^\|?[ \t]*:?-+:?[ \t]*(?:\|[ \t]*:?-+:?[ \t]*)*\|?[ \t]*$/;

/** Whether a line separates the head of a table from its rows. */
export function isDelimiterRow(line: string): boolean {
  return /[|:]/.test(line) && delimiterRow.test(line);
}

/** Returns the cells of a row of a table: `|` separates them, unless a backslash is before it. */
export function cellsOf(text: string, row: Range): Range[] {
  const cells: Range[] = [];
  let { start, end } = row;
  while (end > start && text.charCodeAt(end - 1) <= 32) end -= 1;
  if (text.charCodeAt(start) === verticalBar) start += 1;
  for (let place = start; place < end; place += 1) {
    const sign = text.charCodeAt(place);
    if (sign === backslash) place += 1;
    else if (sign === verticalBar) {
      cells.push({ start, end: place });
      start = place + 1;
    }
  }
  if (start < end) cells.push({ start, end });
  return cells;
}
