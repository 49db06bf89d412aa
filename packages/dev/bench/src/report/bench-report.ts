import type { BenchOptions } from '../options.ts';
import type { Footprint } from '../run/footprint.ts';
import type { RowSummary } from '../run/summary.ts';
import type { MachineFacts } from './machine.ts';

/** What the bench found, as its JSON has it. */
export interface BenchReport {
  date: string;
  machine: MachineFacts;
  options: BenchOptions & { cores: number };
  rows: RowSummary[];
  /** Rows that could not be measured, or whose answers were wrong. */
  failures: { name: string; problem: string }[];
  footprint: Footprint | undefined;
}
