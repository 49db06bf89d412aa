import { describe, expect, it } from '@jest/globals';
import { rotated } from '../src/run/measure-row.ts';
import type { Goal, Sample } from '../src/run/sample.ts';
import { median, medianRatio, summarize } from '../src/run/summary.ts';

function sample(operations: number, more: Partial<Sample> = {}): Sample {
  return { operations, seconds: 2, p50Ms: 1, p99Ms: 5, serverCpuMicros: operations * 100, ...more };
}

function summaryOf(goals: Goal[], samples: Record<string, Sample[]>) {
  const measured = Object.entries(samples).map(([name, all]) => ({ name, samples: all }));
  return summarize({ name: 'row', title: 'A row', measured, goals, absent: [] });
}

describe('the summary of a row', () => {
  it('has the medians of the rounds, and the processor time for each operation', () => {
    const { contenders } = summaryOf([], {
      us: [sample(10, { databaseCpuMicros: 50 }), sample(30, { databaseCpuMicros: 30 }), sample(20)],
    });
    expect(contenders[0]).toMatchObject({ perSecond: 10, cpuMicros: 100, databaseCpuMicros: 3, p99Ms: 5 });
  });

  it('judges each goal by the ratio of the rounds', () => {
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

  it('judges bounds of extras and of processor time', () => {
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

  it('omits a goal whose reference was not measured', () => {
    expect(summaryOf([{ kind: 'ratio', of: 'Redmine', atLeast: 30 }], { us: [sample(1)] }).verdicts).toEqual(
      [],
    );
  });
});

describe('statistics', () => {
  it('the median is the middle value, or the mean of the two middle values, in any order', () => {
    expect(median([3])).toBe(3);
    expect(median([10, 1, 2])).toBe(2);
    expect(median([4, 1, 3, 100])).toBe(3.5);
    expect(() => median([])).toThrow(RangeError);
  });

  it('the median ratio compares round by round: a round that is slow for both does not change it', () => {
    expect(medianRatio([200, 20, 200], [100, 10, 100])).toBe(2);
    // The ratio of the medians would be 1.
    expect(medianRatio([10, 20, 30], [5, 30, 20])).toBe(1.5);
    expect(() => medianRatio([1], [1, 2])).toThrow(RangeError);
  });
});

describe('the order of a round', () => {
  it('lets each contender come first in turn, and omits none', () => {
    expect([0, 1, 2, 3].map((round) => rotated(['a', 'b', 'c'], round).join(''))).toEqual([
      'abc',
      'bca',
      'cab',
      'abc',
    ]);
    expect(rotated([], 3)).toEqual([]);
  });
});
