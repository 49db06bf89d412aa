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
