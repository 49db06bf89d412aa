import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { withSection } from '../report/write-report.ts';
import type { SizingResults } from './measurements.ts';
import { sizingSection } from './sizing-report.ts';

const results = new URL('../../results/', import.meta.url);
const pageFile = new URL('../../../../../docs/reference/sizing.md', import.meta.url);

/** The results that docs/reference/sizing.md shows. */
export const latestFile = new URL('sizing.json', results);

/** Writes a complete run, and docs/reference/sizing.md; any other run to results/partial.sizing.json, which git ignores. */
export function writeSizing(report: SizingResults, isComplete: boolean): void {
  mkdirSync(results, { recursive: true });
  const file = isComplete ? latestFile : new URL('partial.sizing.json', results);
  writeFileSync(file, `${JSON.stringify(report, null, 2)}\n`);
  if (isComplete) writePage(report);
}

export function writePage(report: SizingResults): void {
  writeFileSync(pageFile, withSection(readFileSync(pageFile, 'utf8'), 'sizing', sizingSection(report)));
}
