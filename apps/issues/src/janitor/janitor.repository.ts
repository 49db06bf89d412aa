import type { Database } from '../database.ts';
import { Prisma } from '../generated/prisma/client.ts';

// One lock for the janitors of all replicas: an arbitrary constant, the same in every release.
const janitorLockKey = 7_355_608_003n;

/** Batches of what nobody needs any more; each is one statement, and passes over rows that somebody else holds. */
export class JanitorRepository {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  /** Answers to requests with an Idempotency-Key, an hour after they are not given any more. */
  async deleteOldAnswers(batchSize: number): Promise<number | undefined> {
    return this.#sweep(Prisma.sql`
      DELETE FROM idempotency_keys WHERE (user_id, method, path, key) IN (
        SELECT user_id, method, path, key FROM idempotency_keys
         WHERE (SELECT held FROM guard) AND claimed_at < now() - interval '25 hours'
         ORDER BY claimed_at LIMIT ${batchSize} FOR UPDATE SKIP LOCKED
      ) RETURNING 1`);
  }

  /** Webhook deliveries of which no tracker sends another copy any more. */
  async deleteOldDeliveries(batchSize: number): Promise<number | undefined> {
    return this.#sweep(Prisma.sql`
      DELETE FROM tracker_deliveries WHERE (provider, delivery_id) IN (
        SELECT provider, delivery_id FROM tracker_deliveries
         WHERE (SELECT held FROM guard) AND received_at < now() - interval '7 days'
         ORDER BY received_at LIMIT ${batchSize} FOR UPDATE SKIP LOCKED
      ) RETURNING 1`);
  }

  async #sweep(deletion: Prisma.Sql): Promise<number | undefined> {
    const rows = await this.#database.$queryRaw<{ held: boolean; deleted: number }[]>`
      WITH guard AS MATERIALIZED (SELECT pg_try_advisory_xact_lock(${janitorLockKey}) AS held),
      deleted AS (${deletion})
      SELECT held, (SELECT count(*)::int FROM deleted) AS deleted FROM guard`;
    const [row] = rows;
    return row?.held === true ? row.deleted : undefined;
  }
}
