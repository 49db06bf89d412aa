import type { TrackerProvider } from '@tessera/contracts';
import { ProblemError } from '@tessera/service-kit';
import { z } from 'zod';

interface FailureKind {
  /** Status of the response to a sync request. */
  status: number;
  detail: string;
  /** Whether the same request may succeed later without any change. The background retries such syncs. */
  isTransient: boolean;
  /** Whether the cause affects only this issue, so that other syncs can succeed. */
  isOfIssue?: boolean;
  /** Whether the cause affects only one part of the issue, so that the other parts can be synced. */
  isOfPart?: boolean;
}

/** All kinds of tracker errors, by the `code` of the problem response. */
const failureKinds = {
  /** No response, a 5xx, or a response that is not in the documented form, as that of another server. */
  tracker_unavailable: {
    status: 502,
    detail: 'The external tracker is not available.',
    isTransient: true,
  },
  tracker_timeout: {
    status: 504,
    detail: 'The external tracker did not respond in time.',
    isTransient: true,
  },
  /** The tracker limits our requests, or our circuit breaker is open. */
  tracker_rate_limited: {
    status: 503,
    detail: 'The external tracker accepts no requests for a while.',
    isTransient: true,
  },
  /** The tracker rejects our credentials. */
  tracker_auth_failed: {
    status: 502,
    detail:
      "The external tracker rejects this service's credentials: an operator must correct TRACKER_TOKEN, or unlock its account.",
    isTransient: false,
  },
  /** The account of the credentials lacks a permission in the project. */
  not_a_member: {
    status: 502,
    detail:
      'The account of this service lacks a permission in the project of the external tracker: give it a role that may view, create and edit issues and add comments.',
    isTransient: false,
  },
  /** The project does not exist or is not visible to our account. */
  project_not_found: {
    status: 502,
    detail:
      'The external tracker shows this service no such project: correct TRACKER_PROJECT or the path of TRACKER_URL, or give its account access.',
    isTransient: false,
  },
  issues_disabled: {
    status: 502,
    detail: 'Issues are disabled in the project of the external tracker: enable them there.',
    isTransient: false,
  },
  project_archived: {
    status: 502,
    detail:
      'The project of the external tracker is archived or closed, so that it accepts no changes: reopen it there, or correct TRACKER_PROJECT.',
    isTransient: false,
  },
  rest_api_disabled: {
    status: 502,
    detail: "Redmine's REST API is off: enable it under Administration, Settings, API.",
    isTransient: false,
  },
  /** The tracker accepts no comments on the issue. */
  remote_locked: {
    status: 409,
    detail: 'The issue is locked in the external tracker, so that it accepts no comments: unlock it there.',
    isTransient: false,
    isOfIssue: true,
    isOfPart: true,
  },
  tracker_rejected: {
    status: 422,
    detail: 'The external tracker rejects the content of this issue: change what `errors` names.',
    isTransient: false,
    isOfIssue: true,
    isOfPart: true,
  },
  /** A response that is larger than what this service reads. */
  remote_too_large: {
    status: 422,
    detail: 'A part of the issue in the external tracker is too large to be read: shorten it there.',
    isTransient: false,
    isOfIssue: true,
    isOfPart: true,
  },
  remote_gone: {
    status: 409,
    detail: 'The issue no longer exists in the external tracker: staff can detach it, or attach another one.',
    isTransient: false,
    isOfIssue: true,
  },
  remote_moved: {
    status: 409,
    detail:
      'The issue is no longer in the project of the external tracker: staff can attach another one, or detach it.',
    isTransient: false,
    isOfIssue: true,
  },
  /** The remote issue is private, but every user of this service would see it. */
  remote_private: {
    status: 409,
    detail:
      'The issue is private in the external tracker, so that it is not synced: make it public there, or staff can detach it.',
    isTransient: false,
    isOfIssue: true,
  },
  /** The tracker reports a newer version of the issue. */
  tracker_busy: {
    status: 503,
    detail: 'The issue keeps changing in the external tracker.',
    isTransient: true,
  },
  /** An earlier request to create an issue or a comment may still take effect. */
  create_outcome_unknown: {
    status: 503,
    detail: 'It is not known yet whether an earlier request took effect in the external tracker.',
    isTransient: true,
  },
} as const satisfies Record<string, FailureKind>;

export type TrackerErrorCode = keyof typeof failureKinds;

