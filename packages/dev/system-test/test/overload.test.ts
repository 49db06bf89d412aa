import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { first, httpClient, type Stack, startStack } from '@tessera/stack';
import { eventually } from '@tessera/stack/eventually';
import type { AxiosInstance, AxiosResponse } from 'axios';
import pg from 'pg';
import { issuesClient, signUp } from './support/clients.ts';

const credentials = { grant_type: 'password', email: 'ann@example.com', password: 'a password of the test' };
const queueMax = 8;
const poolMax = { identity: 2, issues: 4 };
// On a slow machine, a request may wait long for one of these few connections.
const patience = { DATABASE_CONNECTION_TIMEOUT_MS: '15000', DATABASE_STATEMENT_TIMEOUT_MS: '60000' };

// The tests check order and number of responses, not durations, which depend on the machine.
describe('more load than the services can process', () => {
  let stack: Stack;
  let identity: AxiosInstance;
  let issues: AxiosInstance;
  let accessToken: string;
  let refreshToken: string;

  beforeAll(async () => {
    stack = await startStack({
      environment: {
        identity: {
          BCRYPT_COST: '12',
          HASH_CONCURRENCY: '1',
          HASH_QUEUE_MAX: String(queueMax),
          HASH_QUEUE_TIMEOUT_MS: '60000',
          DATABASE_POOL_MAX: String(poolMax.identity),
          ...patience,
        },
        issues: { DATABASE_POOL_MAX: String(poolMax.issues), ...patience },
      },
    });
    identity = httpClient(first(stack.identities).url);
    issues = httpClient(`${first(stack.issues).url}/api/v1`);
    const { email, password } = credentials;
    // Staff, who may create users.
    const created = await stack.internal.post('/internal/identities', { email, password, is_staff: true });
    expect(created.status).toBe(201);
  });
  beforeEach(async () => {
    const { status, data } = await identity.post('/token', credentials);
    expect(status).toBe(200);
    accessToken = data.access_token;
    refreshToken = data.refresh_token;
  });
  afterAll(async () => {
    expect(await stack.stop()).toEqual([0, 0]);
  });

  async function refresh(): Promise<AxiosResponse> {
    const answer = await identity.post('/token/refresh', { refresh_token: refreshToken });
    refreshToken = answer.data.refresh_token ?? refreshToken;
    return answer;
  }

  it('rejects sign-ins beyond the queue at once and answers everything else', async () => {
    const settled: AxiosResponse[] = [];
    let storming = true;
    const storm = Promise.all(
      Array.from({ length: 100 }, async () => settled.push(await identity.post('/token', credentials))),
    ).finally(() => {
      storming = false;
    });
    const meanwhile = async (send: () => Promise<AxiosResponse>) => {
      const statuses: number[] = [];
      while (storming) statuses.push((await send()).status);
      return statuses;
    };
    const [health, keys, refreshed] = await Promise.all([
      meanwhile(() => identity.get('/healthz')),
      meanwhile(() => identity.get('/jwks')),
      meanwhile(refresh),
      storm,
    ]);
    const statuses = settled.map(({ status }) => status);
    const refused = settled.filter(({ status }) => status === 503);
    expect(new Set(statuses)).toEqual(new Set([200, 503]));
    expect(statuses.filter((status) => status === 200).length).toBeGreaterThan(queueMax);
    expect(refused.length).toBeGreaterThan(50);
    for (const answer of refused) expectUnavailable(answer, { error: 'temporarily_unavailable' });
    // A rejection does not wait for a hash, so it arrives before the last accepted sign-in.
    expect(statuses.slice(-3)).toEqual(Array(3).fill(200));
    for (const answers of [health, keys, refreshed]) {
      expect(new Set(answers)).toEqual(new Set([200]));
      expect(answers.length).toBeGreaterThan(queueMax);
    }
    expect((await identity.post('/token', credentials)).status).toBe(200);
  });

  it('answers 503 when all connections of the pool are in use, and recovers', async () => {
    // One identity gets half of the connections, so two identities use all of them.
    const people = await Promise.all(
      Array.from({ length: 7 }, async (_, index) =>
        issuesClient(stack, await signUp(stack, `person-${index}`)),
      ),
    );
    const cases = [
      { database: 'identity', table: 'refresh_tokens', client: identity, send: refresh },
      {
        database: 'issues',
        table: 'issues',
        client: issues,
        send: (index: number, isHeld: boolean) => {
          const person = people[isHeld ? Math.floor(index / 2) : 2 + (index % 5)] ?? issues;
          return person.post('/issues/', { title: 'In the queue' });
        },
      },
    ] as const;
    for (const { database, table, client, send } of cases) {
      const release = await lockTable(database, table);
      const held = Array.from({ length: poolMax[database] }, (_, index) => send(index, true));
      await eventually(
        () => stack.waitingForLocks(database),
        (count) => count >= poolMax[database],
      );
      // The lock is held until all requests have been answered.
      const refused = await Promise.all(Array.from({ length: 20 }, (_, index) => send(index, false)));
      for (const answer of refused) expectUnavailable(answer);
      const origin = new URL(client.defaults.baseURL ?? '').origin;
      expect((await client.get(`${origin}/healthz`)).status).toBe(200);
      // A busy replica stays ready. One check can reach its time limit on a slow machine.
      const readiness = async () => (await client.get(`${origin}/readyz`)).status;
      await eventually(readiness, (status) => status === 200);
      expect((await identity.get('/jwks')).status).toBe(200);
      await release();
      for (const answer of await Promise.all(held)) expect([200, 201, 401]).toContain(answer.status);
    }
    const { rows } = await stack.sql(
      'issues',
      "SELECT count(*)::int AS n FROM issues WHERE title = 'In the queue'",
    );
    expect(rows).toEqual([{ n: poolMax.issues }]);
  });

  const bearer = () => `Bearer ${accessToken}`;

  it.each([
    { where: 'identity', path: '/token', limit: 16 * 1024 },
    { where: 'identity', path: '/token/refresh', limit: 16 * 1024 },
    { where: 'identity', path: '/internal/identities', limit: 64 * 1024 },
    { where: 'issues', path: '/issues/', limit: 1024 * 1024 },
    { where: 'issues', path: '/users/', limit: 64 * 1024 },
  ])('a body over $limit bytes is refused at $where $path with 413', async ({ where, path, limit }) => {
    const client = where === 'identity' ? identity : issues;
    const headers = {
      'Content-Type': 'application/json',
      Authorization: bearer(),
      'X-Service-Token': stack.serviceToken,
    };
    const tooLarge = `"${'a'.repeat(limit)}"`;
    const whole = await client.post(path, tooLarge, { headers });
    expect([whole.status, whole.data.status]).toEqual([413, 413]);
    const fits = await client.post(path, `"${'a'.repeat(limit - 2)}"`, { headers });
    expect(fits.status).toBe(422);
    async function* pieces() {
      for (let sent = 0; sent <= limit; sent += 4096) yield Buffer.alloc(4096, ' ');
    }
    const url = `${client.defaults.baseURL}${path}`;
    const streamed = await fetch(url, { method: 'POST', headers, body: pieces(), duplex: 'half' });
    expect([streamed.status, await streamed.json()]).toMatchObject([413, { status: 413 }]);
  });

  async function lockTable(database: 'identity' | 'issues', table: string) {
    const client = new pg.Client({ connectionString: stack.databases[database].owner });
    await client.connect();
    // Writes wait. The jobs in the background read the table, and keep no connection of the small pools.
    await client.query(`BEGIN; LOCK TABLE ${table} IN SHARE MODE`);
    return async () => {
      await client.query('COMMIT');
      await client.end();
    };
  }
});

function expectUnavailable({ status, headers, data }: AxiosResponse, members: object = {}): void {
  expect([status, data]).toMatchObject([503, { status: 503, ...members }]);
  expect(Number(headers['retry-after'])).toBeGreaterThan(0);
}
