import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { CleanupJob } from '@tessera/service-kit';
import { CleanupRepository } from '../src/cleanup/cleanup.repository.ts';
import { cleanupTasks } from '../src/cleanup/cleanup-tasks.ts';
import { startTestApp, type TestApp } from './support/test-app.ts';

describe('the cleanup job', () => {
  let app: TestApp;
  beforeAll(async () => {
    app = await startTestApp();
  });
  afterAll(() => app.close());

  const aCleanup = (options: { batchSize?: number } = {}) =>
    new CleanupJob({
      tasks: cleanupTasks(new CleanupRepository(app.database), { eventRetentionDays: 7 }),
      logger: app.dependencies.logger,
      intervalSeconds: 0,
      ...options,
    });
  const addResponses = (count: number, hoursAgo: number) =>
    app.sql(
      `INSERT INTO idempotency_keys (user_id, method, path, key, fingerprint, claimed_at)
       SELECT $1, 'POST', '/', 'key-' || n || '-' || $3::int, 'x', now() - $3::int * interval '1 hour'
         FROM generate_series(1, $2::int) n`,
      [randomUUID(), count, hoursAgo],
    );
  const addDeliveries = (count: number, daysAgo: number) =>
    app.sql(
      `INSERT INTO tracker_deliveries (provider, delivery_id, received_at)
       SELECT 'gitea', 'id-' || n || '-' || $2::int, now() - $2::int * interval '1 day' FROM generate_series(1, $1::int) n`,
      [count, daysAgo],
    );

  const addNotifications = (count: number, daysAgo: number) =>
    app.sql(
      `INSERT INTO notifications (identity_id, place, event_id, reason, type, issue_id, created_at, expires_at)
       SELECT gen_random_uuid(), 1, n, 'watching', 'issue.updated', gen_random_uuid(), now(),
              now() - $2::int * interval '1 day' FROM generate_series(1, $1::int) n`,
      [count, daysAgo],
    );

  it('deletes only expired rows, in several batches', async () => {
    await Promise.all([addResponses(25, 26), addResponses(7, 23), addDeliveries(25, 8), addDeliveries(7, 6)]);
    await Promise.all([addNotifications(25, 1), addNotifications(7, -1)]);
    expect(await aCleanup({ batchSize: 10 }).run()).toEqual({
      idempotency_keys: 25,
      tracker_deliveries: 25,
      notifications: 25,
      webhook_deliveries: 0,
      events: 0,
      web_sessions: 0,
      attachments: 0,
      blob_deletions: 0,
      revoked_web_sessions: 0,
    });
    expect(Object.values(await aCleanup().run())).toEqual([0, 0, 0, 0, 0, 0, 0, 0, 0]);
    expect(await app.sql('SELECT FROM idempotency_keys')).toHaveLength(7);
    expect(await app.sql('SELECT FROM tracker_deliveries')).toHaveLength(7);
    expect(await app.sql('SELECT FROM notifications')).toHaveLength(7);
  });

  it('deletes each row once when two jobs run at the same time', async () => {
    await addResponses(200, 30);
    const deleted = await Promise.all([aCleanup({ batchSize: 5 }).run(), aCleanup({ batchSize: 5 }).run()]);
    const left = (
      await app.sql(`SELECT FROM idempotency_keys WHERE claimed_at < now() - interval '25 hours'`)
    ).length;
    expect(left + deleted.reduce((sum, { idempotency_keys: count }) => sum + count, 0)).toBe(200);
    await aCleanup().run();
    expect(await app.sql('SELECT FROM idempotency_keys')).toHaveLength(7);
  });
});
