import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { startTestPostgres, type TestPostgres } from '@tessera/stack/postgres';
import axios, { type AxiosInstance } from 'axios';
import { createLocalJWKSet, jwtVerify } from 'jose';
import { startOidcProvider } from '../src/contenders/oidc-provider.ts';
import type { OidcReady } from '../src/peers/oidc-provider.server.ts';
import type { ServerProcess } from '../src/run/server-process.ts';
import { emptyDatabase } from './support/empty-database.ts';

let postgres: TestPostgres;
beforeAll(async () => {
  postgres = await startTestPostgres();
});
afterAll(() => postgres.stop());

interface Peer extends ServerProcess<OidcReady> {
  http: AxiosInstance;
}

async function start(storage: 'memory' | 'postgres', accessTokens: 'opaque' | 'jwt'): Promise<Peer> {
  const database = storage === 'memory' ? {} : { databaseUrl: await emptyDatabase(postgres.adminUrl) };
  const peer = await startOidcProvider({ ...database, grants: 3, accessTokens });
  const http = axios.create({ baseURL: peer.ready.url, proxy: false, validateStatus: () => true });
  return { ...peer, http };
}

function refresh({ http, ready }: Peer, token: string | undefined) {
  return http.post(ready.refreshPath, `grant_type=refresh_token&refresh_token=${token}`, {
    auth: { username: ready.clientId, password: ready.clientSecret },
  });
}

async function verify({ http, ready }: Peer, token: string) {
  const keys = createLocalJWKSet((await http.get(ready.jwksPath)).data);
  const { payload, protectedHeader } = await jwtVerify(token, keys, { issuer: ready.url });
  return { ...payload, alg: protectedHeader.alg };
}

describe.each(['memory', 'postgres'] as const)('oidc-provider with its tokens in %s', (storage) => {
  let peer: Peer;
  beforeAll(async () => {
    peer = await start(storage, 'opaque');
  });
  afterAll(() => peer.stop());

  const userinfo = (token: string | undefined) =>
    peer.http.get(peer.ready.userinfoPath, { headers: { Authorization: `Bearer ${token}` } });

  it('rotates refresh tokens, refuses a used one, and revokes the grant at its reuse', async () => {
    const [old] = peer.ready.refreshTokens;
    const first = await refresh(peer, old);
    expect(first.status).toBe(200);
    expect(first.data.refresh_token).not.toBe(old);
    const second = await refresh(peer, first.data.refresh_token);
    expect(second.status).toBe(200);
    expect(await refresh(peer, old)).toMatchObject({ status: 400, data: { error: 'invalid_grant' } });
    expect((await refresh(peer, second.data.refresh_token)).status).toBe(400);
  });

  it('returns a valid access token and an ID token signed with RS256 for a refresh', async () => {
    const { data } = await refresh(peer, peer.ready.refreshTokens[1]);
    expect((await userinfo(data.access_token)).data.sub).toBe('account-1');
    expect(await verify(peer, data.id_token)).toMatchObject({ sub: 'account-1', alg: 'RS256' });
  });

  it('returns the claims of the account for an access token, and 401 for an invalid one', async () => {
    expect(await userinfo(peer.ready.accessTokens[2])).toMatchObject({
      status: 200,
      data: { sub: 'account-2', email: 'account-2@example.org', name: 'Account 2' },
    });
    expect((await userinfo('made-up')).status).toBe(401);
  });

  it('publishes one RSA key of 2048 bits and its metadata', async () => {
    const { data } = await peer.http.get(peer.ready.jwksPath);
    expect(data.keys).toHaveLength(1);
    expect(Buffer.from(data.keys[0].n, 'base64url')).toHaveLength(256);
    expect((await peer.http.get(peer.ready.discoveryPath)).data.issuer).toBe(peer.ready.url);
  });

  it("keeps all tokens over more rotations than the provider's own memory adapter has room for", async () => {
    let token = peer.ready.refreshTokens[2];
    const kept = peer.ready.accessTokens[2];
    for (let rotation = 0; rotation < 550; rotation += 1) {
      token = (await refresh(peer, token)).data.refresh_token;
    }
    expect((await refresh(peer, token)).status).toBe(200);
    expect((await userinfo(kept)).status).toBe(200);
  });

  it('exits with code 0 after SIGTERM', async () => {
    expect(await peer.stop()).toBe(0);
  });
});

describe('oidc-provider with JWT access tokens', () => {
  let peer: Peer;
  beforeAll(async () => {
    peer = await start('postgres', 'jwt');
  });
  afterAll(() => peer.stop());

  it('signs two tokens in each refresh, and rotates the refresh token', async () => {
    let [token] = peer.ready.refreshTokens;
    for (let rotation = 0; rotation < 3; rotation += 1) {
      const { status, data } = await refresh(peer, token);
      expect(status).toBe(200);
      expect(data.refresh_token).not.toBe(token);
      token = data.refresh_token;
      const expected = { sub: 'account-0', alg: 'RS256' };
      expect(await verify(peer, data.id_token)).toMatchObject({ ...expected, aud: 'bench' });
      expect(await verify(peer, data.access_token)).toMatchObject({
        ...expected,
        aud: 'https://api.example',
      });
    }
    const [used] = peer.ready.refreshTokens;
    expect(await refresh(peer, used)).toMatchObject({ status: 400, data: { error: 'invalid_grant' } });
  });
});
