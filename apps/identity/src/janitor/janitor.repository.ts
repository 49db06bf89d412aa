import type { Database } from '../database.ts';
import { Prisma } from '../generated/prisma/client.ts';

// One lock for the janitors of all replicas: an arbitrary constant, the same in every release.
const janitorLockKey = 7_355_608_002n;

/** How many rows were deleted; undefined where another janitor is at work. */
type Swept = number | undefined;

/**
 * Batches of what nobody needs any more. Each is one statement that holds the janitors' lock for its own time, and
 * passes over rows that somebody else holds: it never waits for a request, and no request waits for more than a batch.
 */
export class JanitorRepository {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  /**
   * Refresh tokens a week past their end. A spent one stays until its own end, as its reuse must be noticed; afterwards
   * its signature is refused before anybody looks here.
   */
  async deleteExpiredTokens(batchSize: number): Promise<Swept> {
    return this.#sweep(Prisma.sql`
      DELETE FROM refresh_tokens WHERE jti IN (
        SELECT jti FROM refresh_tokens
         WHERE (SELECT held FROM guard) AND expires_at < now() - interval '7 days'
         ORDER BY expires_at LIMIT ${batchSize} FOR UPDATE SKIP LOCKED
      ) RETURNING 1`);
  }

  /** Families a week past their absolute end, once their tokens are gone. */
  async deleteEmptyFamilies(batchSize: number): Promise<Swept> {
    return this.#sweep(Prisma.sql`
      DELETE FROM token_families WHERE id IN (
        SELECT id FROM token_families f
         WHERE (SELECT held FROM guard) AND expires_at < now() - interval '7 days'
           AND NOT EXISTS (SELECT FROM refresh_tokens t WHERE t.family_id = f.id)
         ORDER BY expires_at LIMIT ${batchSize} FOR UPDATE SKIP LOCKED
      ) RETURNING 1`);
  }

  /** Counters of failed sign-ins whose window is over, and addresses that nobody has signed in from for long. */
  async deleteOldCounters(batchSize: number): Promise<Swept> {
    return this.#sweep(Prisma.sql`
      DELETE FROM sign_in_counters WHERE key IN (
        SELECT key FROM sign_in_counters
         WHERE (SELECT held FROM guard) AND window_ends < now()
         ORDER BY window_ends LIMIT ${batchSize} FOR UPDATE SKIP LOCKED
      ) RETURNING 1`);
  }

  /** Audit events past their retention, by the one function that may (see the migration). */
  async deleteExpiredAuditEvents(retentionDays: number, batchSize: number): Promise<Swept> {
    const rows = await this.#database.$queryRaw<{ deleted: number | null }[]>`
      WITH guard AS MATERIALIZED (SELECT pg_try_advisory_xact_lock(${janitorLockKey}) AS held)
      SELECT CASE WHEN held THEN delete_expired_audit_events(${retentionDays}::int, ${batchSize}::int) END AS deleted
        FROM guard`;
    return rows[0]?.deleted ?? undefined;
  }

  async #sweep(deletion: Prisma.Sql): Promise<Swept> {
    const rows = await this.#database.$queryRaw<{ held: boolean; deleted: number }[]>`
      WITH guard AS MATERIALIZED (SELECT pg_try_advisory_xact_lock(${janitorLockKey}) AS held),
      deleted AS (${deletion})
      SELECT held, (SELECT count(*)::int FROM deleted) AS deleted FROM guard`;
    const [row] = rows;
    return row?.held === true ? row.deleted : undefined;
  }
}
