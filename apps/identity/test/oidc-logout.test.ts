import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { CreatedClient } from '@tessera/contracts';
import { eventually } from '@tessera/stack/eventually';
import { createClient, redirectUri } from './support/clients.ts';
import { createIdentity } from './support/identities.ts';
import {
  authorizationOf,
  aVerifier,
  claimsOf,
  exchange,
  hiddenFields,
  nextOf,
  postForm,
  signInFor,
  TestBrowser,
} from './support/oidc.ts';
import { serviceToken, startTestApp, type TestApp } from './support/test-app.ts';

const goodbye = 'https://app.example/goodbye';
let app: TestApp;
let client: CreatedClient;
let person: { email: string; password: string };
beforeAll(async () => {
  app = await startTestApp({ HOSTED_SIGN_IN: 'on', RATE_LIMIT_TOKENS_PER_MINUTE: '0' });
  client = await createClient(app, { post_logout_redirect_uris: [goodbye] });
  const { identity, password } = await createIdentity(app);
  person = { email: identity.email, password };
});
afterAll(() => app.close());

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

  const notEnded = 'Ihre Anmeldung ist nicht beendet.';
  it.each<[string, Record<string, string>, string]>([
    ['an address that is not registered', { post_logout_redirect_uri: `${goodbye}/` }, notEnded],
    ['an address with another query', { post_logout_redirect_uri: `${goodbye}?a=b` }, notEnded],
    [
      'another client_id',
      { client_id: '00000000-0000-4000-8000-000000000000' },
      'Dieser Link funktioniert nicht',
    ],
  ])('is refused by a page for %s, and nothing ends', async (_name, parameters, text) => {
    const { browser, tokens } = await signedIn();
    const out = await browser.get('/oidc/logout', {
      id_token_hint: tokens.id_token,
      ui_locales: 'de',
      ...parameters,
    });
    expect([out.status, out.headers.location]).toEqual([400, undefined]);
    expect(out.text).toContain(text);
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

  it('asks a person who comes from a disabled client, and does not return there', async () => {
    const gone = await createClient(app, { post_logout_redirect_uris: [goodbye] });
    const { browser, code, verifier } = await signInFor(app, gone, person);
    const { body } = await exchange(app, gone, { code, verifier }).expect(200);
    await app.http
      .delete(`/internal/clients/${gone.client_id}`)
      .set('X-Service-Token', serviceToken)
      .expect(204);
    const parameters = { id_token_hint: body.id_token, post_logout_redirect_uri: goodbye };
    const page = await eventually(
      () => browser.get('/oidc/logout', parameters),
      ({ status, text }) => status === 200 && !text.includes(goodbye),
    );
    const done = await browser.submit(page, { decision: 'sign_out' });
    expect([done.status, done.text.includes(goodbye)]).toEqual([200, false]);
    expect(await isSignedIn(browser)).toBe(false);
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
