import type { Logger } from '@tessera/service-kit';
import { RateLimiterMemory } from 'rate-limiter-flexible';
import type { RateLimitRepository } from './rate-limit.repository.ts';

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

  /** Counts requests, allowed or not. */
  async count(identityId: string, requests = 1): Promise<RateLimitStatus> {
    const { consumedPoints, msBeforeNext } = await this.#counts.penalty(identityId, requests);
    const allowed = consumedPoints <= this.quota;
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
