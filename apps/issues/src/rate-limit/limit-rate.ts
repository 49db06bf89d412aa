import type { ServerResponse } from 'node:http';
import { ProblemError } from '@tessera/service-kit';
import type { Actor } from '../authentication/actor.ts';
import { type RateLimiter, type RateLimitStatus, windowSeconds } from './rate-limiter.ts';

/** The limits of one identity. Undefined means no limit. */
export interface RateLimits {
  reads: RateLimiter | undefined;
  writes: RateLimiter | undefined;
  syncs: RateLimiter | undefined;
}

/** Counts the request, sets the `RateLimit` fields, and throws a 429 problem if the quota is exceeded. */
export function limitRate(limiter: RateLimiter | undefined) {
  if (limiter === undefined) return undefined;
  return async ({ id }: Actor, response: ServerResponse): Promise<void> => {
    const status = await limiter.count(id);
    setRateLimitFields(response, limiter, status);
    if (!status.allowed) throw tooManyRequests(limiter, status);
  };
}

// draft-ietf-httpapi-ratelimit-headers-10: structured field lists with one member per policy.
function setRateLimitFields(
  response: ServerResponse,
  { name, quota }: RateLimiter,
  { remaining, resetSeconds }: RateLimitStatus,
): void {
  response.setHeader('RateLimit-Policy', `"${name}";q=${quota};w=${windowSeconds}`);
  response.setHeader('RateLimit', `"${name}";r=${remaining};t=${resetSeconds}`);
}

function tooManyRequests({ name, quota }: RateLimiter, { resetSeconds }: RateLimitStatus): ProblemError {
  return new ProblemError({
    status: 429,
    code: 'too_many_requests',
    detail: `At most ${quota} ${name} a minute.`,
    headers: { 'Retry-After': String(resetSeconds) },
  });
}
