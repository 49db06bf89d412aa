import type { TrackerError } from '../trackers/tracker-error.ts';

const delayMaxSeconds = 3_600;

/** Which attempt has failed, and how long to wait after the first one of all, in seconds. */
interface RetryOptions {
  failures: number;
  firstDelaySeconds: number;
}

/** In how many seconds a failed sync may be tried again: longer after each failure, and never at the same moment as all others. */
export function backoff({ failures, firstDelaySeconds }: RetryOptions, random = Math.random): number {
  const delay = Math.min(delayMaxSeconds, firstDelaySeconds * 2 ** failures);
  return delay * (0.5 + random() / 2);
}

/** The same, not before the tracker wants it; null where time alone does not heal what failed. */
export function retryDelay(error: TrackerError, options: RetryOptions): number | null {
  return error.isTransient ? Math.max(backoff(options), error.retryAfterSeconds ?? 0) : null;
}
