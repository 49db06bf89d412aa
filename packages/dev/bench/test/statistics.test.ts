import { describe, expect, it } from '@jest/globals';
import { rotated } from '../src/run/measure-row.ts';
import { median, medianRatio } from '../src/run/statistics.ts';

describe('statistics', () => {
  it('takes the middle, or the mean of the two in the middle, in whatever order they come', () => {
    expect(median([3])).toBe(3);
    expect(median([10, 1, 2])).toBe(2);
    expect(median([4, 1, 3, 100])).toBe(3.5);
    expect(() => median([])).toThrow(RangeError);
  });

  it('compares round by round: a slow round of both does not change the ratio', () => {
    expect(medianRatio([200, 20, 200], [100, 10, 100])).toBe(2);
    // The ratio of the medians would be 1.
    expect(medianRatio([10, 20, 30], [5, 30, 20])).toBe(1.5);
    expect(() => medianRatio([1], [1, 2])).toThrow(RangeError);
  });
});

describe('the order of a round', () => {
  it('lets each contender come first in turn, and loses none', () => {
    expect([0, 1, 2, 3].map((round) => rotated(['a', 'b', 'c'], round).join(''))).toEqual([
      'abc',
      'bca',
      'cab',
      'abc',
    ]);
    expect(rotated([], 3)).toEqual([]);
  });
});
