import { once } from 'node:events';
import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import type { CreatedClient } from '@tessera/contracts';
import { eventually } from '@tessera/stack/eventually';
import { createLocalJWKSet, jwtVerify } from 'jose';
import { createClient } from './support/clients.ts';
import { createIdentity } from './support/identities.ts';
import { internalClient } from './support/internal-client.ts';
import {
  authorizationOf,
  aVerifier,
  claimsOf,
  exchange,
  nextCode,
  oidcIssuer,
  postForm,
  signInFor,
} from './support/oidc.ts';
import { startTestApp, type TestApp } from './support/test-app.ts';

let app: TestApp;
let client: CreatedClient;
let person: { email: string; password: string };
let identityId: string;
/** The clients' own server. */
let receiver: Server;
let uri: string;
let received: string[] = [];
let answerWith = 200;
/** The responses of a client that does not answer, and their greatest number at a time. */
const open = new Set<ServerResponse>();
let mostOpen = 0;
beforeAll(async () => {
  receiver = createServer((request, response) => {
    let body = '';
    request.on('data', (chunk) => {
      body += chunk;
    });
    request.on('end', () => {
      if (request.url === '/slow') {
        open.add(response.once('close', () => open.delete(response)));
        mostOpen = Math.max(mostOpen, open.size);
        return;
      }
      received.push(body);
      response.writeHead(answerWith, { Location: 'http://127.0.0.1:9/' }).end();
    });
  });
  await once(receiver.listen(0, '127.0.0.1'), 'listening');
  uri = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/logout`;
  app = await startTestApp({ HOSTED_SIGN_IN: 'on', RATE_LIMIT_TOKENS_PER_MINUTE: '0' });
  client = await createClient(app, { backchannel_logout_uri: uri });
  const { identity, password } = await createIdentity(app);
  identityId = identity.id;
  person = { email: identity.email, password };
});
afterAll(async () => {
  await app.close();
  receiver.closeAllConnections();
  receiver.close();
});
beforeEach(async () => {
  await app.sql('DELETE FROM logout_deliveries');
  received = [];
  answerWith = 200;
});

const internal = internalClient(() => app);
const signedIn = async () => {
  const { browser, code, verifier } = await signInFor(app, client, person);
  const { body } = await exchange(app, client, { code, verifier }).expect(200);
  return { browser, tokens: body };
};
const refresh = (token: string) =>
  postForm(app, '/oidc/token', { grant_type: 'refresh_token', refresh_token: token }, client);

describe('a client with a back-channel address', () => {
  const deliver = () => app.dependencies.signIn?.deliveries.run();
  const due = () => app.sql(`UPDATE logout_deliveries SET next_attempt_at = now() - interval '1 second'`);
  const waiting = async () =>
    app.sql<{ attempts: number; seconds: number }>(
      `SELECT attempts, extract(epoch FROM next_attempt_at - now())::int AS seconds FROM logout_deliveries`,
    );

  it('gets a logout token for the end of a session', async () => {
    const { browser, tokens } = await signedIn();
    await nextCode(browser, client);
    await browser.get('/oidc/logout', { id_token_hint: tokens.id_token });
    await deliver();
    await eventually(() => received.length > 0);
    const token = new URLSearchParams(received[0]).get('logout_token') ?? '';
    const { body: keys } = await app.http.get('/jwks');
    const { payload, protectedHeader } = await jwtVerify(token, createLocalJWKSet(keys), {
      issuer: oidcIssuer,
      audience: client.client_id,
      typ: 'logout+jwt',
    });
    expect(protectedHeader.alg).toBe('RS256');
    expect(payload).toMatchObject({
      sub: identityId,
      sid: claimsOf(tokens.id_token).sid,
      events: { 'http://schemas.openid.net/event/backchannel-logout': {} },
    });
    expect(payload.nonce).toBeUndefined();
    expect(await waiting()).toEqual([]);
  });

  it('gets one for the end of all sessions, with sub alone, once for all sign-ins', async () => {
    // From here on, only the tests send.
    await app.dependencies.signIn?.deliveries.stop();
    const { identity, password } = await createIdentity(app);
    for (let count = 0; count < 3; count += 1)
      await exchange(app, client, await signInFor(app, client, { email: identity.email, password })).expect(
        200,
      );
    await internal('delete', `/internal/identities/${identity.id}/sessions`).expect(204);
    expect(await waiting()).toHaveLength(1);
    await deliver();
    const claims = claimsOf(new URLSearchParams(received[0]).get('logout_token') ?? '');
    expect([claims.sub, claims.sid]).toEqual([identity.id, undefined]);
  });

  it.each([500, 302])(
    'that answers %i gets it later: within a minute, and then less often',
    async (status) => {
      answerWith = status;
      const { browser, tokens } = await signedIn();
      await browser.get('/oidc/logout', { id_token_hint: tokens.id_token });
      const delays: number[] = [];
      for (let attempt = 1; attempt <= 3; attempt += 1) {
        await due();
        await deliver();
        const [row] = await waiting();
        expect(row?.attempts).toBe(attempt);
        delays.push(row?.seconds ?? 0);
      }
      expect(delays.map((seconds) => Math.round(seconds / 10) * 10)).toEqual([30, 120, 480]);
      answerWith = 204;
      await due();
      await deliver();
      expect(await waiting()).toEqual([]);
      expect(received).toHaveLength(4);
    },
  );

  it('gets one from two processes that send at the same time, also after it was down', async () => {
    const other = await startTestApp({ HOSTED_SIGN_IN: 'on' }, app.databaseUrl);
    const both = [app, other].map(({ dependencies }) => dependencies.signIn?.deliveries);
    // Only the test sends: one batch of each process.
    await Promise.all(both.map((deliveries) => deliveries?.stop()));
    const clients: string[] = [];
    for (let count = 0; count < 20; count += 1)
      clients.push((await createClient(app, { backchannel_logout_uri: uri })).client_id);
    await app.sql(
      'INSERT INTO logout_deliveries (client_id, identity_id) SELECT unnest($1::uuid[]), $2::uuid',
      [clients, identityId],
    );
    for (const [status, attempts] of [
      [503, clients.map(() => 1)],
      [200, []],
    ] as const) {
      answerWith = status;
      received = [];
      await due();
      await Promise.all(both.map((deliveries) => deliveries?.run()));
      const tokens = received.map((body) => claimsOf(new URLSearchParams(body).get('logout_token') ?? ''));
      expect(tokens.map(({ aud }) => aud).sort()).toEqual(clients.toSorted());
      expect((await waiting()).map((row) => row.attempts)).toEqual(attempts);
    }
    await other.close();
  });

  it('gets one while another does not answer, which holds two places', async () => {
    const other = await startTestApp({ HOSTED_SIGN_IN: 'on' }, app.databaseUrl);
    const deliveries = other.dependencies.signIn?.deliveries;
    const slow = await createClient(app, { backchannel_logout_uri: uri.replace('/logout', '/slow') });
    const enqueue = (clientId: string, count: number) =>
      app.sql(
        'INSERT INTO logout_deliveries (client_id, identity_id) SELECT $1::uuid, $2::uuid FROM generate_series(1, $3::int)',
        [clientId, identityId, count],
      );
    await enqueue(slow.client_id, 30);
    deliveries?.wake();
    await eventually(() => open.size === 2);
    for (const count of [1, 20]) {
      received = [];
      await enqueue(client.client_id, count);
      deliveries?.wake();
      await eventually(() => received.length === count);
    }
    expect(mostOpen).toBe(2);
    await app.sql('DELETE FROM logout_deliveries');
    for (const response of open) response.end();
    await other.close();
  });

  it('that is gone for a day is given up, which the audit trail has', async () => {
    answerWith = 500;
    await app.sql(`INSERT INTO logout_deliveries (client_id, identity_id, attempts) VALUES ($1, $2, 8)`, [
      client.client_id,
      identityId,
    ]);
    await deliver();
    expect(await waiting()).toEqual([]);
    const events = await app.sql(`SELECT details FROM audit_events WHERE type = 'logout.undelivered'`);
    expect(events).toEqual([{ details: { client: client.client_id } }]);
  });

  it('gets one when another person signs in over its session, and for the oldest of too many browsers', async () => {
    const { browser, tokens } = await signedIn();
    const { identity, password } = await createIdentity(app);
    const page = await browser.get(
      '/oidc/authorize',
      authorizationOf(client, aVerifier().challenge, { prompt: 'login' }),
    );
    await browser.submit(page, { email: identity.email, password });
    expect((await refresh(tokens.refresh_token)).body.error).toBe('invalid_grant');
    const oldest = await signedIn();
    await app.sql(
      `INSERT INTO sso_sessions (id, token_hash, identity_id, session_epoch, amr, acr, idle_expires_at, expires_at, created_at)
       SELECT gen_random_uuid(), sha256((id || n::text)::bytea), identity_id, session_epoch, amr, acr, idle_expires_at,
              expires_at, now() + n * interval '1 millisecond'
         FROM sso_sessions, generate_series(1, 100) n WHERE id = $1`,
      [claimsOf(oldest.tokens.id_token).sid],
    );
    await signInFor(app, client, person);
    expect((await refresh(oldest.tokens.refresh_token)).body.error).toBe('invalid_grant');
    const sids = await app.sql(`SELECT sid FROM logout_deliveries WHERE sid = ANY($1)`, [
      [tokens, oldest.tokens].map(({ id_token }) => claimsOf(id_token).sid),
    ]);
    expect(sids).toHaveLength(2);
  });

  it('is not told about people who have not signed in to it', async () => {
    const { identity } = await createIdentity(app);
    await internal('delete', `/internal/identities/${identity.id}/sessions`).expect(204);
    expect(await waiting()).toEqual([]);
  });
});
