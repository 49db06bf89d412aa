import { BearerError } from '@tessera/jwt-verify';
import { ProblemError } from '@tessera/service-kit';

/** RFC 6750 3: what is wrong with a bearer token, as the one error body. The reason goes to the log alone. */
export function translateTokenError(error: unknown): ProblemError | undefined {
  if (!(error instanceof BearerError)) return undefined;
  return new ProblemError({
    status: error.status,
    code: error.code,
    detail: error.message,
    headers: error.headers,
    members: { error: error.code },
    cause: error,
  });
}
