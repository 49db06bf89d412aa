import { describe, expect, it } from '@jest/globals';
import type { Goal, Sample } from '../src/run/sample.ts';
import { summarize } from '../src/run/summary.ts';

function sample(operations: number, more: Partial<Sample> = {}): Sample {
  return { operations, seconds: 2, p50Ms: 1, p99Ms: 5, serverCpuMicros: operations * 100, ...more };
}

function summaryOf(goals: Goal[], samples: Record<string, Sample[]>) {
  const measured = Object.entries(samples).map(([name, all]) => ({ name, samples: all }));
  return summarize({ name: 'row', title: 'A row', measured, goals, absent: [] });
}

describe('the summary of a row', () => {
  it('has medians over the rounds, and costs for each operation', () => {
    const { contenders } = summaryOf([], {
      us: [sample(10, { databaseCpuMicros: 50 }), sample(30, { databaseCpuMicros: 30 }), sample(20)],
    });
    expect(contenders[0]).toMatchObject({ perSecond: 10, cpuMicros: 100, databaseCpuMicros: 3, p99Ms: 5 });
  });

  it('says of each goal whether it is met, by the ratio of the rounds', () => {
    const { verdicts } = summaryOf(
      [
        { kind: 'ratio', of: 'them', atLeast: 2 },
        { kind: 'ratio', of: 'others', atLeast: 2 },
        { kind: 'ratio', of: 'unjudged' },
      ],
      {
        us: [sample(20), sample(40)],
        them: [sample(10), sample(20)],
        others: [sample(11), sample(21)],
        unjudged: [sample(1), sample(1)],
      },
    );
    expect(verdicts.map(({ isMet }) => isMet)).toEqual([true, false, undefined]);
    expect(verdicts[0]?.value).toBe(2);
  });

  it('judges bounds by what was measured beside, and by the cost', () => {
    const goals: Goal[] = [
      { kind: 'bound', measure: 'JWKS p99 ms', atMost: 30 },
      { kind: 'bound', measure: 'cpu µs', contender: 'them', atMost: 99 },
    ];
    const extras = (ms: number) => ({ extras: { 'JWKS p99 ms': ms } });
    const { verdicts } = summaryOf(goals, {
      us: [sample(1, extras(10)), sample(1, extras(500)), sample(1, extras(30))],
      them: [sample(1), sample(1), sample(1)],
    });
    expect(verdicts.map(({ value, isMet }) => [value, isMet])).toEqual([
      [30, true],
      [100, false],
    ]);
  });

  it('says nothing of a goal whose reference was not measured', () => {
    expect(summaryOf([{ kind: 'ratio', of: 'Redmine', atLeast: 30 }], { us: [sample(1)] }).verdicts).toEqual(
      [],
    );
  });
});
