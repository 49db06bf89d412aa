import { createServer, type IncomingHttpHeaders, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, beforeEach, expect, it } from '@jest/globals';
import type { Issue } from '@tessera/contracts';
import { eventually } from '@tessera/stack/eventually';
import { expectProblem } from '@tessera/testing/problems';
import { Webhook } from 'standardwebhooks';
import { v7 as uuidv7 } from 'uuid';
import { CleanupRepository } from '../src/cleanup/cleanup.repository.ts';
import { cleanupTasks } from '../src/cleanup/cleanup-tasks.ts';
import { retryDelay } from '../src/webhooks/webhook-dispatcher.ts';
import { createIssue, issuePath } from './support/issues.ts';
import { aPerson, type TestPerson } from './support/people.ts';
import { startTestApp, type TestApp } from './support/test-app.ts';

const secret = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw';
const environment = { WEBHOOK_ALLOWED_NETWORKS: '127.0.0.1/32', RATE_LIMIT_WRITES_PER_MINUTE: '0' };

interface Received {
  headers: IncomingHttpHeaders;
  body: string;
  path: string;
}

/** An endpoint of another system. */
class Receiver {
  readonly received: Received[] = [];
  answer: (response: ServerResponse, request: Received) => void = (response) => response.writeHead(204).end();
  readonly #waiting = new Set<() => void>();
  readonly #server: Server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk);
    const { headers, url: path = '' } = request;
    const received = { headers, body: Buffer.concat(chunks).toString(), path };
    this.received.push(received);
    this.answer(response, received);
    for (const check of this.#waiting) check();
  });

  async start(): Promise<void> {
    await new Promise<void>((resolve) => this.#server.listen(0, '127.0.0.1', resolve));
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** Resolves when a number of requests has arrived. */
  async until(count: number): Promise<void> {
    await new Promise<void>((resolve) => {
      const check = () => {
        if (this.received.length < count) return;
        this.#waiting.delete(check);
        resolve();
      };
      this.#waiting.add(check);
      check();
    });
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }
}

let app: TestApp;
let ann: TestPerson;
let receiver: Receiver;
beforeAll(async () => {
  receiver = new Receiver();
  await receiver.start();
  app = await startTestApp(environment);
  ann = await aPerson(app, { is_staff: true });
});
afterAll(async () => {
  await app.close();
  await receiver.stop();
});
beforeEach(async () => {
  await app.sql('DELETE FROM webhook_endpoints');
  receiver.received.length = 0;
  receiver.answer = (response) => response.writeHead(204).end();
});

async function addEndpoint(values: Partial<{ url: string; types: string[]; failingSince: Date }> = {}) {
  const id = uuidv7();
  await app.sql(
    `INSERT INTO webhook_endpoints (id, url, types, secret, created_by, failing_since) VALUES ($1, $2, $3, $4, $5, $6)`,
    [
      id,
      values.url ?? `${receiver.url}/hook`,
      values.types ?? [],
      secret,
      ann.id,
      values.failingSince ?? null,
    ],
  );
  return id;
}

interface DeliveryRow {
  id: string;
  state: string;
  attempts: number;
  next: number | null;
  log: { status: number | null; error: string | null; answer: string | null }[];
}

async function deliveriesOf(endpointId: string): Promise<DeliveryRow[]> {
  return app.sql<DeliveryRow>(
    `SELECT d.id, state, attempts, extract(epoch FROM next_attempt_at - clock_timestamp())::float8 AS next,
            (SELECT coalesce(jsonb_agg(jsonb_build_object('status', status, 'error', error, 'answer', answer) ORDER BY number), '[]')
               FROM webhook_attempts a WHERE a.delivery_id = d.id) AS log
       FROM webhook_deliveries d WHERE endpoint_id = $1 ORDER BY id`,
    [endpointId],
  );
}

/** Reads the deliveries until they are as expected. */
const untilDeliveries = (endpointId: string, isExpected: (rows: DeliveryRow[]) => boolean) =>
  eventually(() => deliveriesOf(endpointId), isExpected);
const isAttempted = ([row]: DeliveryRow[]) => row !== undefined && row.log.length > 0;

/** Makes all pending deliveries due, as after their delay. */
const passDelay = () =>
  app.sql("UPDATE webhook_deliveries SET next_attempt_at = clock_timestamp() WHERE state = 'pending'");

it('sends each matching event, signed, as the feed shows it', async () => {
  const all = await addEndpoint();
  await addEndpoint({ url: `${receiver.url}/status`, types: ['issue.status_changed'] });
  const issue: Issue = await createIssue(ann);
  await ann.post(`${issuePath(issue)}comments/`, { body: 'x' }).expect(201);
  await receiver.until(2);
  const feed = await ann.get('/api/v1/events/').expect(200);
  for (const { headers, body, path } of receiver.received) {
    expect(path).toBe('/hook');
    expect(headers['content-type']).toBe('application/json');
    const event = new Webhook(secret).verify(body, headers as Record<string, string>);
    expect(feed.body.events).toContainEqual(event);
  }
  const ids = receiver.received.map(({ headers }) => headers['webhook-id']);
  expect(new Set(ids).size).toBe(2);
  const rows = await untilDeliveries(all, (found) => found.every(({ state }) => state === 'delivered'));
  expect(rows).toHaveLength(2);
});

it.each([
  [
    'an error',
    (response: ServerResponse) => response.writeHead(500).end('broken\0'),
    500,
    'http_error',
    'broken\uFFFD',
  ],
  [
    'a redirect, which is not followed',
    (response: ServerResponse) => response.writeHead(302, { location: `${receiver.url}/else` }).end(),
    302,
    'redirect',
    '',
  ],
  [
    'a 304, which is no redirect',
    (response: ServerResponse) => response.writeHead(304).end(),
    304,
    'http_error',
    '',
  ],
  ['a closed connection', (response: ServerResponse) => response.destroy(), null, 'connection_failed', null],
  [
    'a response that ends too early',
    (response: ServerResponse) => {
      response.writeHead(200, { 'content-length': '10' }).write('x');
      setImmediate(() => response.destroy());
    },
    200,
    'incomplete_response',
    'x',
  ],
] as const)('repeats after %s, with the same id', async (_, answer, status, error, text) => {
  receiver.answer = answer;
  const endpoint = await addEndpoint();
  await createIssue(ann);
  const [first] = await untilDeliveries(endpoint, isAttempted);
  expect(first).toMatchObject({ state: 'pending', attempts: 1, log: [{ status, error, answer: text }] });
  expect(first?.next).toBeGreaterThan(3);
  expect(first?.next).toBeLessThan(6);
  receiver.answer = (response) => response.writeHead(200).end('ok');
  await passDelay();
  const [second] = await untilDeliveries(endpoint, ([row]) => row?.state === 'delivered');
  expect(second?.log[1]).toEqual({ status: 200, error: null, answer: 'ok' });
  const [one, two] = receiver.received;
  expect(receiver.received).toHaveLength(2);
  expect(two?.headers['webhook-id']).toBe(one?.headers['webhook-id']);
  expect(two?.body).toBe(one?.body);
});

it('keeps the first 2 kB of a response and does not read the rest', async () => {
  const endpoint = await addEndpoint();
  receiver.answer = (response) => {
    response.writeHead(200);
    // Written as long as the connection is open.
    const write = () => {
      if (!response.destroyed) response.write('x'.repeat(64 * 1024), () => setImmediate(write));
    };
    write();
  };
  await createIssue(ann);
  const [row] = await untilDeliveries(endpoint, isAttempted);
  expect(row).toMatchObject({ state: 'delivered', log: [{ status: 200, answer: 'x'.repeat(2048) }] });
});

it.each([
  ['600', 600],
  ['99999999999999999999', 86_400],
])('waits as long as Retry-After asks for, at most a day: %s', async (value, seconds) => {
  const endpoint = await addEndpoint();
  receiver.answer = (response) => response.writeHead(429, { 'retry-after': value }).end();
  await createIssue(ann);
  const [row] = await untilDeliveries(endpoint, isAttempted);
  expect(row?.next).toBeGreaterThan(seconds - 10);
  expect(row?.next).toBeLessThan(seconds + 1);
});

it('disables an endpoint that responds 410, and one whose attempts have failed for five days', async () => {
  const days = 24 * 3600 * 1000;
  const gone = await addEndpoint();
  const failing = await addEndpoint({
    url: `${receiver.url}/failing`,
    failingSince: new Date(Date.now() - 5.1 * days),
  });
  const recent = await addEndpoint({
    url: `${receiver.url}/recent`,
    failingSince: new Date(Date.now() - 4.9 * days),
  });
  receiver.answer = (response, { path }) => response.writeHead(path === '/hook' ? 410 : 503).end();
  await createIssue(ann);
  for (const id of [gone, failing, recent]) await untilDeliveries(id, isAttempted);
  const rows = await app.sql('SELECT id, is_enabled, disabled_reason FROM webhook_endpoints ORDER BY id');
  expect(rows).toEqual([
    { id: gone, is_enabled: false, disabled_reason: 'gone' },
    { id: failing, is_enabled: false, disabled_reason: 'failing' },
    { id: recent, is_enabled: true, disabled_reason: null },
  ]);
  expect(app.log.join('\n')).toContain('webhook endpoint disabled');
});

it('never connects to an internal address', async () => {
  const endpoint = await addEndpoint({ url: receiver.url.replace('127.0.0.1', '127.0.0.2') });
  await createIssue(ann);
  const [row] = await untilDeliveries(endpoint, isAttempted);
  expect(row?.log).toEqual([{ status: null, error: 'forbidden_target', answer: null }]);
});

it('sends each event once over two processes', async () => {
  const second = await startTestApp(environment, app);
  try {
    const endpoint = await addEndpoint();
    await Promise.all(Array.from({ length: 40 }, () => createIssue(ann)));
    await untilDeliveries(
      endpoint,
      (rows) => rows.filter(({ state }) => state === 'delivered').length === 40,
    );
    expect(new Set(receiver.received.map(({ headers }) => headers['webhook-id'])).size).toBe(40);
    expect(receiver.received).toHaveLength(40);
  } finally {
    await second.close();
  }
});

it('takes over the deliveries of a process that has died', async () => {
  const endpoint = await addEndpoint();
  // A lease that no process releases.
  await app.sql(
    `INSERT INTO webhook_deliveries (endpoint_id, event_id, type, subject_id, data, event_at, claim_id, claim_until)
     SELECT $1, id, type, subject_id, data, at, gen_random_uuid(), clock_timestamp() + interval '1 hour' FROM events
      WHERE type = 'issue.created' LIMIT 1`,
    [endpoint],
  );
  await createIssue(ann);
  await receiver.until(1);
  await app.sql(
    "UPDATE webhook_deliveries SET claim_until = clock_timestamp() - interval '1 second' WHERE attempts = 0",
  );
  await receiver.until(2);
  expect(
    await untilDeliveries(endpoint, (rows) => rows.every(({ state }) => state === 'delivered')),
  ).toHaveLength(2);
});

it('sends nothing of a project that was sealed since, shows none of it, and keeps it among those of the endpoint', async () => {
  const project = (await ann.post('/api/v1/projects/', { key: 'SEAL', name: 'Sealed later' }).expect(201))
    .body;
  const endpoint = await addEndpoint();
  const path = `/api/v1/webhooks/${endpoint}/`;
  const patched = await ann.patch(path, { projects: ['SEAL'] }).expect(200);
  expect(patched.body.projects).toEqual(['SEAL']);
  const create = () => createIssue(ann, { project: 'SEAL' });
  await create();
  const [delivered] = await untilDeliveries(endpoint, ([row]) => row?.state === 'delivered');
  receiver.answer = (response) => response.writeHead(500).end();
  await create();
  await untilDeliveries(endpoint, ([, row]) => row?.attempts === 1);
  await ann.patch('/api/v1/projects/SEAL/', { visibility: 'sealed' }).expect(200);
  await passDelay();
  await untilDeliveries(endpoint, (rows) => rows.length === 1);
  expect(receiver.received).toHaveLength(2);
  expect((await ann.get(`${path}deliveries/`).expect(200)).body).toEqual([]);
  const shown = `${path}deliveries/${delivered?.id}/`;
  expectProblem(await ann.get(shown), 404, 'delivery_not_found');
  expectProblem(await ann.post(`${shown}redeliver/`), 404, 'delivery_not_found');
  expect((await ann.patch(path, { projects: [] }).expect(200)).body.projects).toEqual([]);
  const rows = await app.sql('SELECT project_ids FROM webhook_endpoints WHERE id = $1', [endpoint]);
  expect(rows).toEqual([{ project_ids: [project.id] }]);
});

it('signs with the previous secret too for a time after a rotation', async () => {
  const previous = `whsec_${Buffer.alloc(24, 7).toString('base64')}`;
  const endpoint = await addEndpoint();
  await app.sql(
    "UPDATE webhook_endpoints SET previous_secret = $2, previous_secret_until = clock_timestamp() + interval '1 hour' WHERE id = $1",
    [endpoint, previous],
  );
  await createIssue(ann);
  await receiver.until(1);
  const [{ body, headers } = { body: '', headers: {} }] = receiver.received;
  for (const each of [secret, previous])
    expect(new Webhook(each).verify(body, headers as Record<string, string>)).toBeTruthy();
});

it('deletes old deliveries with their attempts, but none that will be sent', async () => {
  const [enabled, disabled] = [await addEndpoint(), await addEndpoint({ url: `${receiver.url}/disabled` })];
  await app.sql('UPDATE webhook_endpoints SET is_enabled = false WHERE id = $1', [disabled]);
  for (const [endpoint, state, days] of [
    [enabled, 'delivered', 8],
    [enabled, 'delivered', 6],
    [enabled, 'pending', 8],
    [disabled, 'pending', 8],
  ])
    await app.sql(
      `WITH delivery AS (
         INSERT INTO webhook_deliveries (endpoint_id, type, subject_id, data, event_at, state, next_attempt_at, created_at)
         VALUES ($1, 'webhook.test', gen_random_uuid(), '{}', now(), $2, now() + interval '1 hour', now() - $3 * interval '1 day')
         RETURNING id)
       INSERT INTO webhook_attempts (delivery_id, number, started_at, duration_ms) SELECT id, 1, now(), 1 FROM delivery`,
      [endpoint, state, days],
    );
  const tasks = cleanupTasks(new CleanupRepository(app.database), { eventRetentionDays: 7 });
  expect(await tasks.webhook_deliveries(100)).toBe(2);
  const left =
    'SELECT state FROM webhook_deliveries JOIN webhook_attempts ON delivery_id = id ORDER BY state';
  expect(await app.sql(left)).toEqual([{ state: 'delivered' }, { state: 'pending' }]);
});

it('attempts ten times over three days', () => {
  const failed = { error: 'http_error', status: 500, retryAfterSeconds: undefined } as const;
  const delays = Array.from({ length: 10 }, (_, attempts) => retryDelay({ attempts }, failed));
  const expected = [5, 300, 1800, 7200, 18_000, 36_000, 50_400, 72_000, 86_400];
  for (const [index, seconds] of expected.entries()) {
    expect(delays[index]).toBeGreaterThanOrEqual(seconds);
    expect(delays[index]).toBeLessThanOrEqual(seconds * 1.2);
  }
  expect(delays[9]).toBeUndefined();
});
