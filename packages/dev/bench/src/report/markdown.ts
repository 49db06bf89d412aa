import { type Footprint, readyWithinMs } from '../run/footprint.ts';
import type { ContenderSummary, RowSummary, Verdict } from '../run/summary.ts';
import type { BenchReport } from './bench-report.ts';
import { round, table } from './table.ts';

/** The whole report as Markdown: for a terminal, for the file, and for the README. */
export function markdown(report: BenchReport): string {
  const parts = [
    factsLine(report),
    ...(report.rows.length === 0 ? [] : [rowsTable(report.rows)]),
    ...absences(report.rows),
    ...report.failures.map(({ name, problem }) => `**Not measured: ${name}.** ${problem}`),
    ...(report.footprint === undefined ? [] : [footprintTable(report.footprint)]),
    goalsLine(report),
  ];
  return `${parts.join('\n\n')}\n`;
}

function factsLine({ date, machine, options }: BenchReport): string {
  const { cpu, cores, node, postgres, before, loadBefore, otherLoadPercent: other } = machine;
  const database = postgres === undefined ? '' : `, PostgreSQL ${postgres}`;
  const compared = before === undefined ? '' : ` · Tessera before: ${before}`;
  const others = other === undefined ? '' : ` · other load on the machine: ${other.toFixed(1)} %`;
  return (
    `${date.slice(0, 10)} · ${cpu}, ${cores} cores for everything · Node ${node}${database}${compared} · load before ` +
    `${loadBefore.toFixed(2)}${others} · medians of ${options.rounds} interleaved rounds of ${options.seconds} s`
  );
}

function rowsTable(rows: readonly RowSummary[]): string {
  const header = ['path', 'who', 'a second', 'p50 ms', 'p99 ms', 'CPU µs', 'PostgreSQL µs', 'ratio', 'goal'];
  return table(
    header,
    rows.flatMap((row) => row.contenders.flatMap((one, index) => linesOf(row, one, index))),
  );
}

// Our own line comes first; a ratio stands beside whom it is to, a bound beside what it bounds.
function linesOf({ title, verdicts }: RowSummary, one: ContenderSummary, index: number): string[][] {
  const ratio = verdicts.find(({ goal }) => goal.kind === 'ratio' && goal.of === one.name);
  const boundOf = (measure: string) =>
    verdicts.find(
      ({ goal }) =>
        goal.kind === 'bound' &&
        goal.measure === measure &&
        (goal.contender === undefined ? index === 0 : goal.contender === one.name),
    );
  const main = [
    index === 0 ? title : '',
    one.name,
    round(one.perSecond),
    round(one.p50Ms),
    round(one.p99Ms),
    one.cpuMicros === undefined ? '' : round(one.cpuMicros),
    one.databaseCpuMicros === undefined ? '' : round(one.databaseCpuMicros),
    ratio === undefined ? '' : `${round(ratio.value)} ×`,
    goalText(ratio ?? boundOf('cpu µs')),
  ];
  const extras = Object.entries(one.extras).map(([name, value]) => {
    return ['', `… ${name}`, '', '', round(value), '', '', '', goalText(boundOf(name))];
  });
  return [main, ...extras];
}

function goalText(verdict: Verdict | undefined): string {
  if (verdict?.isMet === undefined) return '';
  const { goal, isMet } = verdict;
  const wanted = goal.kind === 'bound' ? `≤ ${goal.atMost}` : `≥ ${goal.atLeast}`;
  return `${wanted} ${isMet ? 'met' : '**not met**'}`;
}

function absences(rows: readonly RowSummary[]): string[] {
  const reasons = new Map(
    rows.flatMap(({ absent }) => absent.map(({ name, reason }) => [name, reason] as const)),
  );
  return [...reasons].map(([name, reason]) => `Left out: ${name} (${reason}).`);
}

function footprintTable({ services, images }: Footprint): string {
  return table(
    ['service', 'ready after ms', 'goal', 'MiB at start', 'MiB after', 'requests between', 'image MB'],
    services.map(({ service, readyMs, rssAtStart, rssAfter, requests }) => [
      service,
      round(readyMs),
      `≤ ${readyWithinMs} ${readyMs <= readyWithinMs ? 'met' : '**not met**'}`,
      round(rssAtStart),
      round(rssAfter),
      requests.toLocaleString('en'),
      imageText(images.find((image) => image.service === service)),
    ]),
  );
}

function imageText(image: Footprint['images'][number] | undefined): string {
  if (image === undefined) return 'unknown';
  return image.isMeasured ? String(image.megabytes) : `base + ${image.megabytes} (not measured here)`;
}

function goalsLine({ rows, footprint }: BenchReport): string {
  const judged = [
    ...rows.flatMap(({ verdicts }) => verdicts.map(({ isMet }) => isMet)),
    ...(footprint?.services ?? []).map(({ readyMs }) => readyMs <= readyWithinMs),
  ].filter((isMet) => isMet !== undefined);
  const met = judged.filter((isMet) => isMet).length;
  return `${met} of ${judged.length} goals met.`;
}
