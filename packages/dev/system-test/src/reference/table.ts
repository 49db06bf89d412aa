/** A Markdown table as the formatter leaves it: each column is as wide as its widest cell. */
export function table(header: readonly string[], rows: readonly (readonly string[])[]): string {
  const cells = [header, ...rows].map((row) => row.map((cell) => cell.replaceAll('|', '\\|')));
  const widths = header.map((_, column) => Math.max(3, ...cells.map((row) => (row[column] ?? '').length)));
  const lines = cells.map(
    (row) => `| ${widths.map((width, at) => (row[at] ?? '').padEnd(width)).join(' | ')} |`,
  );
  const rule = `| ${widths.map((width) => '-'.repeat(width)).join(' | ')} |`;
  return [lines[0], rule, ...lines.slice(1)].join('\n');
}

/** Inline code; nothing for nothing. */
export const code = (text: string) => (text === '' ? '' : `\`${text}\``);
export const codes = (texts: readonly string[]) => texts.map(code).join(', ');
