/** A Markdown table whose columns line up, so that it reads as well in a terminal; numbers stand to the right. */
export function table(header: readonly string[], rows: readonly (readonly string[])[]): string {
  const isNumeric = header.map((_, column) => column > 0 && rows.every((row) => isNumber(row[column] ?? '')));
  const width = header.map((title, column) =>
    Math.max(3, title.length, ...rows.map((row) => (row[column] ?? '').length)),
  );
  const line = (cells: readonly string[]) =>
    `| ${width.map((wide, column) => pad(cells[column] ?? '', wide, isNumeric[column])).join(' | ')} |`;
  const rule = width.map((wide, column) => '-'.repeat(wide - 1) + (isNumeric[column] ? ':' : '-'));
  return [line(header), line(rule), ...rows.map(line)].join('\n');
}

function pad(cell: string, wide: number, isNumeric: boolean | undefined): string {
  return isNumeric ? cell.padStart(wide) : cell.padEnd(wide);
}

function isNumber(cell: string): boolean {
  return cell === '' || /^[\d.,]+$/.test(cell);
}

/** A number with three digits that mean something. */
export function round(value: number): string {
  if (value >= 100) return Math.round(value).toLocaleString('en');
  if (value >= 10) return value.toFixed(1);
  return value >= 0.1 || value === 0 ? value.toFixed(2) : value.toPrecision(2);
}
