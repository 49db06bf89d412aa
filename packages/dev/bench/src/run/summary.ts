import type { Absence, Goal, Sample } from './sample.ts';
import { median, medianRatio } from './statistics.ts';

/** All rounds of one contender. */
export interface Measured {
  name: string;
  samples: Sample[];
}

/** A contender's medians. */
export interface ContenderSummary {
  name: string;
  perSecond: number;
  /** What `perSecond` is the median of, so that anyone can see how steady it was. */
  perSecondByRound: number[];
  p50Ms: number;
  p99Ms: number;
  /** Of the server, an operation. */
  cpuMicros: number | undefined;
  /** Of PostgreSQL, an operation. */
  databaseCpuMicros: number | undefined;
  extras: Record<string, number>;
}

/** A goal and how it came out; `isMet` is undefined for what is not judged. */
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

/** What {@link summarize} looks at: the rounds of every contender, the row's own first. */
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
    const value = judgedValue(goal, measured, contenders);
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
  what: 'serverCpuMicros' | 'databaseCpuMicros',
): number | undefined {
  const costs = samples.flatMap((sample) => {
    const micros = sample[what];
    return micros === undefined || sample.operations === 0 ? [] : [micros / sample.operations];
  });
  return costs.length === 0 ? undefined : median(costs);
}

// Undefined where the goal speaks of somebody who was not measured.
function judgedValue(
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
