import { availableParallelism } from 'node:os';
import { Lab } from '../lab/lab.ts';
import { watchOtherLoad } from '../load/process-usage.ts';
import { type BenchOptions, isSelected } from '../options.ts';
import { type BenchReport, machineFacts } from '../report/bench-report.ts';
import { footprintName, rowsFor } from '../rows/rows.ts';
import { measureFootprint } from './footprint.ts';
import { measureRow } from './measure-row.ts';
import { Progress } from './progress.ts';
import { summarize } from './summary.ts';

/**
 * Measures every selected row and the footprint. A failure is reported, and the other rows are still measured.
 * @param signal stops the bench early
 */
export async function runBench(options: BenchOptions, signal: AbortSignal): Promise<BenchReport> {
  const report: BenchReport = {
    date: new Date().toISOString(),
    machine: machineFacts(options.against),
    options: { ...options, cores: availableParallelism() },
    rows: [],
    failures: [],
    footprint: undefined,
  };
  const plans = rowsFor(options);
  const progress = new Progress(plans.length);
  const lab = new Lab(options, (text) => {
    // Every long step begins with a note, so this prevents the next one.
    signal.throwIfAborted();
    progress.note(text);
  });
  const interrupted = new Promise<never>((_resolve, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason));
  });
  // Rows race against it. Between rows its rejection is not an error.
  interrupted.catch(() => undefined);
  const attempt = async (name: string, action: () => Promise<void>) => {
    if (signal.aborted) return;
    try {
      await action();
    } catch (error) {
      const problem = error instanceof Error ? error.message : String(error);
      if (!signal.aborted) report.failures.push({ name, problem });
    }
  };
  let otherLoad = (): number | undefined => undefined;
  try {
    await attempt('PostgreSQL', async () => {
      report.machine.postgres = await lab.postgresVersion();
      otherLoad = watchOtherLoad([process.pid, (await lab.postmaster()) ?? process.pid]);
    });
    for (const plan of plans) {
      progress.startRow();
      await attempt(plan.name, async () => {
        report.rows.push(summarize(await measureRow(plan, lab, interrupted)));
      });
    }
    const { only, against } = options;
    if (isSelected(footprintName, only) && (only !== undefined || against === undefined)) {
      await attempt(footprintName, async () => {
        report.footprint = await measureFootprint(lab, signal);
      });
    }
    // The processor time of a process can be read only while the process runs.
    report.machine.otherLoadPercent = otherLoad();
  } finally {
    progress.note('stopping');
    await lab.close();
    progress.end();
  }
  return report;
}
