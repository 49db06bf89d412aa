import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { startTestPostgres, type TestPostgres } from '@tessera/stack/postgres';
import axios, { type AxiosInstance } from 'axios';
import { Client } from 'pg';
import { startBetterAuth } from '../src/contenders/better-auth.ts';
import type { BetterAuthReady } from '../src/peers/better-auth.server.ts';
import type { ServerProcess } from '../src/run/server-process.ts';
import { emptyDatabase } from './support/empty-database.ts';

let postgres: TestPostgres;
beforeAll(async () => {
  postgres = await startTestPostgres();
});
afterAll(() => postgres.stop());

describe.each([
  ['scrypt', /^[0-9a-f]{32}:[0-9a-f]{128}$/],
  ['bcrypt', /^\$2b\$10\$/],
] as const)('better-auth with passwords hashed by %s', (hash, hashPattern) => {
  let database: Client;
  let peer: ServerProcess<BetterAuthReady>;
  let http: AxiosInstance;
  beforeAll(async () => {
    const databaseUrl = await emptyDatabase(postgres.adminUrl);
    peer = await startBetterAuth({ hash, databaseUrl, users: 3 });
    http = axios.create({ baseURL: peer.ready.url, proxy: false, validateStatus: () => true });
    database = new Client({ connectionString: databaseUrl });
    await database.connect();
  });
  afterAll(async () => {
    await database.end();
    await peer.stop();
  });

  const user = () => {
    const [, second] = peer.ready.users;
    if (second === undefined) throw new Error('the user is missing');
    return second;
  };

  it('stores hashes of the configured kind', async () => {
    const { rows } = await database.query('SELECT password FROM account');
    expect(rows).toHaveLength(3);
    for (const { password } of rows) expect(password).toMatch(hashPattern);
  });

  it('creates a session for the right password, and refuses a wrong one', async () => {
    const { email, password } = user();
    const right = await http.post(peer.ready.signInPath, { email, password });
    expect(right).toMatchObject({ status: 200, data: { user: { email } } });
    const cookie = right.headers['set-cookie']?.[0]?.split(';')[0];
    const session = await http.get(peer.ready.sessionPath, { headers: { cookie } });
    expect(session.data.session.token).toBe(right.data.token);
    expect((await http.post(peer.ready.signInPath, { email, password: `${password}!` })).status).toBe(401);
  });

  it('reads the session from the database at each request', async () => {
    const { email, cookie } = user();
    const before = await http.get(peer.ready.sessionPath, { headers: { cookie } });
    expect(before).toMatchObject({ status: 200, data: { user: { email } } });
    await database.query('DELETE FROM session WHERE token = $1', [before.data.session.token]);
    expect((await http.get(peer.ready.sessionPath, { headers: { cookie } })).data).toBeNull();
  });

  it('has no rate limit', async () => {
    const cookie = peer.ready.users[2]?.cookie;
    const answers = Array.from({ length: 200 }, () =>
      http.get(peer.ready.sessionPath, { headers: { cookie } }),
    );
    const statuses = (await Promise.all(answers)).map(({ status }) => status);
    expect(new Set(statuses)).toEqual(new Set([200]));
  });

  it('exits with code 0 after SIGTERM', async () => {
    expect(await peer.stop()).toBe(0);
  });
});
