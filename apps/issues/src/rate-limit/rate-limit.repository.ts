import type pg from 'pg';
import { RateLimiterPostgres } from 'rate-limiter-flexible';

/** What somebody has done in the running window. */
export interface Usage {
  count: number;
  /** Until the window ends. */
  resetMs: number;
}

/** Counts that all replicas share: one statement each, which adds and answers. */
export class RateLimitRepository {
  readonly #counts: RateLimiterPostgres;

  constructor(pool: pg.Pool, options: { name: string; windowSeconds: number }) {
    this.#counts = new RateLimiterPostgres({
      storeClient: pool,
      storeType: 'pool',
      tableName: 'rate_limits',
      tableCreated: true,
      keyPrefix: options.name,
      // Nothing is refused here: who counts decides.
      points: Number.MAX_SAFE_INTEGER,
      duration: options.windowSeconds,
    });
  }

  /** Counts `requests` more, and answers how many there are by now. */
  async add(identityId: string, requests: number): Promise<Usage> {
    const { consumedPoints, msBeforeNext } = await this.#counts.penalty(identityId, requests);
    return { count: consumedPoints, resetMs: msBeforeNext };
  }
}
