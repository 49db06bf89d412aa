import { isRetried, type TrackerError } from '../trackers/tracker-error.ts';

const delayMaxSeconds = 3_600;

/** Which attempt has failed, and how long to wait after the first one of all, in seconds. */
interface RetryOptions {
  failures: number;
  firstDelaySeconds: number;
}

/**
 * In how many seconds a failed sync is tried again: longer after each failure, up to an hour, and never at the same
 * moment as all the others; not before the tracker wants it. Null where time alone does not heal it.
 */
export function retryDelay(
  error: TrackerError,
  { failures, firstDelaySeconds }: RetryOptions,
  random = Math.random,
): number | null {
  if (!isRetried(error)) return null;
  const delay = Math.min(delayMaxSeconds, firstDelaySeconds * 2 ** failures);
  return Math.max(delay * (0.5 + random() / 2), error.retryAfterSeconds ?? 0);
}
