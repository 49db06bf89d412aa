import type { Logger } from '@tessera/service-kit';
import type { Database } from '../database.ts';
import { type BlobStores, type StoreName, storeOf } from './blob-store.ts';

interface BlobWorkerOptions {
  database: Database;
  stores: BlobStores;
  logger: Logger;
}

interface DueDeletion {
  key: string;
  store: StoreName;
}

/** The number of keys under one lease, and of those that are deleted at the same time. */
const leaseSize = 20;
const concurrentMax = 4;

/** Deletes the bytes of keys without a file. From the first attempt on, no file gets the key. */
export class BlobWorker {
  readonly #options: BlobWorkerOptions;

  constructor(options: BlobWorkerOptions) {
    this.#options = options;
  }

  /** Deletes the bytes of at most `max` keys that are due. Returns the number of those that are deleted. */
  async deleteDue(max: number): Promise<number> {
    let deleted = 0;
    for (let tried = 0; tried < max; ) {
      const due = await this.#lease(Math.min(leaseSize, max - tried));
      tried += due.length;
      const waiting = [...due];
      const run = async () => {
        for (let one = waiting.shift(); one !== undefined; one = waiting.shift())
          if (await this.#delete(one)) deleted += 1;
      };
      await Promise.all(Array.from({ length: concurrentMax }, run));
      if (due.length < leaseSize) break;
    }
    return deleted;
  }

  async #lease(size: number): Promise<DueDeletion[]> {
    return this.#options.database.$queryRaw<DueDeletion[]>`
      UPDATE blob_deletions SET claim_until = now() + interval '5 minutes', attempts = attempts + 1 WHERE key IN (
        SELECT key FROM blob_deletions WHERE due_at <= now() AND (claim_until IS NULL OR claim_until < now())
         ORDER BY due_at LIMIT ${size}::int FOR UPDATE SKIP LOCKED
      ) RETURNING key, store`;
  }

  async #delete({ key, store }: DueDeletion): Promise<boolean> {
    const { database, stores, logger } = this.#options;
    try {
      await storeOf(stores, store).delete(key);
      await database.$executeRaw`
        WITH gone AS (DELETE FROM blob_deletions WHERE key = ${key}::uuid RETURNING store, charge)
        UPDATE attachment_usage u SET bytes = u.bytes - gone.charge FROM gone WHERE u.store = gone.store`;
      return true;
    } catch (error) {
      logger.warn({ err: error, store }, 'bytes of a file cannot be deleted now');
      const message = error instanceof Error ? error.message.slice(0, 200) : 'unknown';
      await database.$executeRaw`
        UPDATE blob_deletions SET claim_until = NULL, last_error = ${message},
               due_at = now() + least(interval '1 hour', interval '1 minute' * power(2, least(attempts, 10)))
         WHERE key = ${key}::uuid`;
      return false;
    }
  }
}
