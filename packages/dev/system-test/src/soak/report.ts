import type { Measurement, ProcessMeasurement } from './measurement.ts';
import type { Tally } from './tally.ts';

const print = (line: string) => process.stdout.write(`${line}\n`);

/** Prints one line of progress. */
export function printProgress(
  seconds: number,
  tally: Tally,
  { processes, databaseConnections }: Measurement,
) {
  const held = processes.map(
    ({ name, rss, heap, handles }) => `${name} ${rss.toFixed(0)}/${heap.toFixed(0)} MiB ${handles} fds`,
  );
  const { identity, issues } = databaseConnections;
  print(
    `${String(seconds).padStart(5)} s | ${tally.total} requests, ${tally.unexpected} unexpected | ` +
      `rss/heap ${held.join(', ')} | database ${identity}+${issues}`,
  );
}

/** Prints each process's values after the first minute and at the end, and all responses. */
export function printReport(baseline: Measurement, end: Measurement, tally: Tally): void {
  print('\nprocess      | RSS MiB      | heap MiB     | handles      | sockets');
  for (const after of end.processes) {
    const before = baseline.processes.find(({ name }) => name === after.name);
    if (before === undefined) continue;
    const change = (what: keyof Omit<ProcessMeasurement, 'name'>) =>
      `${before[what].toFixed(0)} -> ${after[what].toFixed(0)}`.padEnd(12);
    const cells = [change('rss'), change('heap'), change('handles'), change('sockets')];
    print(`${after.name.padEnd(12)} | ${cells.join(' | ')}`);
  }
  for (const name of ['identity', 'issues'] as const) {
    const [before, after] = [baseline.databaseConnections[name], end.databaseConnections[name]];
    print(`database connections of ${name}: ${before} -> ${after}`);
  }
  print(`\n${tally.total} requests`);
  for (const line of tally.lines()) print(`  ${line}`);
}

/** Prints the problems, or that there are none. */
export function printVerdict(problems: readonly string[]): void {
  if (problems.length === 0) print('\nAll values are within their limits. No response was unexpected.');
  for (const problem of problems) print(`\nPROBLEM: ${problem}`);
}
