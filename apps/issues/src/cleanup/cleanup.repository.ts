import { deleteBatch, deleteExpiredEvents } from '@tessera/service-kit';
import type { Database } from '../database.ts';
import { Prisma } from '../generated/prisma/client.ts';

// Advisory lock of the cleanup job. All replicas and releases must use the same value.
const cleanupLockKey = 7_355_608_003n;

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

  /** Deletes idempotency keys an hour after their responses expired. */
  async deleteExpiredResponses(batchSize: number): Promise<DeletedRows> {
    return this.#deleteBatch(Prisma.sql`
      DELETE FROM idempotency_keys WHERE (user_id, method, path, key) IN (
        SELECT user_id, method, path, key FROM idempotency_keys
         WHERE (SELECT held FROM guard) AND claimed_at < now() - interval '25 hours'
         ORDER BY claimed_at LIMIT ${batchSize} FOR UPDATE SKIP LOCKED
      ) RETURNING 1`);
  }

  /** Deletes webhook deliveries after a week. Trackers redeliver for a shorter time. */
  async deleteOldDeliveries(batchSize: number): Promise<DeletedRows> {
    return this.#deleteBatch(Prisma.sql`
      DELETE FROM tracker_deliveries WHERE (provider, delivery_id) IN (
        SELECT provider, delivery_id FROM tracker_deliveries
         WHERE (SELECT held FROM guard) AND received_at < now() - interval '7 days'
         ORDER BY received_at LIMIT ${batchSize} FOR UPDATE SKIP LOCKED
      ) RETURNING 1`);
  }

  /** Deletes notifications 90 days after their event, or 30 days after they were read. */
  async deleteExpiredNotifications(batchSize: number): Promise<DeletedRows> {
    return this.#deleteBatch(Prisma.sql`
      DELETE FROM notifications WHERE (identity_id, place) IN (
        SELECT identity_id, place FROM notifications
         WHERE (SELECT held FROM guard) AND expires_at < now()
         ORDER BY expires_at LIMIT ${batchSize} FOR UPDATE SKIP LOCKED
      ) RETURNING 1`);
  }

  /** Deletes the deliveries of events, with their attempts, after the retention of events. Keeps those that will be sent. */
  async deleteOldWebhookDeliveries(retentionDays: number, batchSize: number): Promise<DeletedRows> {
    return this.#deleteBatch(Prisma.sql`
      DELETE FROM webhook_deliveries WHERE id IN (
        SELECT d.id FROM webhook_deliveries d JOIN webhook_endpoints e ON e.id = d.endpoint_id
         WHERE (SELECT held FROM guard) AND d.created_at < now() - make_interval(days => ${retentionDays}::int)
           AND (d.state <> 'pending' OR NOT e.is_enabled)
         ORDER BY d.created_at LIMIT ${batchSize} FOR UPDATE OF d SKIP LOCKED
      ) RETURNING 1`);
  }

  /** Deletes events after their retention. */
  async deleteExpiredEvents(retentionDays: number, batchSize: number): Promise<DeletedRows> {
    return this.#deleteBatch(deleteExpiredEvents(Prisma.sql, { retentionDays, batchSize }));
  }

  /** Deletes sessions of the web app whose refresh tokens have expired. */
  async deleteExpiredSessions(batchSize: number): Promise<DeletedRows> {
    return this.#deleteBatch(Prisma.sql`
      DELETE FROM web_sessions WHERE id_hash IN (
        SELECT id_hash FROM web_sessions
         WHERE (SELECT held FROM guard) AND expires_at < now()
         ORDER BY expires_at LIMIT ${batchSize} FOR UPDATE SKIP LOCKED
      ) RETURNING 1`);
  }

  async #deleteBatch(deletion: Prisma.Sql): Promise<DeletedRows> {
    return deleteBatch(this.#database, cleanupLockKey, deletion);
  }
}
