import type { Logger } from '@tessera/service-kit';
import { RateLimiterMemory } from 'rate-limiter-flexible';
import type { RateLimitRepository } from './rate-limit.repository.ts';

export const windowSeconds = 60;

/** The state of a limit after a request. */
export interface RateLimitStatus {
  allowed: boolean;
  remaining: number;
  /** Until the whole quota is available again. */
  resetSeconds: number;
}

interface RateLimiterOptions {
  /** What is limited; names the policy. */
  name: string;
  /** Requests of one identity in a minute. */
  quota: number;
  /** Counts shared by replicas; without it each replica counts for itself. */
  shared?: RateLimitRepository;
  logger: Logger;
}

// At most one statement for an identity in this time.
const flushEveryMs = 100;

/**
 * Requests of an identity in a minute. Decided in memory, so that no request waits for the database or fails with it. The
 * counts are added to the shared ones afterwards, several requests at once; the sum corrects the count for later requests.
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

  /** Counts a request, whether it is allowed or not. */
  async count(identityId: string): Promise<RateLimitStatus> {
    const { consumedPoints, msBeforeNext } = await this.#counts.penalty(identityId);
    const allowed = consumedPoints <= this.quota;
    // Refused requests are not shared: a flood costs the database nothing.
    if (allowed && this.#shared !== undefined) this.#flushSoon(this.#shared, identityId);
    return {
      allowed,
      remaining: Math.max(this.quota - consumedPoints, 0),
      resetSeconds: Math.max(Math.ceil(msBeforeNext / 1000), 1),
    };
  }

  #flushSoon(shared: RateLimitRepository, identityId: string): void {
    this.#pending.set(identityId, (this.#pending.get(identityId) ?? 0) + 1);
    this.#timer ??= setTimeout(() => {
      const pending = this.#pending;
      this.#pending = new Map();
      this.#timer = undefined;
      for (const [id, requests] of pending) void this.#flush(shared, id, requests);
    }, flushEveryMs).unref();
  }

  async #flush(shared: RateLimitRepository, identityId: string, requests: number): Promise<void> {
    try {
      const { count, resetMs } = await shared.add(identityId, requests);
      const own = await this.#counts.get(identityId);
      if (count > (own?.consumedPoints ?? 0)) await this.#counts.set(identityId, count, resetMs / 1000);
    } catch (error) {
      this.#logger.debug({ err: error }, 'the shared rate limit does not answer');
    }
  }
}
