// Measures the cost of events for writes: the throughput of creations, changes of status and comments, of a service that
// notifies other processes, divided by that with EVENTS_LISTEN=off, and the processor time of a write in the
// service and in PostgreSQL, which other programs disturb less. `pnpm bench:events [rounds]`, after
// `npx pnpm@12 build`. The variants are measured one after the other in each round, with a database each.
import { readdirSync, readFileSync } from 'node:fs';
import { Agent, request } from 'node:http';
import pg from 'pg';
import { FakeIdentity } from '../test/support/fake-identity.ts';
import { prepareRun } from '../test/support/global-setup.ts';
import { type IssuesService, startIssuesService } from '../test/support/issues-service.ts';
import { anEmail, password } from '../test/support/people.ts';
import { createTestDatabase } from '../test/support/test-database.ts';

const rounds = Number(process.argv[2] ?? 6);
const windowMs = 1_000;
const connections = 16;

const variants: Record<string, Record<string, string>> = {
  'EVENTS_LISTEN=off': { EVENTS_LISTEN: 'off' },
  default: {},
  'with a replica': {},
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
  // A second process listens for the notifications, and processes events too.
  const other =
    name === 'with a replica' ? await startIssuesService({ databaseUrl, identity }, environment) : undefined;
  const { email } = await identity.create({ email: anEmail(), password, is_staff: true });
  const people = await Promise.all(Array.from({ length: connections }, () => identity.signIn(email)));
  targets.push({ name, service, other, tokens: people.map(({ access_token }) => access_token) });
}
type Target = (typeof targets)[number];

interface Figures {
  perSecond: number;
  serviceMicros: number;
  postgresMicros: number;
}

const client = new pg.Client({ connectionString: postgres.adminUrl });
await client.connect();
const { rows } = await client.query<{ pid: number }>('SELECT pg_backend_pid() AS pid');
const postmaster = statOf(rows[0]?.pid ?? 0).parent;
await client.end();

const figures = new Map<string, Figures[]>();
for (let round = -1; round < rounds; round += 1) {
  for (const write of writes) {
    // The order changes, so that no variant is always first.
    for (const target of round % 2 === 0 ? targets : targets.toReversed()) {
      const measured = await measure(target, write);
      const key = `${target.name} ${write}`;
      // The first round warms up.
      if (round >= 0) figures.set(key, [...(figures.get(key) ?? []), measured]);
    }
  }
}
for (const write of writes) {
  const base = figures.get(`EVENTS_LISTEN=off ${write}`) ?? [];
  for (const { name } of targets) {
    const own = figures.get(`${name} ${write}`) ?? [];
    const ratios = own.map(({ perSecond }, index) => perSecond / (base[index]?.perSecond ?? Number.NaN));
    const middle = (member: keyof Figures) => median(own.map((one) => one[member])).toFixed(0);
    console.log(
      write.padEnd(8),
      name.padEnd(18),
      `${middle('perSecond').padStart(5)} per second, ratio ${median(ratios).toFixed(2)};`,
      `CPU ${middle('serviceMicros')} µs in the service, ${middle('postgresMicros')} µs in PostgreSQL`,
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

/** Returns the parent of a process and its processor time, with that of its ended children, in microseconds: proc(5). */
function statOf(pid: number) {
  const line = readFileSync(`/proc/${pid}/stat`, 'utf8');
  const fields = line.slice(line.lastIndexOf(')') + 2).split(' ');
  const ticks = [11, 12, 13, 14].reduce((sum, index) => sum + Number(fields[index]), 0);
  return { parent: Number(fields[1]), micros: ticks * 10_000 };
}

function postgresMicros(): number {
  const pids = readdirSync('/proc').filter((name) => /^\d+$/.test(name));
  const stats = pids.flatMap((pid) => {
    try {
      return [{ pid: Number(pid), ...statOf(Number(pid)) }];
    } catch {
      // The process has ended.
      return [];
    }
  });
  return stats.reduce(
    (sum, { pid, parent, micros }) => (pid === postmaster || parent === postmaster ? sum + micros : sum),
    0,
  );
}

/** Sends writes on all connections for a time. */
async function measure({ service, tokens }: Target, write: Write): Promise<Figures> {
  const ids = await Promise.all(tokens.map((token) => create(service, token)));
  const [ownBefore, postgresBefore] = [statOf(service.pid ?? 0).micros, postgresMicros()];
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
  return {
    perSecond: (responses * 1000) / windowMs,
    serviceMicros: (statOf(service.pid ?? 0).micros - ownBefore) / responses,
    postgresMicros: (postgresMicros() - postgresBefore) / responses,
  };
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
