import type { Logger } from '@tessera/service-kit';
import type { Config } from '../config.ts';
import { createLimitPool } from '../database.ts';
import { RateLimitRepository } from './rate-limit.repository.ts';
import { RateLimiter, type RateLimits, windowSeconds } from './rate-limiter.ts';

/** Creates the quotas of identities; those of writes and syncs are shared by all replicas. */
export function createRateLimits(config: Config, logger: Logger) {
  const { readsPerMinute, writesPerMinute, syncsPerMinute, signInsPerMinute } = config.rateLimits;
  const pool = createLimitPool(config.database, logger);
  const limiter = (name: string, quota: number, shared?: RateLimitRepository) =>
    quota === 0 ? undefined : new RateLimiter({ name, quota, logger, ...(shared && { shared }) });
  const rateLimits: RateLimits = {
    reads: limiter('reads', readsPerMinute),
    writes: limiter(
      'writes',
      writesPerMinute,
      new RateLimitRepository(pool, { name: 'writes', windowSeconds }),
    ),
    syncs: limiter('syncs', syncsPerMinute, new RateLimitRepository(pool, { name: 'syncs', windowSeconds })),
    signIns: limiter('sign-ins', signInsPerMinute),
  };
  return { rateLimits, close: () => pool.end() };
}
