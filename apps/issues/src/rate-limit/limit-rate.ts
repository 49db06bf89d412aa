import { ProblemError } from '@tessera/service-kit';
import type { Request, RequestHandler } from 'express';
import { actorOf } from '../authentication/actor.ts';
import { issuesPath } from '../issues/issue-address.ts';
import { type RateLimiter, type Standing, windowSeconds } from './rate-limiter.ts';

/** The limits of an identity; one that is absent is off. */
export interface RateLimits {
  reads: RateLimiter | undefined;
  writes: RateLimiter | undefined;
  syncs: RateLimiter | undefined;
}

const syncPath = new RegExp(`^${issuesPath}/[^/]+/sync/?$`, 'i');

/** Refuses with 429 what an identity does too often; every answer tells what is left. Stands after `authenticate`. */
export function limitRate(limits: RateLimits): RequestHandler {
  return async (request, response, next) => {
    const limiter = limits[kindOf(request)];
    if (limiter !== undefined) {
      const standing = await limiter.count(actorOf(response).id);
      response.set(fieldsOf(limiter, standing));
      if (!standing.allowed) throw tooManyRequests(limiter, standing);
    }
    next();
  };
}

function kindOf({ method, baseUrl, path }: Request): keyof RateLimits {
  if (['GET', 'HEAD', 'OPTIONS'].includes(method)) return 'reads';
  return method === 'POST' && syncPath.test(`${baseUrl}${path}`) ? 'syncs' : 'writes';
}

// draft-ietf-httpapi-ratelimit-headers-10: lists of structured fields, a policy each.
function fieldsOf({ name, quota }: RateLimiter, { remaining, resetSeconds }: Standing) {
  return {
    'RateLimit-Policy': `"${name}";q=${quota};w=${windowSeconds}`,
    RateLimit: `"${name}";r=${remaining};t=${resetSeconds}`,
  };
}

function tooManyRequests({ name, quota }: RateLimiter, { resetSeconds }: Standing): ProblemError {
  return new ProblemError({
    status: 429,
    code: 'too_many_requests',
    detail: `At most ${quota} ${name} a minute.`,
    headers: { 'Retry-After': String(resetSeconds) },
  });
}
