import type { Logger } from '@tessera/service-kit';
import { RateLimiterMemory } from 'rate-limiter-flexible';
import type { RateLimitRepository } from './rate-limit.repository.ts';

export const windowSeconds = 60;

/** How a request stands towards a limit. */
export interface Standing {
  allowed: boolean;
  remaining: number;
  /** Until the quota is whole again. */
  resetSeconds: number;
}

interface RateLimiterOptions {
  /** What is limited; names the policy. */
  name: string;
  /** Requests of one identity in a minute. */
  quota: number;
  /** Where replicas tell each other; without it each counts for itself. */
  shared?: RateLimitRepository;
  logger: Logger;
}

// One statement of an identity in this time, however many requests it makes.
const tellEveryMs = 100;

/**
 * Requests of an identity in a minute. Decided in memory, so that no request waits for the database and none fails with
 * it; what replicas share is told afterwards, many requests at once, and corrects the count for the next ones.
 */
export class RateLimiter {
  readonly name: string;
  readonly quota: number;
  readonly #counts: RateLimiterMemory;
  readonly #shared: RateLimitRepository | undefined;
  readonly #logger: Logger;
  #untold = new Map<string, number>();
  #timer: NodeJS.Timeout | undefined;

  constructor({ name, quota, shared, logger }: RateLimiterOptions) {
    this.name = name;
    this.quota = quota;
    this.#counts = new RateLimiterMemory({ keyPrefix: name, points: quota, duration: windowSeconds });
    this.#shared = shared;
    this.#logger = logger;
  }

  /** Counts a request, whether it is allowed or not. */
  async count(identityId: string): Promise<Standing> {
    const { consumedPoints, msBeforeNext } = await this.#counts.penalty(identityId);
    const allowed = consumedPoints <= this.quota;
    // What is refused is not told: a flood costs the database nothing.
    if (allowed && this.#shared !== undefined) this.#tellSoon(this.#shared, identityId);
    return {
      allowed,
      remaining: Math.max(this.quota - consumedPoints, 0),
      resetSeconds: Math.max(Math.ceil(msBeforeNext / 1000), 1),
    };
  }

  #tellSoon(shared: RateLimitRepository, identityId: string): void {
    this.#untold.set(identityId, (this.#untold.get(identityId) ?? 0) + 1);
    this.#timer ??= setTimeout(() => {
      const told = this.#untold;
      this.#untold = new Map();
      this.#timer = undefined;
      for (const [id, requests] of told) void this.#tell(shared, id, requests);
    }, tellEveryMs).unref();
  }

  async #tell(shared: RateLimitRepository, identityId: string, requests: number): Promise<void> {
    try {
      const { count, resetMs } = await shared.add(identityId, requests);
      const own = await this.#counts.get(identityId);
      if (count > (own?.consumedPoints ?? 0)) await this.#counts.set(identityId, count, resetMs / 1000);
    } catch (error) {
      this.#logger.debug({ err: error }, 'the shared rate limit does not answer');
    }
  }
}