/** Errors whose cause is a single issue. */
export const issueErrorCodes: readonly string[] = Object.entries(failureKinds)
  .filter(([, kind]: [string, FailureKind]) => kind.isOfIssue)
  .map(([code]) => code);

/** The errors that affect all issues during an outage of the tracker. */
export const outageErrorCodes: readonly TrackerErrorCode[] = [
  'tracker_unavailable',
  'tracker_timeout',
  'tracker_rate_limited',
];

interface TrackerErrorOptions {
  /** The request did not reach the tracker, or the tracker refused it: it had no effect. */
  hadNoEffect?: boolean;
  /** A response refused the request. A proxy can also send it after the tracker has applied the request. */
  isRefusal?: boolean;
  retryAfterSeconds?: number;
  /** The attempt ended before the request was sent, so it does not count as a failure of the issue. */
  isPostponed?: boolean;
  /** The detail of the response and the advice to operators, if they differ from those of the code. */
  detail?: string;
  /** Error messages of the tracker, which the response to the sync request contains. */
  messages?: readonly string[];
  /** The new URL of a moved issue, if the tracker names it. */
  location?: string | null;
}

/** An error of a tracker request. Its message contains neither content nor credentials. */
export class TrackerError extends Error {
  override readonly name: string = 'TrackerError';
  readonly code: TrackerErrorCode;
  readonly hadNoEffect: boolean;
  readonly isRefusal: boolean;
  readonly isPostponed: boolean;
  readonly retryAfterSeconds: number | undefined;
  readonly detail: string | undefined;
  readonly messages: readonly string[];
  readonly location: string | null;

  constructor(code: TrackerErrorCode, reason: string, options: TrackerErrorOptions = {}) {
    super(reason);
    this.code = code;
    this.hadNoEffect = options.hadNoEffect ?? false;
    this.isRefusal = options.isRefusal ?? false;
    this.isPostponed = options.isPostponed ?? false;
    this.retryAfterSeconds = options.retryAfterSeconds;
    this.detail = options.detail;
    this.messages = options.messages ?? [];
    this.location = options.location ?? null;
  }

  /** Whether other parts of the issue can be synced. */
  get isOfPart(): boolean {
    const kind: FailureKind = failureKinds[this.code];
    return kind.isOfPart ?? false;
  }

  /** Whether the background retries the sync. */
  get isTransient(): boolean {
    return failureKinds[this.code].isTransient;
  }
}

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

/**
 * Returns the result of a request, or its error if the cause is the credentials, the project or a permission. Throws
 * other errors.
 */
export async function problemOr<Result>(request: Promise<Result>): Promise<Result | TrackerError> {
  return request.catch((error: unknown) => {
    if (error instanceof TrackerError && !error.isTransient) return error;
    throw error;
  });
}

const trackerNames: Record<TrackerProvider, string> = {
  redmine: 'a Redmine',
  github: "GitHub's API",
  gitlab: 'a GitLab',
  gitea: 'a Gitea or Forgejo',
};

/** Returns the error for a TRACKER_URL that leads to another server. */
export function otherServer(provider: TrackerProvider, { message }: TrackerError): TrackerError {
  return new TrackerError('tracker_unavailable', message, {
    hadNoEffect: true,
    detail: `TRACKER_URL does not lead to ${trackerNames[provider]}, because another server responds there: correct it.`,
  });
}

/**
 * Returns the error of a request for the project. GitHub, GitLab and Gitea respond 404 with a message: a 404 without one
 * comes from another server.
 */
export function projectError(provider: TrackerProvider, error: TrackerError): TrackerError {
  const isOther = error.code === 'project_not_found' && error.messages.length === 0;
  return isOther ? otherServer(provider, error) : error;
}

type Headers = Record<string, unknown>;

/** A tracker's response; `json` is undefined for an empty body, and for one that is not JSON. */
interface TrackerResponse {
  status: number;
  headers: Headers;
  data: string;
  json: unknown;
}

const redirected =
  'The external tracker redirects the request, for example to a login page: correct TRACKER_URL or TRACKER_PROJECT.';

