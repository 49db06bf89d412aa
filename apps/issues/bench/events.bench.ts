// Measures the cost of events for writes: the throughput of creations, changes of status and comments, of a service that
// writes events and notifies other processes, divided by that with EVENTS=off. `pnpm bench:events [rounds]`, after
// `npx pnpm@12 build`. The variants are measured one after the other in each round, with a database each.
import { Agent, request } from 'node:http';
import { FakeIdentity } from '../test/support/fake-identity.ts';
import { prepareRun } from '../test/support/global-setup.ts';
import { type IssuesService, startIssuesService } from '../test/support/issues-service.ts';
import { anEmail, password } from '../test/support/people.ts';
import { createTestDatabase } from '../test/support/test-database.ts';

const rounds = Number(process.argv[2] ?? 6);
const windowMs = 1_000;
const connections = 16;

const variants: Record<string, Record<string, string>> = {
  'EVENTS=off': { EVENTS: 'off' },
  'EVENTS_LISTEN=off': { EVENTS_LISTEN: 'off' },
  default: {},
};
const writes = ['create', 'status', 'comment'] as const;
type Write = (typeof writes)[number];

const postgres = await prepareRun();
const identity = await FakeIdentity.start();
const agent = new Agent({ keepAlive: true, maxSockets: connections });
const targets = [];
for (const [name, environment] of Object.entries(variants)) {
  const databaseUrl = await createTestDatabase();
  const service = await startIssuesService({ databaseUrl, identity }, environment);
  // A second process of the default variant listens for the notifications.
  const other =
    name === 'default' ? await startIssuesService({ databaseUrl, identity }, environment) : undefined;
  const { email } = await identity.create({ email: anEmail(), password, is_staff: true });
  const people = await Promise.all(Array.from({ length: connections }, () => identity.signIn(email)));
  targets.push({ name, service, other, tokens: people.map(({ access_token }) => access_token) });
}
type Target = (typeof targets)[number];

const rates = new Map<string, number[]>();
for (let round = -1; round < rounds; round += 1) {
  for (const write of writes) {
    // The order changes, so that no variant is always first.
    for (const target of round % 2 === 0 ? targets : targets.toReversed()) {
      const rate = await measure(target, write);
      const key = `${target.name} ${write}`;
      // The first round warms up.
      if (round >= 0) rates.set(key, [...(rates.get(key) ?? []), rate]);
    }
  }
}
for (const write of writes) {
  const base = rates.get(`EVENTS=off ${write}`) ?? [];
  for (const { name } of targets) {
    const own = rates.get(`${name} ${write}`) ?? [];
    const ratios = own.map((rate, index) => rate / (base[index] ?? Number.NaN));
    console.log(
      write.padEnd(10),
      name.padEnd(20),
      `${median(own).toFixed(0).padStart(5)} per second, ratio ${median(ratios).toFixed(2)}`,
    );
  }
}
agent.destroy();
for (const { service, other } of targets) await Promise.all([service.stop(), other?.stop()]);
await identity.stop();
await postgres.stop();

function median(values: number[]): number {
  return values.toSorted((one, other) => one - other)[Math.floor(values.length / 2)] ?? Number.NaN;
}

/** Sends writes on all connections for a time. Returns the number of responses per second. */
async function measure({ service, tokens }: Target, write: Write): Promise<number> {
  const ids = await Promise.all(tokens.map((token) => create(service, token)));
  const end = performance.now() + windowMs;
  let responses = 0;
  await Promise.all(
    tokens.map(async (token, index) => {
      for (let number = 0; performance.now() < end; number += 1) {
        if (write === 'create') await create(service, token);
        else await change(service, token, { write, id: ids[index] ?? '', number });
        responses += 1;
      }
    }),
  );
  return (responses * 1000) / windowMs;
}

async function create(service: IssuesService, token: string): Promise<string> {
  const body = await send(service, token, '/api/v1/issues/', { title: 'An issue of the bench' });
  return JSON.parse(body).id;
}

function change(
  service: IssuesService,
  token: string,
  { write, id, number }: { write: Write; id: string; number: number },
): Promise<string> {
  const path = `/api/v1/issues/${id}/`;
  return write === 'comment'
    ? send(service, token, `${path}comments/`, { body: 'A comment of the bench' })
    : send(service, token, `${path}status/`, { status: number % 2 === 0 ? 'IN_PROGRESS' : 'OPEN' });
}

function send({ url }: IssuesService, token: string, path: string, body: object): Promise<string> {
  return new Promise((resolve, reject) => {
    const headers = { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' };
    const sent = request(`${url}${path}`, { method: 'POST', headers, agent }, (response) => {
      let text = '';
      response.setEncoding('utf8');
      response.on('data', (chunk: string) => {
        text += chunk;
      });
      response.on('end', () =>
        (response.statusCode ?? 500) < 300
          ? resolve(text)
          : reject(new Error(`${response.statusCode} ${text}`)),
      );
    });
    sent.on('error', reject);
    sent.end(JSON.stringify(body));
  });
}
