import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { v7 as uuidv7 } from 'uuid';
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
      try {
        await app.database.$transaction(async (transaction) => {
          await transaction.$executeRaw`UPDATE webhook_endpoints SET is_enabled = true WHERE id = ${id}::uuid`;
          const repository = new WebhookDeliveryRepository(transaction as TestApp['database']);
          let count = 0;
          while ((await repository.lease()) !== undefined) count += 1;
          throw new RolledBack(count);
        });
      } catch (error) {
        if (error instanceof RolledBack) return error.count;
        throw error;
      }
    };
    expect(await countLeases()).toBe(4);
    await app.sql('UPDATE webhook_endpoints SET failing_since = now()');
    expect(await countLeases()).toBe(1);
  });
});
