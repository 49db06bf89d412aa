import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { CreatedClient, Identity } from '@tessera/contracts';
import { createLocalJWKSet, jwtVerify } from 'jose';
import type { Response } from 'supertest';
import { createClient, redirectUri } from './support/clients.ts';
import { createIdentity } from './support/identities.ts';
import {
  authorizationOf,
  aVerifier,
  claimsOf,
  exchange,
  nextCode,
  nextOf,
  oidcIssuer,
  parametersOf,
  postForm,
  signInFor,
  TestBrowser,
} from './support/oidc.ts';
import { issuer, startTestApp, type TestApp } from './support/test-app.ts';

const afterLogout = 'https://app.example/goodbye';
let app: TestApp;
let client: CreatedClient;
let identity: Identity;
let person: { email: string; password: string };
beforeAll(async () => {
  app = await startTestApp({ HOSTED_SIGN_IN: 'on' });
  client = await createClient(app, {
    post_logout_redirect_uris: [afterLogout],
    audiences: ['tessera'],
    scopes: ['openid', 'email', 'profile', 'groups'],
  });
  const created = await createIdentity(app, { is_staff: true, display_name: 'Ann Lee', is_verified: true });
  identity = created.identity;
  person = { email: identity.email, password: created.password };
});
afterAll(() => app.close());

describe('a sign-in from the application and back', () => {
  it('goes over the page to tokens, user information, a refresh and the sign-out', async () => {
    const browser = new TestBrowser(app);
    const { verifier, challenge } = aVerifier();
    const request = authorizationOf(client, challenge, { scope: 'openid email profile groups' });
    const page = await browser.get('/oidc/authorize', request);
    expect(page.status).toBe(200);
    expect(page.text).toContain(client.name);
    const done = await browser.submit(page, person);
    expect(done.status).toBe(200);
    const back = nextOf(done);
    expect(back.href.startsWith(`${redirectUri}?`)).toBe(true);
    const { code = '', ...others } = parametersOf(back);
    expect(others).toEqual({ state: 'state-1', iss: oidcIssuer });

    const { body: tokens } = await exchange(app, client, { code, verifier }).expect(200);
    expect(tokens).toMatchObject({
      token_type: 'Bearer',
      expires_in: 900,
      scope: 'openid email profile groups',
    });
    const { body: keys } = await app.http.get('/jwks');
    const { payload } = await jwtVerify(tokens.id_token, createLocalJWKSet(keys), {
      issuer: oidcIssuer,
      audience: client.client_id,
    });
    expect(payload).toMatchObject({
      sub: identity.id,
      nonce: 'nonce-1',
      amr: ['pwd'],
      acr: 'aal1',
      email: identity.email,
      email_verified: true,
      name: 'Ann Lee',
      groups: ['staff'],
    });
    expect(claimsOf(tokens.access_token)).toMatchObject({
      iss: issuer,
      aud: 'tessera',
      type: 'access',
      client_id: client.client_id,
    });
    // The endpoints of the document accept the access token, and not the others.
    await app.http.get('/userinfo').set('Authorization', `Bearer ${tokens.access_token}`).expect(200);
    await app.http.get('/userinfo').set('Authorization', `Bearer ${tokens.id_token}`).expect(401);

    const userInfo = await app.http
      .get('/oidc/userinfo')
      .set('Authorization', `Bearer ${tokens.access_token}`)
      .expect(200);
    expect(userInfo.body).toEqual({
      sub: identity.id,
      email: identity.email,
      email_verified: true,
      preferred_username: identity.username,
      name: 'Ann Lee',
      groups: ['staff'],
    });

    const refresh = { grant_type: 'refresh_token', refresh_token: tokens.refresh_token };
    const { body: refreshed } = await postForm(app, '/oidc/token', refresh, client).expect(200);
    expect(claimsOf(refreshed.id_token)).toMatchObject({ sub: identity.id, sid: payload.sid });
    expect(claimsOf(refreshed.id_token).nonce).toBeUndefined();
    expect(claimsOf(refreshed.id_token).auth_time).toBe(payload.auth_time);

    const again = await nextCode(browser, client);
    expect(again.response.status).toBe(303);
    await exchange(app, client, again).expect(200);

    const out = await browser.get('/oidc/logout', {
      id_token_hint: tokens.id_token,
      post_logout_redirect_uri: afterLogout,
      state: 'bye',
    });
    expect(nextOf(out).href).toBe(`${afterLogout}?state=bye`);
    expect(browser.cookie).toBeUndefined();
    const used = { grant_type: 'refresh_token', refresh_token: refreshed.refresh_token };
    expect((await postForm(app, '/oidc/token', used, client)).body.error).toBe('invalid_grant');
    expect((await nextPage(browser)).text).toContain('<form');
  });

  const nextPage = (browser: TestBrowser) =>
    browser.get('/oidc/authorize', authorizationOf(client, aVerifier().challenge));

  it('works for the second application without a page', async () => {
    const other = await createClient(app, { name: 'Other', kind: 'public' });
    const { browser } = await signInFor(app, client, person);
    const code = await nextCode(browser, other);
    const { body } = await exchange(app, other, code).expect(200);
    expect(claimsOf(body.id_token).aud).toBe(other.client_id);
    expect(claimsOf(body.access_token).aud).toBe(`${oidcIssuer}/userinfo`);
  });
});

