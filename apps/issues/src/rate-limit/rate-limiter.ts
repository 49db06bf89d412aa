import type { ServerResponse } from 'node:http';
import { type Limit, type Logger, networkOf, ProblemError } from '@tessera/service-kit';
import { RateLimiterMemory } from 'rate-limiter-flexible';
import type { Actor, PartsQuota } from '../issue-core/actor.ts';
import type { RateLimitRepository } from './rate-limit.repository.ts';
import type { RequestShares } from './request-shares.ts';

export const windowSeconds = 60;

/** The state of a limit after a request was counted. */
export interface RateLimitStatus {
  allowed: boolean;
  remaining: number;
  /** Seconds until the whole quota is available again. */
  resetSeconds: number;
}

interface RateLimiterOptions {
  /** The name of the policy in the `RateLimit` fields. */
  name: string;
  /** Requests per identity and minute. */
  quota: number;
  /** Counts shared by all replicas. Without it, each replica counts alone. */
  shared?: RateLimitRepository;
  logger: Logger;
}

// Each identity causes at most one statement per interval.
const flushIntervalMs = 100;

/**
 * Limits the requests of an identity per minute. Decides in memory, so requests neither wait for the database nor fail
 * with it. Adds its counts to the shared counts in batches; the shared total then corrects the count in memory.
 */
export class RateLimiter {
  readonly name: string;
  readonly quota: number;
  readonly #counts: RateLimiterMemory;
  readonly #shared: RateLimitRepository | undefined;
  readonly #logger: Logger;
  #pending = new Map<string, number>();
  #timer: NodeJS.Timeout | undefined;

  constructor({ name, quota, shared, logger }: RateLimiterOptions) {
    this.name = name;
    this.quota = quota;
    this.#counts = new RateLimiterMemory({ keyPrefix: name, points: quota, duration: windowSeconds });
    this.#shared = shared;
    this.#logger = logger;
  }

  /** Counts requests. Those beyond the quota are refused and not counted, so that a smaller request can follow. */
  async count(identityId: string, requests = 1): Promise<RateLimitStatus> {
    const counted = await this.#counts.penalty(identityId, requests);
    const allowed = counted.consumedPoints <= this.quota;
    const { consumedPoints, msBeforeNext } = allowed
      ? counted
      : await this.#counts.reward(identityId, requests);
    // Refused requests are not shared, so a flood causes no database load.
    if (allowed && this.#shared !== undefined) this.#flushSoon(this.#shared, identityId, requests);
    return {
      allowed,
      remaining: Math.max(this.quota - consumedPoints, 0),
      resetSeconds: Math.max(Math.ceil(msBeforeNext / 1000), 1),
    };
  }

  #flushSoon(shared: RateLimitRepository, identityId: string, requests: number): void {
    this.#pending.set(identityId, (this.#pending.get(identityId) ?? 0) + requests);
    this.#timer ??= setTimeout(() => {
      const pending = this.#pending;
      this.#pending = new Map();
      this.#timer = undefined;
      for (const [id, count] of pending) void this.#flush(shared, id, count);
    }, flushIntervalMs).unref();
  }

  async #flush(shared: RateLimitRepository, identityId: string, requests: number): Promise<void> {
    try {
      const { count, resetMs } = await shared.add(identityId, requests);
      const own = await this.#counts.get(identityId);
      if (count > (own?.consumedPoints ?? 0)) await this.#counts.set(identityId, count, resetMs / 1000);
    } catch (error) {
      this.#logger.debug({ err: error }, 'failed to update the shared rate limit');
    }
  }
}

/** The limits of one identity. Undefined means no limit. */
export interface RateLimits {
  reads: RateLimiter | undefined;
  writes: RateLimiter | undefined;
  syncs: RateLimiter | undefined;
  /** The sign-ins of one address to the web app. */
  signIns: RateLimiter | undefined;
}

/** A limit of writes, for requests that count as several. */
export type WriteQuota = Limit<Actor> & PartsQuota;

/** A body counts as one further request per 4 KiB, because the stored data grows with it. */
const bytesPerRequest = 4 * 1024;

/**
 * Counts requests and their bodies, sets the `RateLimit` fields, and throws a 429 problem if the quota is exceeded. With
 * `shares`, also bounds how many requests of one identity are in progress.
 */
export function limitRate(
  limiter: RateLimiter | undefined,
  shares?: Pick<RequestShares, 'enter'>,
): WriteQuota {
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
    countParts: async ({ id }, response, parts) => {
      // The request itself is counted already.
      const requests = atMostQuota(parts.count - 1);
      if (requests > 0) await count(id, response, requests, ` Each ${parts.name} counts as one.`);
    },
  };
}

/** Counts requests by the client's address, for requests whose caller is not known yet. */
export function limitAddresses(limiter: RateLimiter | undefined): Limit<undefined> {
  return {
    request: async (_caller, response) => {
      const status = await limiter?.count(networkOf(response.req.ip ?? ''));
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
