import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { startTestPostgres, type TestPostgres } from '@tessera/stack/postgres';
import axios, { type AxiosInstance } from 'axios';
import { createLocalJWKSet, jwtVerify } from 'jose';
import type { OidcReady } from '../src/peers/peer-messages.ts';
import { startOidcProvider } from '../src/peers/start-peer.ts';
import type { ServerProcess } from '../src/run/server-process.ts';
import { emptyDatabase } from './support/empty-database.ts';

let postgres: TestPostgres;
beforeAll(async () => {
  postgres = await startTestPostgres();
});
afterAll(() => postgres.stop());

describe.each(['memory', 'postgres'] as const)('oidc-provider, its tokens in %s', (storage) => {
  let peer: ServerProcess<OidcReady>;
  let http: AxiosInstance;
  beforeAll(async () => {
    peer = await startOidcProvider(
      storage === 'memory'
        ? { storage, grants: 3 }
        : { storage, databaseUrl: await emptyDatabase(postgres.adminUrl), grants: 3 },
    );
    http = axios.create({ baseURL: peer.ready.url, proxy: false, validateStatus: () => true });
  });
  afterAll(() => peer.stop());

  const refresh = (token: string | undefined) =>
    http.post(peer.ready.refreshPath, `grant_type=refresh_token&refresh_token=${token}`, {
      auth: { username: peer.ready.clientId, password: peer.ready.clientSecret },
    });
  const userinfo = (token: string | undefined) =>
    http.get(peer.ready.userinfoPath, { headers: { Authorization: `Bearer ${token}` } });

  it('rotates: the new refresh token works, the old one is refused, and its reuse ends the grant', async () => {
    const [old] = peer.ready.refreshTokens;
    const first = await refresh(old);
    expect(first.status).toBe(200);
    expect(first.data.refresh_token).not.toBe(old);
    const second = await refresh(first.data.refresh_token);
    expect(second.status).toBe(200);
    expect(await refresh(old)).toMatchObject({ status: 400, data: { error: 'invalid_grant' } });
    expect((await refresh(second.data.refresh_token)).status).toBe(400);
  });

  it('answers a refresh with an access token that works and an id_token that its RS256 key has signed', async () => {
    const { data } = await refresh(peer.ready.refreshTokens[1]);
    expect((await userinfo(data.access_token)).data.sub).toBe('account-1');
    const keys = createLocalJWKSet((await http.get(peer.ready.jwksPath)).data);
    const { payload, protectedHeader } = await jwtVerify(data.id_token, keys, { issuer: peer.ready.url });
    expect([payload.sub, protectedHeader.alg]).toEqual(['account-1', 'RS256']);
  });

  it('answers whom an access token speaks for, and refuses another token', async () => {
    expect(await userinfo(peer.ready.accessTokens[2])).toMatchObject({
      status: 200,
      data: { sub: 'account-2', email: 'account-2@example.org', name: 'Account 2' },
    });
    expect((await userinfo('made-up')).status).toBe(401);
  });

  it('publishes one RSA key of 2048 bits and its metadata', async () => {
    const { data } = await http.get(peer.ready.jwksPath);
    expect(data.keys).toHaveLength(1);
    expect(Buffer.from(data.keys[0].n, 'base64url')).toHaveLength(256);
    expect((await http.get(peer.ready.discoveryPath)).data.issuer).toBe(peer.ready.url);
  });

  it('forgets no token over more rotations than its own memory adapter has room for', async () => {
    let token = peer.ready.refreshTokens[2];
    const kept = peer.ready.accessTokens[2];
    for (let rotation = 0; rotation < 550; rotation += 1) token = (await refresh(token)).data.refresh_token;
    expect((await refresh(token)).status).toBe(200);
    expect((await userinfo(kept)).status).toBe(200);
  });

  it('ends at SIGTERM, with code 0', async () => {
    expect(await peer.stop()).toBe(0);
  });
});
