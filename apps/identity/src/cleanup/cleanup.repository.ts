import { deleteBatch, deleteExpiredEvents } from '@tessera/service-kit';
import type { Database } from '../database.ts';
import { Prisma } from '../generated/prisma/client.ts';

// Advisory lock of the cleanup job. All replicas and releases must use the same value.
const cleanupLockKey = 7_355_608_002n;

/** The number of deleted rows; undefined if another replica holds the lock. */
type DeletedRows = number | undefined;

/**
 * Deletes expired rows in batches. Each batch is one statement. It holds the advisory lock while it runs and skips
 * locked rows, so it never waits for a request, and a request waits for at most one batch.
 */
export class CleanupRepository {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  /**
   * Deletes refresh tokens that expired a week ago. Used tokens are kept until they expire, to detect reuse; after
   * that the signature check refuses them.
   */
  async deleteExpiredTokens(batchSize: number): Promise<DeletedRows> {
    return this.#deleteBatch(Prisma.sql`
      DELETE FROM refresh_tokens WHERE jti IN (
        SELECT jti FROM refresh_tokens
         WHERE (SELECT held FROM guard) AND expires_at < now() - interval '7 days'
         ORDER BY expires_at LIMIT ${batchSize} FOR UPDATE SKIP LOCKED
      ) RETURNING 1`);
  }

  /** Deletes token families that expired a week ago and have no tokens left. */
  async deleteEmptyFamilies(batchSize: number): Promise<DeletedRows> {
    return this.#deleteBatch(Prisma.sql`
      DELETE FROM token_families WHERE id IN (
        SELECT id FROM token_families f
         WHERE (SELECT held FROM guard) AND expires_at < now() - interval '7 days'
           AND NOT EXISTS (SELECT FROM refresh_tokens t WHERE t.family_id = f.id)
         ORDER BY expires_at LIMIT ${batchSize} FOR UPDATE SKIP LOCKED
      ) RETURNING 1`);
  }

  /** Deletes expired counters of failed sign-ins, and known addresses without a sign-in in the last 30 days. */
  async deleteOldCounters(batchSize: number): Promise<DeletedRows> {
    return this.#deleteBatch(Prisma.sql`
      DELETE FROM sign_in_counters WHERE key IN (
        SELECT key FROM sign_in_counters
         WHERE (SELECT held FROM guard) AND window_ends < now()
         ORDER BY window_ends LIMIT ${batchSize} FOR UPDATE SKIP LOCKED
      ) RETURNING 1`);
  }

  /** Deletes audit events after their retention. Only this database function may delete them (see the migrations). */
  async deleteExpiredAuditEvents(retentionDays: number, batchSize: number): Promise<DeletedRows> {
    const rows = await this.#database.$queryRaw<{ deleted: number | null }[]>`
      WITH guard AS MATERIALIZED (SELECT pg_try_advisory_xact_lock(${cleanupLockKey}) AS held)
      SELECT CASE WHEN held THEN delete_expired_audit_events(${retentionDays}::int, ${batchSize}::int) END AS deleted
        FROM guard`;
    return rows[0]?.deleted ?? undefined;
  }

  /** Deletes events after their retention. */
  async deleteExpiredEvents(retentionDays: number, batchSize: number): Promise<DeletedRows> {
    return this.#deleteBatch(deleteExpiredEvents(Prisma.sql, { retentionDays, batchSize }));
  }

  /** Deletes codes that expired a day ago. Used codes are kept as long, to detect a second use. */
  async deleteOldCodes(batchSize: number): Promise<DeletedRows> {
    return this.#deleteBatch(Prisma.sql`
      DELETE FROM authorization_codes WHERE code_hash IN (
        SELECT code_hash FROM authorization_codes
         WHERE (SELECT held FROM guard) AND expires_at < now() - interval '1 day'
         ORDER BY expires_at LIMIT ${batchSize} FOR UPDATE SKIP LOCKED
      ) RETURNING 1`);
  }

  /** Deletes the sign-ins of browsers whose absolute end was a week ago. */
  async deleteOldSsoSessions(batchSize: number): Promise<DeletedRows> {
    return this.#deleteBatch(Prisma.sql`
      DELETE FROM sso_sessions WHERE id IN (
        SELECT id FROM sso_sessions
         WHERE (SELECT held FROM guard) AND expires_at < now() - interval '7 days'
         ORDER BY expires_at LIMIT ${batchSize} FOR UPDATE SKIP LOCKED
      ) RETURNING 1`);
  }

  /** Deletes the assertions of clients that have expired; their signature check refuses them. */
  async deleteOldAssertions(batchSize: number): Promise<DeletedRows> {
    return this.#deleteBatch(Prisma.sql`
      DELETE FROM client_assertions WHERE (client_id, jti_hash) IN (
        SELECT client_id, jti_hash FROM client_assertions
         WHERE (SELECT held FROM guard) AND expires_at < now()
         ORDER BY expires_at LIMIT ${batchSize} FOR UPDATE SKIP LOCKED
      ) RETURNING 1`);
  }

  async #deleteBatch(deletion: Prisma.Sql): Promise<DeletedRows> {
    return deleteBatch(this.#database, cleanupLockKey, deletion);
  }
}
