import type { IncomingMessage } from 'node:http';
import { BearerError, unverifiedTokenIds } from '@tessera/jwt-verify';
import { ProblemError } from '@tessera/service-kit';

/** The default `error` member (RFC 6749 5.2) by status. */
function defaultErrorFor(status: number): string {
  if (status === 429) return 'too_many_requests';
  if (status === 503) return 'temporarily_unavailable';
  return status >= 500 ? 'server_error' : 'invalid_request';
}

/** Adds `error` and `error_description` to the error bodies of OAuth endpoints (RFC 6749 5.2). */
export function oauthMembers(problem: ProblemError, request: IncomingMessage): Record<string, unknown> {
  if (request.operation?.oauth !== true) return {};
  return {
    error: problem.members.error ?? defaultErrorFor(problem.status),
    error_description: problem.detail,
  };
}

/**
 * 401 for a refused password or refresh token (docs/spec/identity-service.md 7; RFC 6749 5.2 specifies 400). The detail is the
 * same for every reason. The response omits the challenge that RFC 9110 15.5.2 requires: no authentication scheme
 * applies to a credential in the body, and OAuth clients (oauth4webapi) would report the challenge instead of the
 * body's `error`.
 */
export function invalidGrantProblem(detail: string, cause?: unknown): ProblemError {
  return new ProblemError({
    status: 401,
    code: 'invalid_grant',
    detail,
    members: { error: 'invalid_grant' },
    cause,
  });
}

/** 401 for the right password if it is temporary. The `error` is that of other refusals, for clients that know only RFC 6749. */
export function temporaryPasswordProblem(
  code: 'password_change_required' | 'password_expired',
  detail: string,
): ProblemError {
  return new ProblemError({ status: 401, code, detail, members: { error: 'invalid_grant' } });
}

/** 400 with an `error` of RFC 6749 5.2. */
export function oauthProblem(
  error: 'invalid_request' | 'unsupported_grant_type' | 'unsupported_token_type',
  detail: string,
): ProblemError {
  return new ProblemError({ status: 400, code: error, detail, members: { error } });
}

/** Maps a refused bearer token to a problem (RFC 6750 3). The reason is logged and not sent. */
export function translateBearerError(error: unknown, request: IncomingMessage): ProblemError | undefined {
  if (!(error instanceof BearerError)) return undefined;
  return new ProblemError({
    status: error.status,
    code: error.code,
    detail: error.message,
    headers: error.headers,
    members: { error: error.code },
    cause: error,
    logged: { reason: error.reason, ...unverifiedTokenIds(request) },
  });
}
