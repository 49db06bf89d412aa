import { type Footprint, readyWithinMs } from '../run/footprint.ts';
import type { ContenderSummary, RowSummary, Verdict } from '../run/summary.ts';
import type { BenchReport } from './bench-report.ts';

/** The report as Markdown, for the terminal, for the file and for docs/reference/benchmark.md. */
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
  const columns = ['operation', 'contender', 'per second', 'p50 ms', 'p99 ms', 'CPU µs', 'PostgreSQL µs'];
  return table(
    [...columns, 'ratio', 'goal'],
    rows.flatMap((row) => row.contenders.flatMap((one, index) => linesOf(row, one, index))),
  );
}

// A ratio is shown in the line of the contender that Tessera is compared with, a bound in the line of its value.
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
  const bound = goal.kind === 'bound' ? `≤ ${goal.atMost}` : `≥ ${goal.atLeast}`;
  return `${bound} ${isMet ? 'met' : isOutOfReach(verdict) ? 'out of reach' : 'missed'}`;
}

// A goal that cannot be reached is no failure.
function isOutOfReach({ goal, isMet }: Verdict): boolean {
  return isMet === false && goal.kind === 'ratio' && goal.outOfReach !== undefined;
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
      `≤ ${readyWithinMs} ${readyMs <= readyWithinMs ? 'met' : 'missed'}`,
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
  const verdicts = rows.flatMap((row) => row.verdicts);
  const judged = [
    ...verdicts.filter((verdict) => !isOutOfReach(verdict)).map(({ isMet }) => isMet),
    ...(footprint?.services ?? []).map(({ readyMs }) => readyMs <= readyWithinMs),
  ].filter((isMet) => isMet !== undefined);
  const met = judged.filter((isMet) => isMet).length;
  const outOfReach = verdicts.filter(isOutOfReach).length;
  return `${met} of ${judged.length} goals met${outOfReach === 0 ? '' : `; out of reach on this machine: ${outOfReach}`}.`;
}

/** A Markdown table with padded columns, which is readable in a terminal, too. Numbers are aligned to the right. */
export function table(header: readonly string[], rows: readonly (readonly string[])[]): string {
  const isNumeric = header.map((_, column) => column > 0 && rows.every((row) => isNumber(row[column] ?? '')));
  const width = header.map((title, column) =>
    Math.max(3, title.length, ...rows.map((row) => (row[column] ?? '').length)),
  );
  const pad = (cell: string, column: number) =>
    isNumeric[column] ? cell.padStart(width[column] ?? 0) : cell.padEnd(width[column] ?? 0);
  const line = (cells: readonly string[]) =>
    `| ${header.map((_, column) => pad(cells[column] ?? '', column)).join(' | ')} |`;
  const rule = width.map((wide, column) => '-'.repeat(wide - 1) + (isNumeric[column] ? ':' : '-'));
  return [line(header), line(rule), ...rows.map(line)].join('\n');
}

function isNumber(cell: string): boolean {
  return cell === '' || /^[\d.,]+$/.test(cell);
}

/** Formats a number with three significant digits. */
export function round(value: number): string {
  if (value >= 100) return Math.round(value).toLocaleString('en');
  if (value >= 10) return value.toFixed(1);
  return value >= 0.1 || value === 0 ? value.toFixed(2) : value.toPrecision(2);
}
