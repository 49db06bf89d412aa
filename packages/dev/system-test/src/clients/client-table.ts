import { readFileSync, writeFileSync } from 'node:fs';
import type { Outcome, Step } from './outcome.ts';

/** The outcomes with the default settings, and with both options changed. */
export interface Outcomes {
  byDefault: readonly Outcome[];
  withOptions: readonly Outcome[];
}

/** The rows of the table, and the lines that they refer to by number. */
export interface ClientTable {
  rows: string[][];
  lines: string[];
}

const heading = [
  'client',
  'discovery',
  'sign-in',
  'refresh, `off`',
  'refresh, `on`',
  'verification, `at+jwt`',
  'verification, `JWT`',
];

export function createTable({ byDefault, withOptions }: Outcomes): ClientTable {
  const lines: string[] = [];
  const cell = (outcomes: readonly Outcome[], client: string, step: Step): string => {
    const outcome = outcomes.find((candidate) => candidate.client === client && candidate.step === step);
    if (outcome === undefined) return '–';
    if (outcome.line === undefined) return outcome.error === undefined ? 'works' : 'no';
    if (!lines.includes(outcome.line)) lines.push(outcome.line);
    return `line ${lines.indexOf(outcome.line) + 1}`;
  };
  // The settings do not concern these steps.
  const cellOfBoth = (client: string, step: Step): string => {
    const [one, other] = [cell(byDefault, client, step), cell(withOptions, client, step)];
    return one === other ? one : `${one}, ${other}`;
  };
  const clients = [...new Set(byDefault.map(({ client }) => client))];
  const rows = clients.map((client) => [
    client,
    cellOfBoth(client, 'discovery'),
    cellOfBoth(client, 'signIn'),
    cell(byDefault, client, 'refresh'),
    cell(withOptions, client, 'refresh'),
    cell(byDefault, client, 'verification'),
    cell(withOptions, client, 'verification'),
  ]);
  return { rows, lines };
}

export function toMarkdown({ rows, lines }: ClientTable): string {
  const widths = heading.map((title, column) =>
    Math.max(...[heading, ...rows].map((row) => (row[column] ?? title).length)),
  );
  const toLine = (cells: readonly string[]) =>
    `| ${cells.map((text, column) => text.padEnd(widths[column] ?? 0)).join(' | ')} |`;
  const table = [heading, widths.map((width) => '-'.repeat(width)), ...rows].map(toLine);
  const numbered = lines.map((line, index) => `${index + 1}  ${line}`);
  return [...table, '', '```text', ...numbered, '```'].join('\n');
}

/** The table in docs/identity/clients.md. */
export class PageTable {
  readonly #file = new URL('../../../../../docs/identity/clients.md', import.meta.url);
  readonly #pattern = /(?<=<!-- clients -->\n\n).*(?=\n\n<!-- \/clients -->)/s;

  read(): ClientTable {
    const [block = ''] = this.#pattern.exec(readFileSync(this.#file, 'utf8')) ?? [];
    const rows = [...block.matchAll(/^\| (.*) \|$/gm)].map(([, cells = '']) =>
      cells.split(' | ').map((text) => text.trim()),
    );
    const lines = [...block.matchAll(/^\d+ {2}(.*)$/gm)].map(([, line = '']) => line);
    return { rows: rows.slice(2), lines };
  }

  write(table: ClientTable): void {
    const page = readFileSync(this.#file, 'utf8');
    writeFileSync(
      this.#file,
      page.replace(this.#pattern, () => toMarkdown(table)),
    );
  }
}
