import { spawnSync } from 'node:child_process';
import { availableParallelism, cpus, loadavg } from 'node:os';
import type { BenchOptions } from '../options.ts';
import type { Footprint } from '../run/footprint.ts';
import type { RowSummary } from '../run/summary.ts';

/** The results of a run, in the form of its JSON file. */
export interface BenchReport {
  date: string;
  machine: MachineFacts;
  options: BenchOptions & { cores: number };
  rows: RowSummary[];
  /** Rows that could not be measured, or that had a wrong response. */
  failures: { name: string; problem: string }[];
  footprint: Footprint | undefined;
}

/** The machine and the software of a run. The report is published, so it contains no host name and no path. */
export interface MachineFacts {
  cpu: string;
  cores: number;
  node: string;
  postgres: string | undefined;
  /** The commit of the checkout of `--against`. */
  before: string | undefined;
  /** The load average of the minute before. */
  loadBefore: number;
  /** The share of all cores that other processes took during the run, in percent; undefined without /proc. */
  otherLoadPercent: number | undefined;
}

export function machineFacts(against: string | undefined): MachineFacts {
  return {
    cpu: cpus()[0]?.model.trim() ?? 'unknown',
    cores: availableParallelism(),
    node: process.versions.node,
    postgres: undefined,
    before: against === undefined ? undefined : commitOf(against),
    loadBefore: loadavg()[0] ?? 0,
    otherLoadPercent: undefined,
  };
}

function commitOf(checkout: string): string {
  const { status, stdout } = spawnSync('git', ['-C', checkout, 'rev-parse', '--short=12', 'HEAD'], {
    encoding: 'utf8',
  });
  return status === 0 ? stdout.trim() : 'unknown';
}
