import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { v7 as uuidv7 } from 'uuid';
import { createIssue } from './support/issues.ts';
import { type IssuesService, startIssuesService } from './support/issues-service.ts';
import { aPerson, type TestPerson } from './support/people.ts';
import { startTestApp, type TestApp } from './support/test-app.ts';

// `WEBHOOK_EVENTS=2000` for a long run.
const events = Number(process.env.WEBHOOK_EVENTS ?? 60);
const secret = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw';
const environment = { WEBHOOK_ALLOWED_NETWORKS: '127.0.0.1/32', RATE_LIMIT_WRITES_PER_MINUTE: '0' };
const script = fileURLToPath(new URL('support/webhook-receiver.ts', import.meta.url));

interface Message {
  id: string;
  path: string;
  body: string;
}

let app: TestApp;
let ann: TestPerson;
let processes: IssuesService[];
let receiver: ChildProcess;
const messages: Message[] = [];

/** Starts a receiver in its own process. Returns its port. */
async function startReceiver(port = 0): Promise<number> {
  receiver = fork(script, [secret, String(port), '0.3'], {
    execArgv: ['--import', 'tsx'],
    env: { PATH: process.env.PATH },
  });
  const [ready] = (await once(receiver, 'message')) as [{ port: number }];
  receiver.on('message', (message) => messages.push(message as Message));
  return ready.port;
}

beforeAll(async () => {
  app = await startTestApp(environment);
  ann = await aPerson(app);
  processes = await Promise.all([startIssuesService(app, environment), startIssuesService(app, environment)]);
});
afterAll(async () => {
  receiver?.kill('SIGKILL');
  for (const one of processes ?? []) one.kill();
  await Promise.all((processes ?? []).map(({ ended }) => ended));
  await app.close();
});

it('each event arrives, with one id, although senders and receivers die', async () => {
  const port = await startReceiver();
  const url = `http://127.0.0.1:${port}/hook`;
  await app.sql('INSERT INTO webhook_endpoints (id, url, secret, created_by) VALUES ($1, $2, $3, $4)', [
    uuidv7(),
    url,
    secret,
    ann.id,
  ]);
  const people = [ann, ...processes.map((one) => ann.on(one))];
  const write = async (count: number) => {
    await Promise.all(
      people.map(async (person) => {
        // The requests to the killed process fail.
        for (let number = 0; number < count / 3; number += 1)
          await createIssue(person).catch(() => undefined);
      }),
    );
  };

  await write(events / 3);
  const writing = write(events / 3);
  receiver.kill('SIGKILL');
  await once(receiver, 'exit');
  processes[0]?.kill();
  await processes[0]?.ended;
  await writing;
  await startReceiver(port);
  await write(events / 2);

  const counts = async () => {
    // As after the delay of an attempt, and after the lease of a process that has died.
    await app.sql(
      `UPDATE webhook_deliveries SET next_attempt_at = clock_timestamp(), claim_id = NULL, claim_until = NULL
        WHERE state = 'pending' AND (claim_until IS NULL OR claim_until < clock_timestamp() + interval '55 seconds')`,
    );
    const [row] = await app.sql<{ events: number; delivered: number; failed: number }>(
      `SELECT (SELECT count(*)::int FROM events WHERE type = 'issue.created') AS events,
              (SELECT count(*)::int FROM webhook_deliveries WHERE state = 'delivered') AS delivered,
              (SELECT count(*)::int FROM webhook_deliveries WHERE state = 'failed') AS failed`,
    );
    return row ?? { events: 0, delivered: 0, failed: 0 };
  };
  for (;;) {
    const { events: written, delivered, failed } = await counts();
    expect(failed).toBe(0);
    if (delivered === written) break;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }

  const stored = await app.sql<{ id: number }>(
    `SELECT id::int FROM events WHERE type = 'issue.created' ORDER BY id`,
  );
  expect(stored.length).toBeGreaterThan(events / 2);
  expect(new Set(messages.map(({ path }) => path))).toEqual(new Set(['/hook']));
  const bodies = new Map(messages.map(({ id, body }) => [id, body]));
  expect(messages.filter(({ id, body }) => bodies.get(id) !== body)).toEqual([]);
  const ids = [...bodies.values()].map((body) => JSON.parse(body).id).sort((one, other) => one - other);
  expect(ids).toEqual(stored.map(({ id }) => id));
  expect(messages.length).toBeGreaterThan(stored.length);
  process.stderr.write(`${stored.length} events arrived in ${messages.length} requests\n`);
}, 600_000);