/** Returns the error for an unsuccessful response. `target`: the resource that a 404 refers to. */
export function responseError(response: TrackerResponse, target: 'issue' | 'project'): TrackerError {
  const { status, headers, data, json } = response;
  const reason = `responded ${status}`;
  // A tracker can respond 5xx after it has applied a change.
  const hadNoEffect = status < 500;
  const refusal = { hadNoEffect, isRefusal: hadNoEffect };
  const messages = errorMessages(json);
  if (isRateLimit(response) || (status >= 500 && headers['retry-after'] !== undefined)) {
    const retryAfterSeconds = retryAfterOf(headers);
    return new TrackerError('tracker_rate_limited', reason, { ...refusal, retryAfterSeconds });
  }
  if (status >= 500) return new TrackerError('tracker_unavailable', reason);
  if (status < 400) {
    const { location: given } = headers;
    const location = typeof given === 'string' && given !== '' ? given.slice(0, 2_000) : null;
    if (target === 'issue') return new TrackerError('remote_moved', reason, { ...refusal, location });
    return new TrackerError('tracker_unavailable', reason, { ...refusal, detail: redirected });
  }
  switch (status) {
    case 401:
    case 407:
      return new TrackerError('tracker_auth_failed', reason, { ...refusal, messages });
    case 403: {
      // GitHub: "Unable to create comment because issue is locked."
      const code = /\blocked\b/i.test(data) ? 'remote_locked' : 'not_a_member';
      return new TrackerError(code, reason, { ...refusal, messages });
    }
    case 404:
    case 410: {
      // Trackers respond 404 for a project that our account cannot see.
      const missing = target === 'issue' ? 'remote_gone' : 'project_not_found';
      // GitHub also responds 410 if issues are disabled.
      const code = status === 410 && /\bdisabled\b/i.test(data) ? 'issues_disabled' : missing;
      return new TrackerError(code, reason, { ...refusal, messages });
    }
    case 408:
      return new TrackerError('tracker_unavailable', reason, { ...refusal });
    case 409:
      return new TrackerError('tracker_busy', reason, { ...refusal });
    default:
      return new TrackerError('tracker_rejected', reason, { ...refusal, messages });
  }
}

/**
 * Whether the response reports an exceeded rate limit. GitHub responds 403 or 429 for its primary and secondary limits.
 */
export function isRateLimit({ status, headers, data }: Omit<TrackerResponse, 'json'>): boolean {
  if (status === 429) return true;
  if (status !== 403) return false;
  return (
    headers['x-ratelimit-remaining'] === '0' ||
    headers['retry-after'] !== undefined ||
    /secondary rate limit|abuse detection/i.test(data)
  );
}

const waitDefaultSeconds = 60;
const waitMaxSeconds = 3_600;

/**
 * Returns the seconds to wait: `Retry-After` (RFC 9110 10.2.3), otherwise the end of the exhausted rate limit window,
 * otherwise a minute.
 */
export function retryAfterOf(headers: Headers, now = Date.now()): number {
  const given = String(headers['retry-after'] ?? '');
  if (/^\d{1,9}$/.test(given)) return bounded(Number(given));
  const date = Date.parse(given);
  if (given !== '' && !Number.isNaN(date)) return bounded((date - now) / 1000);
  const reset = String(headers['x-ratelimit-reset'] ?? headers['ratelimit-reset'] ?? '');
  const remaining = String(headers['x-ratelimit-remaining'] ?? headers['ratelimit-remaining'] ?? '');
  if (remaining === '0' && /^\d{9,11}$/.test(reset)) return bounded(Number(reset) - now / 1000);
  return waitDefaultSeconds;
}

function bounded(seconds: number): number {
  return Math.min(waitMaxSeconds, Math.max(1, Math.ceil(seconds)));
}

const messageMaxLength = 300;
const messagesMax = 10;

const messageSchema = z.union([
  z.string(),
  z.object({ message: z.string() }).transform(({ message }) => message),
  z.object({ field: z.string(), code: z.string() }).transform(({ field, code }) => `${field}: ${code}`),
]);
const errorBodySchema = z.object({
  message: z.unknown().optional(),
  error: z.unknown().optional(),
  errors: z.unknown().optional(),
});

// Redmine: `errors: [string]`; GitHub and Gitea: `message` and `errors: [object]`; GitLab: `message` by field, or `error`.
function errorMessages(json: unknown): string[] {
  const body = errorBodySchema.safeParse(json);
  if (!body.success) return [];
  const { message, error, errors } = body.data;
  return [message, error, ...(Array.isArray(errors) ? errors : [])]
    .flatMap(toMessages)
    .slice(0, messagesMax)
    .map((text) => text.slice(0, messageMaxLength));
}

function toMessages(value: unknown): string[] {
  const known = messageSchema.safeParse(value);
  if (known.success) return known.data === '' ? [] : [known.data];
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).map(([field, reasons]) => `${field} ${[reasons].flat().join(', ')}`);
}
