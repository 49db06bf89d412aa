import { randomInt, randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { IssuesClient, ProblemError } from '@tessera/client/issues';
import type { TokenResponse } from '@tessera/contracts';
import { type Stack, startStack } from '@tessera/stack';
import { eventually } from '@tessera/stack/eventually';
import { type ReplicatedPostgres, startReplicatedPostgres } from '@tessera/stack/postgres';
import pg from 'pg';
import { issuesClient, signUp } from './support/clients.ts';

/** Number of reads after own writes, of all tests together. */
const reads = Number(process.env.STANDBY_READS ?? 240);
const clients = 6;
const position = 'x-data-position';

let postgres: ReplicatedPostgres;
let stack: Stack;
let tokens: TokenResponse;

beforeAll(async () => {
  postgres = await startReplicatedPostgres({ isSynchronous: false });
  stack = await startStack({
    postgres,
    standbyUrl: postgres.urls.standby,
    replicas: { issues: 2 },
    environment: {
      identity: { ACCESS_TOKEN_TTL_SECONDS: '3600' },
      issues: { DATABASE_STATEMENT_TIMEOUT_MS: '2000', METRICS_PORT: '0' },
    },
  });
  tokens = await signUp(stack, 'ann', { is_staff: true });
  for (const service of stack.issues) {
    await service.untilReady();
    await eventually(() => service.log.includes('lists are read from the standby'));
  }
});
afterAll(async () => {
  expect(await stack.stop()).toEqual([0, 0, 0]);
});

const onServer = async (place: 'primary' | 'standby', text: string) => {
  const client = new pg.Client({ connectionString: postgres.urls[place] });
  await client.connect();
  try {
    return (await client.query(text)).rows;
  } finally {
    await client.end();
  }
};
const pauseReplay = () => onServer('standby', 'SELECT pg_wal_replay_pause()');
const resumeReplay = () => onServer('standby', 'SELECT pg_wal_replay_resume()');

/** A client whose requests go to either replica. */
function anyReplica(): IssuesClient {
  const send: typeof fetch = (input, init) => {
    const url = new URL(String(input));
    url.host = new URL(stack.issues[randomInt(stack.issues.length)]?.url ?? '').host;
    return fetch(url, init);
  };
  return new IssuesClient({ baseUrl: stack.urls.issues, token: tokens.access_token, fetch: send });
}

interface Tally {
  reads: number;
  stale: number;
  /** Requests that got an error, by its status. */
  refused: Record<string, number>;
  /** How many lists the standby has served. */
  fromStandby: number;
}

async function servedByStandby(): Promise<number> {
  const counts = stack.issues.map(async ({ log }) => {
    const [, port] = /"metrics_port":(\d+)/.exec(log) ?? [];
    const text = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
    return Number(/^issues_list_reads_total\{server="standby"[^}]*\} (\d+)$/m.exec(text)?.[1] ?? 0);
  });
  return (await Promise.all(counts)).reduce((sum, count) => sum + count, 0);
}

/** Changes issues of its own and reads each change in a list, until `isOver`; counts what is not the own change. */
async function readOwnWrites(tally: Tally, isOver: () => boolean): Promise<void> {
  const client = anyReplica();
  const issue = await succeeding(() => client.create({ title: randomUUID() }));
  const orRefusal = async <Value>(request: Promise<Value>): Promise<Value | undefined> => {
    try {
      return await request;
    } catch (error) {
      if (!(error instanceof ProblemError)) throw error;
      tally.refused[error.status] = (tally.refused[error.status] ?? 0) + 1;
      return undefined;
    }
  };
  while (!isOver()) {
    const title = `Own ${randomUUID()}`;
    // A change without a response may be committed, or not.
    if ((await orRefusal(client.update(issue.key, { title }))) === undefined) continue;
    const listed = await orRefusal(listOnce(client, issue.key, title));
    if (listed === undefined) continue;
    tally.reads += 1;
    if (!listed.includes(title)) tally.stale += 1;
  }
}

async function listOnce(client: IssuesClient, key: string, title: string): Promise<string[]> {
  const titles: string[] = [];
  const query = [
    { id: [key], fields: ['title' as const] },
    { search: `"${title.slice(4)}"`, fields: ['title' as const] },
    { ordering: ['-updated_at' as const], limit: 50, fields: ['title' as const] },
  ][randomInt(3)];
  for await (const one of client.list(query)) {
    titles.push(one.title);
    if (titles.length === 50) break;
  }
  return titles;
}

const succeeding = <Value>(request: () => Promise<Value>): Promise<Value> =>
  eventually(() => request().catch(() => undefined)) as Promise<Value>;

function expectOwnWrites({ stale, refused, fromStandby }: Tally): void {
  expect({ stale, refused }).toEqual({ stale: 0, refused: {} });
  expect(fromStandby).toBeGreaterThan(0);
}

