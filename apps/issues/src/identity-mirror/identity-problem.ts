import { ProblemError } from '@tessera/service-kit';

/** Identity did not answer, or answered that it cannot. Its message never holds what was sent. */
export class OutageError extends Error {
  override readonly name = 'OutageError';
  /** The request never reached identity, so nothing was done there. */
  readonly isUnsent: boolean;
  /** A second try soon may well succeed. A timeout has cost its time already, and more load would not help. */
  readonly isBrief: boolean;
  readonly retryAfterSeconds: number;

  constructor(reason: string, { isUnsent = false, isBrief = false, retryAfterSeconds = 5 } = {}) {
    super(reason);
    this.isUnsent = isUnsent;
    this.isBrief = isBrief;
    this.retryAfterSeconds = retryAfterSeconds;
  }
}

/** 503: identity cannot be asked right now. */
export function identityUnavailable(cause: OutageError): ProblemError {
  return new ProblemError({
    status: 503,
    code: 'identity_unavailable',
    detail: 'The identity service does not answer right now.',
    headers: { 'Retry-After': String(cause.retryAfterSeconds) },
    cause,
  });
}

/** 503: the request may have taken effect. Trying again is safe: what exists already is refused with 409. */
export function outcomeUnknown(cause: unknown): ProblemError {
  return new ProblemError({
    status: 503,
    code: 'create_outcome_unknown',
    detail: 'The identity service did not say whether the user was created; look for the user, or try again.',
    headers: { 'Retry-After': '5' },
    cause,
  });
}

/** 502: not an answer of an identity service, such as a proxy's page. */
export function identityAnswerInvalid(reason: string): ProblemError {
  return new ProblemError({
    status: 502,
    code: 'identity_answer_invalid',
    detail: 'The identity service gave an answer that cannot be used.',
    cause: new Error(reason),
  });
}

/** 502: identity does not accept our service token. Not the caller's 401, who would sign out for nothing. */
export function identityCredentialsRejected(status: number): ProblemError {
  return new ProblemError({
    status: 502,
    code: 'identity_credentials_rejected',
    detail: 'The identity service does not accept this service; an operator has to look.',
    cause: new Error(`identity answered ${status} to our service token`),
  });
}

/** 422 naming the field that names nobody. */
export function unknownIdentity(field: string): ProblemError {
  return new ProblemError({
    status: 422,
    code: 'unknown_identity',
    detail: 'There is no such identity.',
    errors: [{ field, message: 'names no identity' }],
  });
}

/** Whether a problem means that identity is down, rather than that it refused. */
export function isOutage(error: unknown): error is ProblemError & { cause: OutageError } {
  return error instanceof ProblemError && error.cause instanceof OutageError;
}
