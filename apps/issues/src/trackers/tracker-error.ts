import { ProblemError } from '@tessera/service-kit';

/**
 * What went wrong with a tracker. `unavailable`: no answer, or none that can be used; `timeout`: none in time;
 * `rate_limited`: it wants to be left alone; `credentials`: it refuses ours, or shows us no such project; `rejected`: it
 * refuses what was sent; `gone`, `moved`: the issue; `stale`: somebody was faster; `unsettled`: an earlier attempt to
 * create may still come to light; `claim_lost`: the sync took longer than it may, and another one may have begun.
 */
export type TrackerFailure =
  | 'unavailable'
  | 'timeout'
  | 'rate_limited'
  | 'credentials'
  | 'rejected'
  | 'gone'
  | 'moved'
  | 'stale'
  | 'unsettled'
  | 'claim_lost';

interface TrackerErrorOptions {
  /** The request never reached the tracker, or was refused as a whole: nothing was done there. */
  isUndone?: boolean;
  retryAfterSeconds?: number;
  /** The tracker's own words, for the person who asked. */
  messages?: readonly string[];
  /** Where a moved issue is now, where the tracker says so. */
  location?: string | null;
}

/** Its message never holds what was sent, nor a credential. */
export class TrackerError extends Error {
  override readonly name = 'TrackerError';
  readonly failure: TrackerFailure;
  readonly isUndone: boolean;
  readonly retryAfterSeconds: number | undefined;
  readonly messages: readonly string[];
  readonly location: string | null;

  constructor(failure: TrackerFailure, reason: string, options: TrackerErrorOptions = {}) {
    super(reason);
    this.failure = failure;
    this.isUndone = options.isUndone ?? false;
    this.retryAfterSeconds = options.retryAfterSeconds;
    this.messages = options.messages ?? [];
    this.location = options.location ?? null;
  }
}

interface FailureAnswer {
  status: number;
  code: string;
  detail: string;
  /** Whether time alone may heal it, so that another attempt is made by itself. */
  isRetried: boolean;
}

const answers: Readonly<Record<TrackerFailure, FailureAnswer>> = {
  unavailable: {
    status: 502,
    code: 'tracker_unavailable',
    detail: 'The external tracker does not answer as it should.',
    isRetried: true,
  },
  timeout: {
    status: 504,
    code: 'tracker_timeout',
    detail: 'The external tracker did not answer in time.',
    isRetried: true,
  },
  rate_limited: {
    status: 503,
    code: 'tracker_rate_limited',
    detail: 'The external tracker wants no requests for a while.',
    isRetried: true,
  },
  credentials: {
    status: 502,
    code: 'tracker_auth_failed',
    detail: "The external tracker does not accept this service's credentials; an operator has to look.",
    isRetried: false,
  },
  rejected: {
    status: 422,
    code: 'tracker_rejected',
    detail: 'The external tracker does not accept the content of this issue.',
    isRetried: false,
  },
  gone: {
    status: 409,
    code: 'remote_gone',
    detail: 'The issue is not in the external tracker any more.',
    isRetried: false,
  },
  moved: {
    status: 409,
    code: 'remote_moved',
    detail: 'The issue has moved within the external tracker.',
    isRetried: false,
  },
  stale: {
    status: 503,
    code: 'tracker_busy',
    detail: 'The issue keeps changing in the external tracker.',
    isRetried: true,
  },
  unsettled: {
    status: 503,
    code: 'create_outcome_unknown',
    detail: 'Whether the external tracker has taken what was last sent is not known yet.',
    isRetried: true,
  },
  claim_lost: {
    status: 504,
    code: 'tracker_timeout',
    detail: 'The sync took longer than it may.',
    isRetried: true,
  },
};

/** The stable name of a failure, as an issue shows it and as a problem's `code`. */
export function codeOf({ failure }: TrackerError): string {
  return answers[failure].code;
}

/** Whether another attempt is made without anybody asking. */
export function isRetried({ failure }: TrackerError): boolean {
  return answers[failure].isRetried;
}

/** The refusal for the person who asked for the sync; `nextAttemptAt` where it will be tried again by itself. */
export function trackerProblem(error: TrackerError, nextAttemptAt: Date | null): ProblemError {
  const { status, code, detail } = answers[error.failure];
  const { messages, location, failure } = error;
  return new ProblemError({
    status,
    code,
    detail,
    cause: error,
    ...(messages.length === 0 ? {} : { errors: messages.map((message) => ({ field: 'external', message })) }),
    ...(status === 503 ? { headers: { 'Retry-After': String(retryAfterOf(error, nextAttemptAt)) } } : {}),
    members: {
      retry_scheduled: nextAttemptAt !== null,
      next_attempt_at: nextAttemptAt?.toISOString() ?? null,
      ...(failure === 'moved' ? { location } : {}),
    },
  });
}

function retryAfterOf({ retryAfterSeconds }: TrackerError, nextAttemptAt: Date | null): number {
  if (retryAfterSeconds !== undefined) return retryAfterSeconds;
  const inMs = (nextAttemptAt?.getTime() ?? Date.now() + 60_000) - Date.now();
  return Math.max(1, Math.ceil(inMs / 1000));
}
