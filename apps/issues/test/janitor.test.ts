import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Janitor } from '@tessera/service-kit';
import { JanitorRepository } from '../src/janitor/janitor.repository.ts';
import { issuesSweeps } from '../src/janitor/sweeps.ts';
import { startTestApp, type TestApp } from './support/test-app.ts';

describe('the janitor of issues', () => {
  let app: TestApp;
  beforeAll(async () => {
    app = await startTestApp();
  });
  afterAll(() => app.close());

  const aJanitor = (options: { batchSize?: number } = {}) =>
    new Janitor({
      sweeps: issuesSweeps(new JanitorRepository(app.database)),
      logger: app.dependencies.logger,
      intervalSeconds: 0,
      ...options,
    });
  const addAnswers = (count: number, hoursAgo: number) =>
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

  it('deletes what is past its time, over several batches, and nothing else', async () => {
    await Promise.all([addAnswers(25, 26), addAnswers(7, 23), addDeliveries(25, 8), addDeliveries(7, 6)]);
    expect(await aJanitor({ batchSize: 10 }).run()).toEqual({ idempotency_keys: 25, tracker_deliveries: 25 });
    expect(await aJanitor().run()).toEqual({ idempotency_keys: 0, tracker_deliveries: 0 });
    expect(await app.sql('SELECT FROM idempotency_keys')).toHaveLength(7);
    expect(await app.sql('SELECT FROM tracker_deliveries')).toHaveLength(7);
  });

  it('shares its work with another one', async () => {
    await addAnswers(200, 30);
    const swept = await Promise.all([aJanitor({ batchSize: 5 }).run(), aJanitor({ batchSize: 5 }).run()]);
    const left = (
      await app.sql(`SELECT FROM idempotency_keys WHERE claimed_at < now() - interval '25 hours'`)
    ).length;
    expect(left + swept.reduce((sum, { idempotency_keys: count }) => sum + count, 0)).toBe(200);
    await aJanitor().run();
    expect(await app.sql('SELECT FROM idempotency_keys')).toHaveLength(7);
  });
});
