import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import type { BenchReport } from './bench-report.ts';
import { markdown } from './markdown.ts';

const results = new URL('../../results/', import.meta.url);
const readmeFile = new URL('../../../../../README.md', import.meta.url);

/**
 * Writes a complete run to results/latest, which the root README shows; a complete run with `--against` to results/against;
 * any other run to results/partial, which git ignores.
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
  if (isLatest) writeFileSync(readmeFile, withSection(readFileSync(readmeFile, 'utf8'), 'bench', text));
}

/**
 * Replaces the text between the markers of a section.
 * @throws Error when the markers are missing or in the wrong order
 */
export function withSection(readme: string, name: 'bench' | 'sizing', text: string): string {
  const [begin, end] = [`<!-- ${name} -->`, `<!-- /${name} -->`];
  const from = readme.indexOf(begin);
  const to = readme.indexOf(end);
  if (from === -1 || to < from) throw new Error(`README.md needs ${begin} followed by ${end}`);
  return `${readme.slice(0, from + begin.length)}\n\n${text.trim()}\n\n${readme.slice(to)}`;
}
