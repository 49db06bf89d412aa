import type { ServerResponse } from 'node:http';
import { ProblemError } from '@tessera/service-kit';
import type { Actor } from '../authentication/actor.ts';
import { type RateLimiter, type RateLimitStatus, windowSeconds } from './rate-limiter.ts';

/** The limits of an identity; one that is absent is off. */
export interface RateLimits {
  reads: RateLimiter | undefined;
  writes: RateLimiter | undefined;
  syncs: RateLimiter | undefined;
}

/** Counts requests of an identity: refuses with 429 above the quota, and tells in every response what remains. */
export function limitRate(limiter: RateLimiter | undefined) {
  if (limiter === undefined) return undefined;
  return async ({ id }: Actor, response: ServerResponse): Promise<void> => {
    const status = await limiter.count(id);
    setFields(response, limiter, status);
    if (!status.allowed) throw tooManyRequests(limiter, status);
  };
}

// draft-ietf-httpapi-ratelimit-headers-10: lists of structured fields, one member for each policy.
function setFields(
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