/** Runs clients while `disturb` runs again and again, until there were enough reads. */
async function readWhile(disturb: () => Promise<void>): Promise<Tally> {
  const tally: Tally = { reads: 0, stale: 0, refused: {}, fromStandby: -(await servedByStandby()) };
  let isDisturbed = false;
  const isOver = () => isDisturbed && tally.reads >= reads / 3;
  const working = Promise.all(Array.from({ length: clients }, () => readOwnWrites(tally, isOver)));
  do {
    await disturb();
    isDisturbed = true;
  } while (!isOver());
  await working;
  tally.fromStandby += await servedByStandby();
  if (process.env.STANDBY_READS !== undefined) process.stdout.write(`${JSON.stringify(tally)}\n`);
  return tally;
}

it('lists, searches and counts come from the standby, and have what their position has', async () => {
  const api = issuesClient(stack, tokens);
  const created = await api.post('/issues/', { title: 'Before' });
  expect(created.headers[position]).toMatch(/^00000001[\dA-F]{16}$/);
  const see = async (path: string, headers = {}) => JSON.stringify((await api.get(path, { headers })).data);
  const paths = [
    '/issues/?ordering=number',
    '/issue-pages/',
    '/issues/?search=printer',
    '/issues/counts/?by=priority',
  ];
  await eventually(async () => (await see('/issues/')).includes('Before'));
  await pauseReplay();
  const before = await Promise.all(paths.map((path) => see(path)));
  const change = { title: 'A printer', priority: 'CRITICAL' };
  const changed = await api.patch(`/issues/${created.data.id}`, change);
  expect(await Promise.all(paths.map((path) => see(path)))).toEqual(before);
  const own = { [position]: changed.headers[position] };
  const after = await Promise.all(paths.map((path) => see(path, own)));
  for (const [index, text] of after.entries()) expect(text).not.toBe(before[index]);
  // Reads of one issue are of the primary, and so is the feed, which tells its position.
  expect((await api.get(`/issues/${created.data.id}`)).data.title).toBe('A printer');
  expect((await api.get('/events/')).headers[position] >= changed.headers[position]).toBe(true);
  await resumeReplay();
  await eventually(async () => (await see('/issues/')).includes('A printer'));
  expect(await Promise.all(paths.map((path) => see(path)))).toEqual(after);
});

it('a position is checked, and one that no database has fails no list', async () => {
  const api = issuesClient(stack, tokens);
  const list = (value: string) => api.get('/issues/', { headers: { [position]: value } });
  for (const value of ['7', "0'; SELECT 1", 'f'.repeat(24), 'F'.repeat(4_000)]) {
    const { status, data } = await list(value);
    expect([status, data.errors]).toEqual([
      422,
      [{ field: 'X-Data-Position', message: 'must be the value of an earlier response' }],
    ]);
  }
  for (const value of ['F'.repeat(24), `00000001${'F'.repeat(16)}`, '0'.repeat(24)])
    expect((await list(value)).status).toBe(200);
});

it('no read lacks an own write while the standby lags', async () => {
  const tally = await readWhile(async () => {
    await pauseReplay();
    await sleep(randomInt(400));
    await resumeReplay();
    await sleep(randomInt(200));
  });
  expectOwnWrites(tally);
});

it('no read fails or lacks an own write while the standby hangs and restarts', async () => {
  const tally = await readWhile(async () => {
    postgres.suspendStandby();
    await sleep(randomInt(2_000));
    postgres.resumeStandby();
    await sleep(randomInt(1_000));
    await postgres.restartStandby(() => sleep(randomInt(1_000)));
    await sleep(randomInt(2_000));
  });
  expectOwnWrites(tally);
});

// The last test, because the primary does not come back.
it('no read lacks an own write while the standby takes over', async () => {
  await onServer('primary', "ALTER SYSTEM SET synchronous_standby_names = '*'");
  await onServer('primary', 'SELECT pg_reload_conf()');
  await eventually(async () => {
    const [row] = await onServer('primary', 'SELECT sync_state FROM pg_stat_replication');
    return row?.sync_state === 'sync';
  });
  let isPromoted = false;
  const tally = await readWhile(async () => {
    await sleep(200);
    if (isPromoted) return;
    isPromoted = true;
    await pauseReplay();
    await sleep(randomInt(300));
    await postgres.killPrimary();
    await resumeReplay();
    await postgres.promote();
    await sleep(randomInt(500));
    postgres.moveTo('standby');
  });
  // Requests during the outage are refused as without lists from a standby.
  const { refused, stale } = tally;
  expect(stale).toBe(0);
  expect(Object.keys(refused).filter((status) => !['0', '503'].includes(status))).toEqual([]);
  for (const { log } of stack.issues)
    expect(log.match(/"lists are read from the primary"/g)?.length).toBeGreaterThan(0);
});
