import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import type { CreatedClient } from '@tessera/contracts';
import { eventually } from '@tessera/stack/eventually';
import { createLocalJWKSet, jwtVerify } from 'jose';
import { createClient, redirectUri } from './support/clients.ts';
import { createIdentity } from './support/identities.ts';
import { internalClient } from './support/internal-client.ts';
import {
  authorizationOf,
  aVerifier,
  claimsOf,
  exchange,
  hiddenFields,
  nextCode,
  nextOf,
  oidcIssuer,
  postForm,
  signInFor,
  TestBrowser,
} from './support/oidc.ts';
import { startTestApp, type TestApp } from './support/test-app.ts';

const goodbye = 'https://app.example/goodbye';
let app: TestApp;
let client: CreatedClient;
let person: { email: string; password: string };
let identityId: string;
/** The clients' own server. */
let receiver: Server;
let received: string[] = [];
let answerWith = 200;
beforeAll(async () => {
  receiver = createServer((request, response) => {
    let body = '';
    request.on('data', (chunk) => {
      body += chunk;
    });
    request.on('end', () => {
      received.push(body);
      response.writeHead(answerWith, { Location: 'http://127.0.0.1:9/' }).end();
    });
  });
  await once(receiver.listen(0, '127.0.0.1'), 'listening');
  const uri = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/logout`;
  app = await startTestApp({ HOSTED_SIGN_IN: 'on', RATE_LIMIT_TOKENS_PER_MINUTE: '0' });
  client = await createClient(app, { post_logout_redirect_uris: [goodbye], backchannel_logout_uri: uri });
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
const refresh = (token: string, by: CreatedClient = client) =>
  postForm(app, '/oidc/token', { grant_type: 'refresh_token', refresh_token: token }, by);
const isSignedIn = async (browser: TestBrowser) => (await nextPage(browser)).status === 303;
const nextPage = (browser: TestBrowser) =>
  browser.get('/oidc/authorize', {
    client_id: client.client_id,
    redirect_uri: redirectUri,
    response_type: 'code',
    scope: 'openid',
    code_challenge: 'a'.repeat(43),
    code_challenge_method: 'S256',
  });

describe('a sign-out that the application asks for', () => {
  it('returns to a registered address, also with an expired hint', async () => {
    const { browser, tokens } = await signedIn();
    const out = await browser.get('/oidc/logout', {
      id_token_hint: tokens.id_token,
      post_logout_redirect_uri: goodbye,
      state: 'x&y',
    });
    expect(nextOf(out).href).toBe(`${goodbye}?state=x%26y`);
    expect(await isSignedIn(browser)).toBe(false);
    await refresh(tokens.refresh_token).expect(400);
  });

  it('without an address ends on a page', async () => {
    const { browser, tokens } = await signedIn();
    const out = await browser.get('/oidc/logout', { id_token_hint: tokens.id_token });
    expect([out.status, browser.cookie]).toEqual([200, undefined]);
  });

  it.each<[string, Record<string, string>]>([
    ['an address that is not registered', { post_logout_redirect_uri: `${goodbye}/` }],
    ['an address with another query', { post_logout_redirect_uri: `${goodbye}?a=b` }],
    ['another client_id', { client_id: '00000000-0000-4000-8000-000000000000' }],
  ])('is refused by a page for %s, and nothing ends', async (_name, parameters) => {
    const { browser, tokens } = await signedIn();
    const out = await browser.get('/oidc/logout', { id_token_hint: tokens.id_token, ...parameters });
    expect([out.status, out.headers.location]).toEqual([400, undefined]);
    expect(await isSignedIn(browser)).toBe(true);
  });

  it('asks without a valid hint, and for the hint of another person', async () => {
    const { browser, tokens } = await signedIn();
    const { identity, password } = await createIdentity(app);
    const other = await signInFor(app, client, { email: identity.email, password });
    const { body } = await exchange(app, client, other).expect(200);
    for (const hint of [undefined, 'x', `${tokens.id_token}x`, tokens.access_token, body.id_token]) {
      const query = {
        post_logout_redirect_uri: goodbye,
        ...(hint === undefined ? {} : { id_token_hint: hint }),
      };
      const asked = await browser.get('/oidc/logout', query);
      expect(asked.status).toBe(200);
      expect(asked.text).toContain('value="sign_out"');
      expect(await isSignedIn(browser)).toBe(true);
    }
    const asked = await browser.get('/oidc/logout', {
      client_id: client.client_id,
      post_logout_redirect_uri: goodbye,
    });
    await browser.submit(asked, { decision: 'stay' });
    expect(await isSignedIn(browser)).toBe(true);
    expect(nextOf(await browser.submit(asked, { decision: 'sign_out' })).href).toBe(goodbye);
    expect(await isSignedIn(browser)).toBe(false);
  });

  it('has no effect by HEAD and in advance', async () => {
    const { browser, tokens } = await signedIn();
    const query = { id_token_hint: tokens.id_token };
    for (const request of [
      app.http.head('/oidc/logout'),
      app.http.get('/oidc/logout').set('Sec-Purpose', 'prefetch'),
      app.http.get('/oidc/logout').set('Purpose', 'prefetch'),
    ]) {
      const out = await request.query(query).set('Cookie', browser.cookie ?? '');
      expect([out.status, out.headers['set-cookie']]).toEqual([503, undefined]);
    }
    expect(await isSignedIn(browser)).toBe(true);
    await refresh(tokens.refresh_token).expect(200);
  });

  it('asks in another browser than that of the sign-in, unless it has ended', async () => {
    const { browser, tokens } = await signedIn();
    const query = { id_token_hint: tokens.id_token, post_logout_redirect_uri: goodbye };
    const second = await signedIn();
    for (const other of [new TestBrowser(app), second.browser]) {
      const asked = await other.get('/oidc/logout', query);
      expect([asked.status, asked.headers['set-cookie']]).toEqual([200, undefined]);
      expect(asked.text).toContain('value="sign_out"');
    }
    expect(await isSignedIn(browser)).toBe(true);
    const elsewhere = new TestBrowser(app);
    const asked = await elsewhere.get('/oidc/logout', query);
    const { sign_in = '' } = hiddenFields(asked.text);
    for (const forged of [
      sign_in.replace(/[^.]+$/, 'x'.repeat(43)),
      sign_in.replace(/.{8}/, '00000000'),
      'x',
    ])
      await elsewhere.submit(asked, { decision: 'sign_out', sign_in: forged });
    expect(await isSignedIn(browser)).toBe(true);
    expect(nextOf(await elsewhere.submit(asked, { decision: 'sign_out' })).href).toBe(goodbye);
    expect(await isSignedIn(browser)).toBe(false);
    expect(await isSignedIn(second.browser)).toBe(true);
    await refresh(tokens.refresh_token).expect(400);
    expect(nextOf(await new TestBrowser(app).get('/oidc/logout', query)).href).toBe(goodbye);
  });

  it('never returns to an address without a client', async () => {
    const { browser } = await signedIn();
    const asked = await browser.get('/oidc/logout', { post_logout_redirect_uri: 'https://evil.example/' });
    const done = await browser.submit(asked, { decision: 'sign_out' });
    expect(done.text).not.toContain('evil');
    expect(
      (await browser.get('/oidc/logout', { post_logout_redirect_uri: 'https://evil.example/' })).text,
    ).not.toContain('evil');
  });

  it('reaches the applications of earlier sign-ins of the person in the browser', async () => {
    const { browser, tokens } = await signedIn();
    const other = await createClient(app, { post_logout_redirect_uris: [goodbye] });
    // Another tab, and its form once more.
    const { verifier, challenge } = aVerifier();
    const page = await browser.get('/oidc/authorize', authorizationOf(other, challenge, { prompt: 'login' }));
    await browser.submit(page, person);
    const again = await browser.submit(page, person);
    const code = nextOf(again).searchParams.get('code') ?? '';
    const { body } = await exchange(app, other, { code, verifier }).expect(200);
    expect(claimsOf(body.id_token).sid).toBe(claimsOf(tokens.id_token).sid);
    const { body: kept } = await refresh(tokens.refresh_token).expect(200);
    await browser.get('/oidc/logout', { id_token_hint: body.id_token });
    expect((await refresh(kept.refresh_token)).body.error).toBe('invalid_grant');
    expect((await refresh(body.refresh_token, other)).body.error).toBe('invalid_grant');
  });

  it('is not possible with a form of another site', async () => {
    const { browser } = await signedIn();
    const forged = await app.http
      .post('/oidc/logout')
      .type('form')
      .set('Cookie', browser.cookie ?? '')
      .set('Sec-Fetch-Site', 'cross-site')
      .send({ decision: 'sign_out' })
      .redirects(0);
    expect(nextOf(forged).pathname).toBe('/oidc/logout');
    expect(nextOf(forged).search).toBe('');
    expect(await isSignedIn(browser)).toBe(true);
  });
});

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
