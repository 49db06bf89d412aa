import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import type { BenchReport } from './bench-report.ts';
import { markdown } from './markdown.ts';
import { withBench } from './readme.ts';

const results = new URL('../../results/', import.meta.url);
const readme = new URL('../../../../../README.md', import.meta.url);

/**
 * Keeps the results: a whole run as the latest, which the README shows; a part as `partial`, which git does not keep.
 * @param json where else the JSON shall be
 */
export function writeReport(report: BenchReport, json: string | undefined): void {
  const isWhole = report.options.only === undefined && report.failures.length === 0;
  const name = isWhole ? 'latest' : 'partial';
  const text = markdown(report);
  const document = `${JSON.stringify({ ...report, options: { ...report.options, json: undefined } }, null, 2)}\n`;
  mkdirSync(results, { recursive: true });
  writeFileSync(new URL(`${name}.json`, results), document);
  writeFileSync(new URL(`${name}.md`, results), text);
  if (json !== undefined) writeFileSync(json, document);
  if (isWhole) writeFileSync(readme, withBench(readFileSync(readme, 'utf8'), text));
}
