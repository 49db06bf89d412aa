import type pg from 'pg';
import { RateLimiterPostgres } from 'rate-limiter-flexible';

/** The requests of one identity in the current window. */
export interface Usage {
  count: number;
  /** Milliseconds until the window ends. */
  resetMs: number;
}

/** Request counts that all replicas share. */
export class RateLimitRepository {
  readonly #counts: RateLimiterPostgres;

  constructor(pool: pg.Pool, options: { name: string; windowSeconds: number }) {
    this.#counts = new RateLimiterPostgres({
      storeClient: pool,
      storeType: 'pool',
      tableName: 'rate_limits',
      tableCreated: true,
      keyPrefix: options.name,
      // The caller compares the count with its quota.
      points: Number.MAX_SAFE_INTEGER,
      duration: options.windowSeconds,
    });
  }

  /** Adds `requests` to the count and returns the new total, in one statement. */
  async add(identityId: string, requests: number): Promise<Usage> {
    const { consumedPoints, msBeforeNext } = await this.#counts.penalty(identityId, requests);
    return { count: consumedPoints, resetMs: msBeforeNext };
  }
}
