import { ProblemError } from '@tessera/service-kit';
import { failureKinds, type TrackerError } from './tracker-error.ts';

const advices: Partial<Record<string, string>> = {
  tracker_unavailable:
    'The tracker gives no usable response: check TRACKER_URL, the network between this service and the tracker, and its certificate.',
  tracker_timeout: 'The tracker does not respond in time: check TRACKER_URL and the network.',
  tracker_rate_limited:
    'The tracker accepts no requests for a while: wait, or raise its limit. If it did not respond to the last requests, none is sent for TRACKER_BREAK_MS: check TRACKER_URL and the network.',
  tracker_rejected:
    'The tracker rejects the content: `last_messages` of the sync of each issue contains its messages. A response without messages may come from a proxy: check TRACKER_URL.',
  sync_failed: 'An internal error, which the log has.',
  import_failed: 'An internal error, which the log has.',
  identity_unavailable: 'The identity service does not respond, so that assignees cannot be looked up.',
};

/** Returns the advice to operators for an error code. */
export function adviceFor(code: string): string {
  return advices[code] ?? Object.entries(failureKinds).find(([name]) => name === code)?.[1].detail ?? code;
}

/**
 * Returns the problem response to a failed sync. `nextAttemptAt`: the time of the background retry; null if there is
 * none.
 */
export function trackerProblem(error: TrackerError, nextAttemptAt: Date | null): ProblemError {
  const { code, messages, location } = error;
  const { status, detail } = failureKinds[code];
  return new ProblemError({
    status,
    code,
    detail: error.detail ?? detail,
    cause: error,
    ...(messages.length === 0 ? {} : { errors: messages.map((message) => ({ field: 'external', message })) }),
    ...(status === 503
      ? { headers: { 'Retry-After': String(secondsUntilRetry(error, nextAttemptAt)) } }
      : {}),
    members: {
      retry_scheduled: nextAttemptAt !== null,
      next_attempt_at: nextAttemptAt?.toISOString() ?? null,
      ...(code === 'remote_moved' ? { location } : {}),
    },
  });
}

function secondsUntilRetry({ retryAfterSeconds }: TrackerError, nextAttemptAt: Date | null): number {
  if (retryAfterSeconds !== undefined) return retryAfterSeconds;
  const inMs = (nextAttemptAt?.getTime() ?? Date.now() + 60_000) - Date.now();
  return Math.max(1, Math.ceil(inMs / 1000));
}

export function trackerNotConfigured(): ProblemError {
  return new ProblemError({
    status: 409,
    code: 'tracker_not_configured',
    detail: 'No external tracker is configured.',
  });
}
