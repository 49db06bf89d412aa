import type { IncomingMessage, ServerResponse } from 'node:http';
import { ProblemError } from '@tessera/service-kit';
import { actorOf } from '../authentication/actor.ts';
import { issuesPath } from '../issues/issue-address.ts';
import { type RateLimiter, type Standing, windowSeconds } from './rate-limiter.ts';

/** The limits of an identity; one that is absent is off. */
export interface RateLimits {
  reads: RateLimiter | undefined;
  writes: RateLimiter | undefined;
  syncs: RateLimiter | undefined;
}

const syncPath = new RegExp(`^${issuesPath}/[^/]+/sync/?(?:\\?|$)`, 'i');

/** Refuses with 429 what an identity does too often; every answer tells what is left. Stands after `authenticate`. */
export function limitRate(limits: RateLimits) {
  return async (request: IncomingMessage & { originalUrl?: string }, response: ServerResponse) => {
    const limiter = limits[kindOf(request.method, request.originalUrl ?? request.url)];
    if (limiter === undefined) return;
    const standing = await limiter.count(actorOf(response).id);
    setFields(response, limiter, standing);
    if (!standing.allowed) throw tooManyRequests(limiter, standing);
  };
}

function kindOf(method = '', url = ''): keyof RateLimits {
  if (['GET', 'HEAD', 'OPTIONS'].includes(method)) return 'reads';
  return method === 'POST' && syncPath.test(url) ? 'syncs' : 'writes';
}

// draft-ietf-httpapi-ratelimit-headers-10: lists of structured fields, a policy each.
function setFields(
  response: ServerResponse,
  { name, quota }: RateLimiter,
  { remaining, resetSeconds }: Standing,
): void {
  response.setHeader('RateLimit-Policy', `"${name}";q=${quota};w=${windowSeconds}`);
  response.setHeader('RateLimit', `"${name}";r=${remaining};t=${resetSeconds}`);
}

function tooManyRequests({ name, quota }: RateLimiter, { resetSeconds }: Standing): ProblemError {
  return new ProblemError({
    status: 429,
    code: 'too_many_requests',
    detail: `At most ${quota} ${name} a minute.`,
    headers: { 'Retry-After': String(resetSeconds) },
  });
}
