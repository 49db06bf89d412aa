import type { Absence, Goal, Sample } from './sample.ts';

/** All rounds of one contender. */
export interface Measured {
  name: string;
  samples: Sample[];
}

/** The medians of a contender. */
export interface ContenderSummary {
  name: string;
  perSecond: number;
  /** The values that `perSecond` is the median of, which show how much they vary. */
  perSecondByRound: number[];
  p50Ms: number;
  p99Ms: number;
  /** Processor time of the server for each operation. */
  cpuMicros: number | undefined;
  /** Processor time of PostgreSQL for each operation. */
  databaseCpuMicros: number | undefined;
  extras: Record<string, number>;
}

/** The result of a goal; `isMet` is undefined for a goal without a bound. */
export interface Verdict {
  goal: Goal;
  value: number;
  isMet: boolean | undefined;
}

export interface RowSummary {
  name: string;
  title: string;
  contenders: ContenderSummary[];
  verdicts: Verdict[];
  absent: Absence[];
}

/** The rounds of every contender of a row, Tessera's first. */
export interface MeasuredRow {
  name: string;
  title: string;
  measured: Measured[];
  goals: readonly Goal[];
  absent: Absence[];
}

export function summarize({ name, title, measured, goals, absent }: MeasuredRow): RowSummary {
  const contenders = measured.map(summarizeContender);
  const verdicts = goals.flatMap((goal) => {
    const value = measuredValue(goal, measured, contenders);
    return value === undefined ? [] : [{ goal, value, isMet: isMet(goal, value) }];
  });
  return { name, title, contenders, verdicts, absent };
}

function summarizeContender({ name, samples }: Measured): ContenderSummary {
  const extras = Object.keys(samples[0]?.extras ?? {});
  return {
    name,
    perSecond: median(samples.map(perSecond)),
    perSecondByRound: samples.map(perSecond),
    p50Ms: median(samples.map(({ p50Ms }) => p50Ms)),
    p99Ms: median(samples.map(({ p99Ms }) => p99Ms)),
    cpuMicros: medianPerOperation(samples, 'serverCpuMicros'),
    databaseCpuMicros: medianPerOperation(samples, 'databaseCpuMicros'),
    extras: Object.fromEntries(
      extras.map((extra) => [extra, median(samples.map((sample) => sample.extras?.[extra] ?? Number.NaN))]),
    ),
  };
}

function perSecond({ operations, seconds }: Sample): number {
  return operations / seconds;
}

function medianPerOperation(
  samples: readonly Sample[],
  time: 'serverCpuMicros' | 'databaseCpuMicros',
): number | undefined {
  const costs = samples.flatMap((sample) => {
    const micros = sample[time];
    return micros === undefined || sample.operations === 0 ? [] : [micros / sample.operations];
  });
  return costs.length === 0 ? undefined : median(costs);
}

// Undefined when the contender of the goal was not measured.
function measuredValue(
  goal: Goal,
  measured: readonly Measured[],
  contenders: readonly ContenderSummary[],
): number | undefined {
  if (goal.kind === 'bound') {
    const one = contenders.find(({ name }) => name === goal.contender) ?? contenders[0];
    return goal.measure === 'cpu µs' ? one?.cpuMicros : one?.extras[goal.measure];
  }
  const [ours] = measured;
  const theirs = measured.find(({ name }) => name === goal.of);
  if (ours === undefined || theirs === undefined) return undefined;
  return medianRatio(ours.samples.map(perSecond), theirs.samples.map(perSecond));
}

function isMet(goal: Goal, value: number): boolean | undefined {
  if (goal.kind === 'bound') return value <= goal.atMost;
  return goal.atLeast === undefined ? undefined : value >= goal.atLeast;
}

/** The middle value, or the mean of the two middle values. @throws RangeError for an empty list */
export function median(values: readonly number[]): number {
  const sorted = [...values].sort((left, right) => left - right);
  const middle = sorted.length / 2;
  const [lower, upper] = [sorted[Math.ceil(middle) - 1], sorted[Math.floor(middle)]];
  if (lower === undefined || upper === undefined) throw new RangeError('an empty list has no median');
  return (lower + upper) / 2;
}

/**
 * The median of the rounds' ratios. A disturbance of one round affects both values of its ratio, so this varies less than
 * the ratio of two medians.
 */
export function medianRatio(ours: readonly number[], theirs: readonly number[]): number {
  if (ours.length !== theirs.length) throw new RangeError('both must have the same number of rounds');
  return median(ours.map((value, round) => value / (theirs[round] ?? Number.NaN)));
}