describe('the pages for the longest requests of an application', () => {
  const address = `https://app.example/${'&'.repeat(50)}${'x'.repeat(1_930)}`;
  let third: CreatedClient;
  beforeAll(async () => {
    const addresses = { redirect_uris: [address], post_logout_redirect_uris: [address] };
    third = await createClient(app, { ...addresses, is_first_party: false, name: '"'.repeat(100) });
  });

  /** The longest text of a character that a request may have. */
  const longest = async (send: (text: string) => Promise<{ status: number }>, character: string) => {
    let [length, refused] = [0, 5_000];
    while (refused - length > 1) {
      const middle = (length + refused) >> 1;
      const { status } = await send(character.repeat(middle));
      if (status === 200) length = middle;
      else refused = middle;
    }
    expect(length).toBeGreaterThan(200);
    return character.repeat(length);
  };

  it.each(['a', '"', '&', '€', '😀', '\u0001', '%'])('have at most 15 kB, with %j', async (character) => {
    const browser = new TestBrowser(app);
    const sizes: number[] = [];
    const measure = (page: Response) => {
      sizes.push(Buffer.byteLength(page.text));
      return page;
    };
    for (const name of ['state', 'ui_locales', 'scope']) {
      browser.cookie = undefined;
      const ask = (text: string) => {
        const value = name === 'scope' ? `openid ${text}` : text;
        const hint = character.repeat(320).slice(0, 320);
        const given = { redirect_uri: address, login_hint: hint, [name]: value };
        return browser.get('/oidc/authorize', authorizationOf(third, aVerifier().challenge, given));
      };
      const text = await longest(ask, character);
      const page = measure(await ask(text));
      measure(await browser.submit(page, { email: character.repeat(150), password: 'wrong one' }));
      const consent = measure(await browser.submit(page, person));
      const denied = measure(await browser.submit(consent, { decision: 'deny' }));
      expect(parametersOf(nextOf(denied))).toMatchObject({
        error: 'access_denied',
        state: name === 'state' ? text : 'state-1',
      });
      if (name === 'scope') continue;
      const end = (value: string) => {
        const out = { client_id: third.client_id, post_logout_redirect_uri: address };
        return browser.get('/oidc/logout', { ...out, [name]: value });
      };
      const asked = measure(await end(await longest(end, character)));
      measure(await browser.submit(asked, { decision: 'sign_out' }));
    }
    expect(Math.max(...sizes)).toBeLessThanOrEqual(15 * 1024);
  });

  it.each<Record<string, string>>([
    { state: '"'.repeat(1_366) },
    { login_hint: 'a'.repeat(321) },
    { ui_locales: 'x'.repeat(4_000), scope: `openid ${'s'.repeat(4_000)}` },
  ])('are not shown for longer ones, of which the application hears', async (given) => {
    const response = await new TestBrowser(app).get(
      '/oidc/authorize',
      authorizationOf(client, aVerifier().challenge, given),
    );
    const { error, state } = parametersOf(nextOf(response));
    expect([error, state]).toEqual(['invalid_request', given.state === undefined ? 'state-1' : undefined]);
  });
});
