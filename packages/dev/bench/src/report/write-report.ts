import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import type { BenchReport } from './bench-report.ts';
import { markdown } from './markdown.ts';

const results = new URL('../../results/', import.meta.url);

/** The page with the table of the latest complete run. */
export const benchmarkPage = new URL('../../../../../docs/reference/benchmark.md', import.meta.url);

/**
 * Writes a complete run to results/latest and to the page; a complete run with `--against` to results/against; any other run
 * to results/partial, which git ignores.
 */
export function writeReport(report: BenchReport): void {
  const { only, against, json } = report.options;
  const isComplete = only === undefined && report.failures.length === 0;
  const isLatest = isComplete && against === undefined;
  const name = isLatest ? 'latest' : isComplete ? 'against' : 'partial';
  const text = markdown(report);
  const options = { ...report.options, json: undefined, against: undefined };
  const document = `${JSON.stringify({ ...report, options }, null, 2)}\n`;
  mkdirSync(results, { recursive: true });
  writeFileSync(new URL(`${name}.json`, results), document);
  writeFileSync(new URL(`${name}.md`, results), text);
  if (json !== undefined) writeFileSync(json, document);
  if (isLatest) writeFileSync(benchmarkPage, withSection(readFileSync(benchmarkPage, 'utf8'), 'bench', text));
}

/**
 * Replaces the text between the markers of a section.
 * @throws Error when the markers are missing or in the wrong order
 */
export function withSection(document: string, name: 'bench' | 'sizing', text: string): string {
  const [begin, end] = [`<!-- ${name} -->`, `<!-- /${name} -->`];
  const from = document.indexOf(begin);
  const to = document.indexOf(end);
  if (from === -1 || to < from) throw new Error(`The document needs ${begin} followed by ${end}.`);
  return `${document.slice(0, from + begin.length)}\n\n${text.trim()}\n\n${document.slice(to)}`;
}
