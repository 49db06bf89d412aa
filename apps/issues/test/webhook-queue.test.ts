import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { eventually } from '@tessera/stack/eventually';
import { untilDeliverable } from '@tessera/testing/event-horizon';
import { v7 as uuidv7 } from 'uuid';
import { Leases } from '../src/background/leases.ts';
import { WebhookDeliveryRepository } from '../src/webhooks/webhook-delivery.repository.ts';
import { createIssue } from './support/issues.ts';
import { aPerson, type TestPerson } from './support/people.ts';
import { startTestApp, type TestApp } from './support/test-app.ts';

let app: TestApp;
let ann: TestPerson;
beforeAll(async () => {
  app = await startTestApp({ WEBHOOK_ALLOWED_NETWORKS: '127.0.0.1/32' });
  ann = await aPerson(app, { is_staff: true });
});
afterAll(() => app.close());
beforeEach(() => app.sql('DELETE FROM webhook_endpoints'));

/** Adds an endpoint with eight deliveries of an event that only a later release knows. */
async function addEndpoint(url: string, { isEnabled }: { isEnabled: boolean }): Promise<string> {
  const id = uuidv7();
  await app.sql(
    `INSERT INTO webhook_endpoints (id, url, secret, created_by, is_enabled)
     VALUES ($1, $2, 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw', $3, false)`,
    [id, url, ann.id],
  );
  await app.sql(
    `INSERT INTO webhook_deliveries (endpoint_id, event_id, type, subject_id, data, event_at)
     SELECT $1, -number, 'issue.later', gen_random_uuid(), '{}', now() FROM generate_series(1, 8) number`,
    [id],
  );
  if (isEnabled) await app.sql('UPDATE webhook_endpoints SET is_enabled = true');
  return id;
}

/** Carries the result of a transaction that is rolled back. */
class RolledBack extends Error {
  readonly count: number;
  constructor(count: number) {
    super('rolled back');
    this.count = count;
  }
}

describe('the queue of deliveries', () => {
  it('sends other events past those that only a later release knows', async () => {
    const types: string[] = [];
    const server = createServer(async (request, response) => {
      const chunks: Buffer[] = [];
      for await (const chunk of request) chunks.push(chunk);
      types.push(JSON.parse(Buffer.concat(chunks).toString()).type);
      response.end();
      server.emit('received');
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const received = new Promise((resolve) => server.once('received', resolve));
    const { port } = server.address() as AddressInfo;
    await addEndpoint(`http://127.0.0.1:${port}/`, { isEnabled: true });
    await createIssue(ann);
    await received;
    expect(types).toEqual(['issue.created']);
    const rows = await app.sql(
      `SELECT state, attempts FROM webhook_deliveries WHERE type = 'issue.later' GROUP BY state, attempts`,
    );
    expect(rows).toEqual([{ state: 'pending', attempts: 0 }]);
    server.closeAllConnections();
    server.close();
  });

  it('leases four deliveries of an endpoint at once, and one while it fails', async () => {
    // Enabled only within a transaction, so that the app leases nothing.
    const id = await addEndpoint('http://127.0.0.1:9/', { isEnabled: false });
    const countLeases = async () => {
      return app.database
        .$transaction(async (transaction) => {
          await transaction.$executeRaw`UPDATE webhook_endpoints SET is_enabled = true WHERE id = ${id}::uuid`;
          const repository = new WebhookDeliveryRepository(transaction as TestApp['database'], new Leases());
          let count = 0;
          while ((await repository.lease()) !== undefined) count += 1;
          throw new RolledBack(count);
        })
        .catch(countOf);
    };
    expect(await countLeases()).toBe(4);
    await app.sql('UPDATE webhook_endpoints SET failing_since = now()');
    expect(await countLeases()).toBe(1);
  });

  it('sends what others have caused before a backlog of one actor, which disables nothing', async () => {
    const id = await addEndpoint('http://127.0.0.1:9/', { isEnabled: false });
    await app.sql('DELETE FROM webhook_deliveries');
    const bob = await aPerson(app);
    // No event is processed before this transaction ends.
    await app.database.$transaction(
      async (transaction) => {
        await transaction.$queryRaw`SELECT pg_current_xact_id()::text`;
        for (let count = 0; count < 20; count += 1) await createIssue(bob);
        await createIssue(ann);
        await app.sql(
          "UPDATE webhook_endpoints SET is_enabled = true, failing_since = now() - interval '1 day'",
        );
      },
      { timeout: 240_000 },
    );
    const waiting = () =>
      app.sql<{ actor: string; isBehind: boolean; count: number }>(
        `SELECT actor_id AS actor, is_behind AS "isBehind", count(*)::int FROM webhook_deliveries
          GROUP BY 1, 2 ORDER BY 3 DESC, 2`,
      );
    await untilDeliverable(app);
    app.dependencies.eventSignal.written();
    const found = await eventually(waiting, (rows) => rows.reduce((sum, { count }) => sum + count, 0) === 21);
    expect(found).toEqual([
      { actor: bob.id, isBehind: false, count: 10 },
      { actor: bob.id, isBehind: true, count: 10 },
      { actor: ann.id, isBehind: false, count: 1 },
    ]);
    await app.sql('UPDATE webhook_endpoints SET is_enabled = false');
    const add = (person: TestPerson, first: number) =>
      app.sql(
        `INSERT INTO webhook_deliveries (endpoint_id, event_id, type, subject_id, data, event_at, actor_id)
         SELECT $1, -number, 'issue.later', gen_random_uuid(), '{}', now(), $2
           FROM generate_series($3::int, $3::int + 100000) number`,
        [id, person.id, first],
      );
    const countDisabled = () =>
      app.database
        .$transaction(
          async (transaction) => {
            await transaction.$executeRaw`UPDATE webhook_endpoints SET is_enabled = true`;
            const queue = new WebhookDeliveryRepository(transaction as TestApp['database'], new Leases());
            throw new RolledBack((await queue.disableOverfull()).length);
          },
          { timeout: 240_000 },
        )
        .catch(countOf);
    await add(bob, 1);
    expect(await countDisabled()).toBe(0);
    await add(ann, 200_000);
    expect(await countDisabled()).toBe(1);
  });
});

function countOf(error: unknown): number {
  if (error instanceof RolledBack) return error.count;
  throw error;
}
