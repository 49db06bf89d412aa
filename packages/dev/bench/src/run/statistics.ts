/** The middle one, or the mean of the two in the middle. @throws RangeError when there is none */
export function median(values: readonly number[]): number {
  const sorted = [...values].sort((left, right) => left - right);
  const middle = sorted.length / 2;
  const [lower, upper] = [sorted[Math.ceil(middle) - 1], sorted[Math.floor(middle)]];
  if (lower === undefined || upper === undefined) throw new RangeError('the median of nothing');
  return (lower + upper) / 2;
}

/**
 * How one stands to another: the median of the rounds' ratios. What disturbs the machine in one round disturbs both, so
 * that this is steadier than the ratio of two medians.
 */
export function medianRatio(ours: readonly number[], theirs: readonly number[]): number {
  if (ours.length !== theirs.length) throw new RangeError('the rounds of both must be the same');
  return median(ours.map((value, round) => value / (theirs[round] ?? Number.NaN)));
}

/** The order of a round: each contender comes first in turn. */
export function rotated<Item>(items: readonly Item[], round: number): Item[] {
  const shift = items.length === 0 ? 0 : round % items.length;
  return [...items.slice(shift), ...items.slice(0, shift)];
}
