import { availableParallelism } from 'node:os';
import { Lab } from '../lab/lab.ts';
import { watchOtherLoad } from '../load/other-load.ts';
import { type BenchOptions, isSelected } from '../options.ts';
import type { BenchReport } from '../report/bench-report.ts';
import { machineFacts } from '../report/machine.ts';
import { footprintName, rowsFor } from '../rows/rows.ts';
import { measureFootprint } from './footprint.ts';
import { expectedContenders, measureRow } from './measure-row.ts';
import { Progress } from './progress.ts';
import { summarize } from './summary.ts';

/**
 * The whole bench. A row that fails is told of, and the others go on.
 * @param signal ends it before its time
 */
export async function runBench(options: BenchOptions, signal: AbortSignal): Promise<BenchReport> {
  const machine = machineFacts();
  const plans = rowsFor(options.rows).filter(({ name }) => isSelected(name, options.only));
  const total = plans.reduce((sum, plan) => sum + expectedContenders(plan) * options.rounds, 0);
  const progress = new Progress(total);
  const lab = new Lab(options, (text) => {
    // What takes long is not begun any more.
    signal.throwIfAborted();
    progress.note(text);
  });
  const interrupted = new Promise<never>((_resolve, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason));
  });
  // It matters only to what waits for it.
  interrupted.catch(() => undefined);
  const report: BenchReport = {
    date: new Date().toISOString(),
    machine,
    options: { ...options, cores: availableParallelism() },
    rows: [],
    failures: [],
    footprint: undefined,
  };
  const attempt = async (name: string, action: () => Promise<void>) => {
    if (signal.aborted) return;
    try {
      await action();
    } catch (error) {
      if (!signal.aborted) report.failures.push({ name, problem: messageOf(error) });
    }
  };
  let otherLoad = (): number | undefined => undefined;
  try {
    await attempt('PostgreSQL', async () => {
      machine.postgres = await lab.postgresVersion();
      otherLoad = watchOtherLoad([process.pid, (await lab.postmaster()) ?? process.pid]);
    });
    for (const plan of plans) {
      await attempt(plan.name, async () => {
        report.rows.push(summarize(await measureRow(plan, lab, { progress, interrupted })));
      });
    }
    if (isSelected(footprintName, options.only)) {
      await attempt(footprintName, async () => {
        report.footprint = await measureFootprint(lab, signal);
      });
    }
    // Before anybody ends, and what it did with it.
    machine.otherLoadPercent = otherLoad();
  } finally {
    progress.note('stopping everything');
    await lab.close();
    progress.end();
  }
  return report;
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
