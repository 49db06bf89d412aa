import { ProblemError } from '@tessera/service-kit';

/** Identity did not respond, or responded with 429 or 5xx. The message never contains request data. */
export class OutageError extends Error {
  override readonly name = 'OutageError';
  /** The request did not reach identity, so it had no effect. */
  readonly isUnsent: boolean;
  /** A retry is likely to succeed. False for a timeout: the time is used up, and a retry would add load. */
  readonly isTransient: boolean;
  readonly retryAfterSeconds: number;

  constructor(reason: string, { isUnsent = false, isTransient = false, retryAfterSeconds = 5 } = {}) {
    super(reason);
    this.isUnsent = isUnsent;
    this.isTransient = isTransient;
    this.retryAfterSeconds = retryAfterSeconds;
  }
}

/** 503: identity is unavailable. */
export function identityUnavailable(cause: OutageError): ProblemError {
  return new ProblemError({
    status: 503,
    code: 'identity_unavailable',
    detail: 'The identity service is unavailable.',
    headers: { 'Retry-After': String(cause.retryAfterSeconds) },
    cause,
  });
}

/** 503: the user may have been created. A retry is safe: identity refuses an existing user with 409. */
export function createOutcomeUnknown(cause: unknown): ProblemError {
  return new ProblemError({
    status: 503,
    code: 'create_outcome_unknown',
    detail: 'It is unknown whether the user was created. Look for the user, or retry.',
    headers: { 'Retry-After': '5' },
    cause,
  });
}

/** 502: the response is not one of the identity service, for example a proxy's error page. */
export function identityAnswerInvalid(reason: string): ProblemError {
  return new ProblemError({
    status: 502,
    code: 'identity_answer_invalid',
    detail: 'The identity service returned an invalid response.',
    cause: new Error(reason),
  });
}

/** 502: identity rejects our service token. Not a 401, which would make the client sign out. */
export function identityCredentialsRejected(status: number): ProblemError {
  return new ProblemError({
    status: 502,
    code: 'identity_credentials_rejected',
    detail: 'The identity service rejects the credentials of this service.',
    cause: new Error(`identity responded ${status} to our service token`),
  });
}

/** 422: the field names an unknown identity. */
export function unknownIdentity(field: string): ProblemError {
  return new ProblemError({
    status: 422,
    code: 'unknown_identity',
    detail: 'Unknown identity.',
    errors: [{ field, message: 'names no identity' }],
  });
}

/** Whether the error means that identity is unavailable. */
export function isOutage(error: unknown): error is ProblemError & { cause: OutageError } {
  return error instanceof ProblemError && error.cause instanceof OutageError;
}
