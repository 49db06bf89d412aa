import { ProblemError } from '@tessera/service-kit';

// RFC 9110 15.5.2 requires a challenge. No browser knows this scheme, so none asks for a password.
const challenge = { 'WWW-Authenticate': 'Cookie realm="issues"' };

/** 401: the request has no cookie. */
export function signedOut(): ProblemError {
  return new ProblemError({
    status: 401,
    code: 'unauthorized',
    detail: 'Sign in first.',
    headers: challenge,
    logged: { reason: 'no session cookie' },
  });
}

/** 401: the session has ended. The reason is only logged. */
export function sessionEnded(reason: string): ProblemError {
  return new ProblemError({
    status: 401,
    code: 'session_ended',
    detail: 'The session has ended. Sign in again.',
    headers: challenge,
    logged: { reason },
  });
}

/** 409: the request was made for another person than that of the session, or names none. */
export function otherUser(): ProblemError {
  return new ProblemError({
    status: 409,
    code: 'other_user',
    detail: 'The session belongs to another person than this request. Reload the page.',
  });
}

/** 503: the access token has expired and cannot be refreshed now, or cannot be judged. The session is kept. */
export function sessionUnavailable(retryAfterSeconds: number, cause?: unknown): ProblemError {
  return new ProblemError({
    status: 503,
    code: 'session_unavailable',
    detail: 'The session cannot be refreshed right now. It is kept.',
    headers: { 'Retry-After': String(retryAfterSeconds) },
    cause,
  });
}

/** 403: another site may have caused the request. */
export function crossSiteRequest(reason: string): ProblemError {
  return new ProblemError({
    status: 403,
    code: 'cross_site_request',
    detail: `The request does not come from the app: ${reason}.`,
  });
}
