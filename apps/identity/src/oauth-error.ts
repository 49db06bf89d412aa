import { ProblemError } from '@tessera/service-kit';
import type { Request } from 'express';

const oauthPaths = /^\/(token|userinfo)(\/|$)/i;

/** RFC 6749 5.2's `error` for problems that do not bring one of their own. */
function errorOf(status: number): string {
  if (status === 429) return 'too_many_requests';
  if (status === 503) return 'temporarily_unavailable';
  return status >= 500 ? 'server_error' : 'invalid_request';
}

/** OAuth endpoints answer the one error body with `error` and `error_description` added (RFC 6749 5.2). */
export function oauthMembers(problem: ProblemError, request: Request): Record<string, unknown> {
  if (!oauthPaths.test(request.path)) return {};
  return { error: problem.members.error ?? errorOf(problem.status), error_description: problem.detail };
}

// RFC 9110 15.5.2: a 401 names a challenge. identity-service.md 7 wants the 401 where RFC 6749 5.2 has a 400.
const invalidGrantChallenge = 'Bearer realm="identity", error="invalid_grant"';

/** 401 for a refused credential in a body: password or refresh token. One text for every reason. */
export function invalidGrantProblem(detail: string, cause?: unknown): ProblemError {
  return new ProblemError({
    status: 401,
    code: 'invalid_grant',
    detail,
    headers: { 'WWW-Authenticate': invalidGrantChallenge },
    members: { error: 'invalid_grant' },
    cause,
  });
}

/** 400 in RFC 6749 5.2's sense. */
export function oauthProblem(error: string, detail: string): ProblemError {
  return new ProblemError({ status: 400, code: error, detail, members: { error } });
}
