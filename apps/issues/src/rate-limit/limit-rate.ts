import type { ServerResponse } from 'node:http';
import { type Limit, ProblemError, type RequestShares } from '@tessera/service-kit';
import type { Actor } from '../issue-core/actor.ts';
import { type RateLimiter, type RateLimitStatus, windowSeconds } from './rate-limiter.ts';

/** The limits of one identity. Undefined means no limit. */
export interface RateLimits {
  reads: RateLimiter | undefined;
  writes: RateLimiter | undefined;
  syncs: RateLimiter | undefined;
  /** The sign-ins of one address to the web app. */
  signIns: RateLimiter | undefined;
}

/** A limit of writes, for requests that count as several. */
export interface WriteQuota extends Limit<Actor> {
  /** Counts further requests. Throws a 429 problem if the quota is exceeded. */
  countFurther: (actor: Actor, response: ServerResponse, requests: number) => Promise<void>;
}

/** A body counts as one further request per 4 KiB, because the stored data grows with it. */
const bytesPerRequest = 4 * 1024;

/**
 * Counts requests and their bodies, sets the `RateLimit` fields, and throws a 429 problem if the quota is exceeded. With
 * `shares`, also bounds how many requests of one identity are in progress.
 */
export function limitRate(limiter: RateLimiter | undefined, shares?: RequestShares): WriteQuota {
  const count = async (id: string, response: ServerResponse, requests: number, rule = ''): Promise<void> => {
    if (limiter === undefined) return;
    const status = await limiter.count(id, requests);
    setRateLimitFields(response, limiter, status);
    if (!status.allowed) throw tooManyRequests(limiter, status, rule);
  };
  // At most the whole quota, so that a small quota also accepts the largest request.
  const atMostQuota = (requests: number) => Math.min(requests, (limiter?.quota ?? 1) - 1);
  return {
    request: async ({ id }, response) => {
      await count(id, response, 1);
      await shares?.enter(id, response);
    },
    body: ({ id }, response, bytes) => {
      const requests = atMostQuota(Math.floor(bytes / bytesPerRequest));
      if (requests > 0)
        return count(id, response, requests, ' A body counts as a further one for each 4 KiB.');
    },
    countFurther: async ({ id }, response, given) => {
      const requests = atMostQuota(given);
      if (requests > 0) await count(id, response, requests, ' Each issue counts as one.');
    },
  };
}

/** Counts requests by the client's address, for requests whose caller is not known yet. */
export function limitAddresses(limiter: RateLimiter | undefined): Limit<undefined> {
  return {
    request: async (_caller, response) => {
      const status = await limiter?.count(response.req.ip ?? '');
      if (limiter !== undefined && status?.allowed === false) throw tooManyRequests(limiter, status, '');
    },
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

function tooManyRequests(
  { name, quota }: RateLimiter,
  { resetSeconds }: RateLimitStatus,
  rule: string,
): ProblemError {
  return new ProblemError({
    status: 429,
    code: 'too_many_requests',
    detail: `At most ${quota} ${name} a minute.${rule}`,
    headers: { 'Retry-After': String(resetSeconds) },
  });
}
