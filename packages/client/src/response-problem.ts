import type { Problem } from '@tessera/contracts';
import { ProblemError } from './problem-error.ts';

/** The request of an error. */
export interface RequestNames {
  method: string;
  url: string;
}

/** The error of a request without a response. */
export function noResponse(cause: unknown, about: RequestNames): ProblemError {
  const reason = connectionProblem(cause);
  const members = reason === undefined ? {} : { detail: `The service did not respond: ${reason}.` };
  return new ProblemError(members, undefined, { cause, ...about });
}

/** The error of the connection, such as `connect ECONNREFUSED 127.0.0.1:3002`; undefined in browsers, which hide it. */
function connectionProblem(error: unknown): string | undefined {
  if (typeof error !== 'object' || error === null) return undefined;
  // A host with several addresses.
  if ('errors' in error && Array.isArray(error.errors))
    return error.errors.map(connectionProblem).filter(Boolean).join(', ') || undefined;
  const { code, message, cause } = error as { code?: unknown; message?: unknown; cause?: unknown };
  if (typeof code !== 'string') return connectionProblem(cause);
  return `${message}`.includes(code) ? `${message}` : `${code} ${message}`;
}

/** The error of a response. A proxy may respond with a different body. */
export function problemOf(response: Response, body: unknown, about: RequestNames): ProblemError {
  const { status, headers } = response;
  const members: Partial<Problem> = isProblem(body)
    ? body
    : {
        code: 'unexpected_response',
        detail: `The response is ${status} and has no JSON body of the service.`,
      };
  return new ProblemError({ ...members, status }, retryAfterOf(headers), about);
}

function isProblem(body: unknown): body is Problem {
  return typeof body === 'object' && body !== null && 'code' in body && typeof body.code === 'string';
}

/** Returns `Retry-After`, which is in seconds or a date (RFC 9110 10.2.3), in milliseconds. */
function retryAfterOf(headers: Headers): number | undefined {
  const value = headers.get('Retry-After');
  if (value === null) return undefined;
  const ms = /^\d+$/.test(value) ? Number(value) * 1_000 : Date.parse(value) - Date.now();
  return Number.isNaN(ms) ? undefined : Math.max(0, ms);
}
