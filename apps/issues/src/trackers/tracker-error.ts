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
export const failureKinds = {
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
