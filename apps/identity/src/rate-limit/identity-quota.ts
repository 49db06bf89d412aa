import { ProblemError } from '@tessera/service-kit';
import { RateLimiterMemory, type RateLimiterRes } from 'rate-limiter-flexible';

const windowSeconds = 60;

/**
 * Limits how often an identity performs an action per minute. Each replica counts alone, so no request waits for a
 * shared counter.
 */
export class IdentityQuota {
  readonly #name: string;
  readonly #counts: RateLimiterMemory | undefined;

  /** `name`: the plural noun for the counted actions, for the error message. A maximum of 0 means no limit. */
  constructor(name: string, maxPerMinute: number) {
    this.#name = name;
    this.#counts =
      maxPerMinute === 0
        ? undefined
        : new RateLimiterMemory({ keyPrefix: name, points: maxPerMinute, duration: windowSeconds });
  }

  /** Throws a 429 problem if the quota is used up. */
  async assertAvailable(identityId: string): Promise<void> {
    const usage = await this.#counts?.get(identityId);
    if (usage != null && usage.consumedPoints >= (this.#counts?.points ?? 0)) throw this.#usedUp(usage);
  }

  async count(identityId: string): Promise<void> {
    await this.#counts?.penalty(identityId);
  }

  /** Counts once. Throws a 429 problem if the quota was used up before. */
  async take(identityId: string): Promise<void> {
    const usage = await this.#counts?.penalty(identityId);
    if (usage !== undefined && usage.consumedPoints > (this.#counts?.points ?? 0)) throw this.#usedUp(usage);
  }

  #usedUp({ msBeforeNext }: RateLimiterRes): ProblemError {
    return new ProblemError({
      status: 429,
      code: 'too_many_requests',
      detail: `At most ${this.#counts?.points} ${this.#name} a minute.`,
      headers: { 'Retry-After': String(Math.max(Math.ceil(msBeforeNext / 1000), 1)) },
    });
  }
}
