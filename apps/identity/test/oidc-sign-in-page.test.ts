import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { CreatedClient } from '@tessera/contracts';
import { createClient } from './support/clients.ts';
import { aPassword, createIdentity } from './support/identities.ts';
import {
  authorizationOf,
  aVerifier,
  exchange,
  formOf,
  hiddenFields,
  nextOf,
  signInFor,
  TestBrowser,
} from './support/oidc.ts';
import { issuer, startTestApp, type TestApp } from './support/test-app.ts';

let app: TestApp;
let client: CreatedClient;
let person: { email: string; password: string };
beforeAll(async () => {
  app = await startTestApp({ HOSTED_SIGN_IN: 'on', RATE_LIMIT_TOKENS_PER_MINUTE: '0' });
  client = await createClient(app);
  person = await newPerson();
});
afterAll(() => app.close());

const { challenge } = aVerifier();
const open = (
  overrides: Record<string, string | undefined> = {},
  of = client,
  browser = new TestBrowser(app),
) => browser.get('/oidc/authorize', authorizationOf(of, challenge, overrides));
const newPerson = async () => {
  const { identity, password } = await createIdentity(app);
  return { email: identity.email, password };
};

describe('the session of a browser', () => {
  it('is asked again for prompt=login, max_age and another person', async () => {
    const { browser, code, verifier } = await signInFor(app, client, person);
    const { body } = await exchange(app, client, { code, verifier }).expect(200);
    const isPage = async (overrides: Record<string, string>) =>
      (await open(overrides, client, browser)).status === 200;
    expect(await isPage({})).toBe(false);
    expect(await isPage({ prompt: 'login' })).toBe(true);
    expect(await isPage({ prompt: 'select_account' })).toBe(true);
    expect(await isPage({ max_age: '10000' })).toBe(false);
    expect(await isPage({ max_age: '99999999999' })).toBe(false);
    await app.sql(`UPDATE sso_sessions SET auth_time = auth_time - interval '20 seconds'`);
    expect(await isPage({ max_age: '10' })).toBe(true);
    expect(await isPage({ max_age: '0' })).toBe(true);
    expect(await isPage({ id_token_hint: body.id_token })).toBe(false);
    const second = await signInFor(app, client, await newPerson());
    const foreign = await open({ id_token_hint: body.id_token, prompt: 'none' }, client, second.browser);
    expect(nextOf(foreign).searchParams.get('error')).toBe('login_required');
    const others = await open(
      { id_token_hint: body.id_token, prompt: 'none' },
      await createClient(app),
      browser,
    );
    expect(nextOf(others).searchParams.get('error')).toBe('login_required');
    for (const hint of [body.access_token, `${body.id_token}x`, 'x'])
      expect(
        nextOf(await open({ id_token_hint: hint, prompt: 'none' }, client, browser)).searchParams.get(
          'error',
        ),
      ).toBe('login_required');
  });

  it('has a new cookie at each sign-in, and the one before ends', async () => {
    const { browser } = await signInFor(app, client, person);
    const first = browser.cookie;
    const page = await open({ prompt: 'login' }, client, browser);
    await browser.submit(page, person);
    expect(browser.cookie).not.toBe(first);
    const stale = new TestBrowser(app);
    stale.cookie = first;
    expect((await open({}, client, stale)).status).toBe(200);
    expect(first).toMatch(/^__Host-tessera-sso=/);
    const response = await browser.submit(page, person);
    expect(response.headers['set-cookie']?.[0]).toMatch(/; Path=\/; HttpOnly; SameSite=Lax; Secure$/);
  });

  it('ignores a planted, a malformed and a doubled cookie', async () => {
    const { browser } = await signInFor(app, client, person);
    for (const cookie of [
      `__Host-tessera-sso=${'x'.repeat(43)}`,
      '__Host-tessera-sso=x',
      `${browser.cookie}; __Host-tessera-sso=${'x'.repeat(43)}`,
      browser.cookie?.replace('__Host-', ''),
    ]) {
      const other = new TestBrowser(app);
      other.cookie = cookie;
      expect((await open({}, client, other)).status).toBe(200);
    }
  });

  it('is one of at most 100 of a person', async () => {
    const someone = await newPerson();
    const { browser } = await signInFor(app, client, someone);
    await app.sql(
      `INSERT INTO sso_sessions (id, token_hash, identity_id, session_epoch, amr, acr, idle_expires_at, expires_at, created_at)
       SELECT gen_random_uuid(), sha256(n::text::bytea), identity_id, session_epoch, amr, acr, idle_expires_at, expires_at,
              now() + n * interval '1 millisecond'
         FROM (SELECT * FROM sso_sessions ORDER BY created_at DESC LIMIT 1) newest, generate_series(1, 105) n`,
    );
    await signInFor(app, client, someone);
    expect((await open({}, client, browser)).status).toBe(200);
    const [row] = await app.sql<{ count: number }>(
      `SELECT count(*)::int AS count FROM sso_sessions s JOIN identities i ON i.id = s.identity_id
        WHERE i.email = $1 AND s.ended_at IS NULL`,
      [someone.email],
    );
    expect(row?.count).toBe(100);
  });
});

describe('the sign-in page', () => {
  it('carries the request in the form, so that each tab returns to its own', async () => {
    const browser = new TestBrowser(app);
    const [one, two] = [
      await open({ state: 'one' }, client, browser),
      await open({ state: 'two' }, client, browser),
    ];
    const wrong = await browser.submit(one, { ...person, password: 'wrong one' });
    expect(wrong.status).toBe(422);
    expect(wrong.text).toContain('role="alert"');
    expect(wrong.text).toContain(`value="${person.email}"`);
    expect(hiddenFields(wrong.text)).toEqual(hiddenFields(one.text));
    expect(nextOf(await browser.submit(two, person)).searchParams.get('state')).toBe('two');
    browser.cookie = undefined;
    expect(nextOf(await browser.submit(wrong, person)).searchParams.get('state')).toBe('one');
    expect(nextOf(await browser.submit(wrong, person)).searchParams.get('state')).toBe('one');
  });

  it('is kept by the browser for its back button if it answers a form, and by no cache otherwise', async () => {
    const browser = new TestBrowser(app);
    const page = await open({}, client, browser);
    const wrong = await browser.submit(page, { ...person, password: 'wrong one' });
    const done = await browser.submit(wrong, person);
    expect([page, wrong, done].map(({ headers }) => headers['cache-control'])).toEqual([
      'no-store',
      'private, no-cache',
      'no-store',
    ]);
  });

  it('carries the person of an ID token hint, and not the token', async () => {
    const { browser, code, verifier } = await signInFor(app, client, person);
    const { body } = await exchange(app, client, { code, verifier }).expect(200);
    const hinted = await open({ id_token_hint: body.id_token, prompt: 'login' }, client, browser);
    expect(hinted.text).not.toContain(body.id_token);
    const other = await browser.submit(hinted, await newPerson());
    expect(nextOf(other).searchParams.get('error')).toBe('login_required');
    expect(nextOf(await browser.submit(hinted, person)).searchParams.get('code')).not.toBeNull();
    const unhinted = await open({ subject: randomUUID(), prompt: 'login' }, client, browser);
    expect(nextOf(await browser.submit(unhinted, person)).searchParams.get('code')).not.toBeNull();
  });

  it('refuses a form of another site', async () => {
    const fields = { ...formOf(authorizationOf(client, challenge)), ...person };
    const send = (headers: Record<string, string>) =>
      app.http.post('/sign-in').type('form').set(headers).send(fields);
    for (const headers of [
      {},
      { 'Sec-Fetch-Site': 'cross-site' },
      { 'Sec-Fetch-Site': 'same-site', Origin: issuer },
      { 'Sec-Fetch-Site': 'none' },
      { Origin: 'https://evil.example' },
      { Origin: 'null' },
    ]) {
      const response = await send(headers as Record<string, string>);
      expect([response.status, response.headers['set-cookie']]).toEqual([403, undefined]);
    }
    expect((await send({ Origin: issuer })).status).toBe(200);
  });

  it('validates the request of the form again', async () => {
    const browser = new TestBrowser(app);
    const post = (overrides: Record<string, string>) =>
      browser.post('/sign-in', {
        ...formOf({ ...authorizationOf(client, challenge), ...overrides }),
        ...person,
      });
    expect((await post({ redirect_uri: 'https://evil.example/' })).status).toBe(400);
    expect((await post({ client_id: randomUUID() })).status).toBe(400);
    expect(nextOf(await post({ code_challenge_method: 'plain' })).searchParams.get('error')).toBe(
      'invalid_request',
    );
    for (const request of ['x', Buffer.from('{"client_id":1}').toString('base64url')])
      expect((await browser.post('/sign-in', { request, ...person })).status).toBe(400);
    expect(browser.cookie).toBeUndefined();
    for (const parameters of [{ subject: 'x' }, { state: '\ud800' }, { nonce: '\ud800' }])
      expect((await post(parameters)).status).toBeLessThan(500);
  });

  it('says what is missing, and takes long values for wrong ones', async () => {
    const browser = new TestBrowser(app);
    const page = await open({}, client, browser);
    for (const fields of [{}, { email: person.email }, { ...person, password: 'x'.repeat(4097) }] as Record<
      string,
      string
    >[])
      expect((await browser.submit(page, fields)).status).toBe(422);
    const huge = await browser.submit(page, { ...person, password: 'x'.repeat(20_000) });
    expect([huge.status, huge.headers['content-type']]).toEqual([413, 'text/html; charset=utf-8']);
  });

  it('limits failures as /token does, and a success clears them', async () => {
    const someone = await newPerson();
    const browser = new TestBrowser(app);
    const page = await open({}, client, browser);
    for (let count = 0; count < 9; count += 1)
      await browser.submit(page, { ...someone, password: 'wrong one' });
    await browser.submit(page, someone);
    for (let count = 0; count < 10; count += 1)
      await browser.submit(page, { ...someone, password: 'wrong one' });
    const limited = await browser.submit(page, someone);
    expect(limited.status).toBe(429);
    expect(limited.headers['retry-after']).toBeDefined();
    const token = await app.http.post('/token').send({ grant_type: 'password', ...someone });
    expect(token.status).toBe(429);
  });

  it('lets a person with a temporary password choose another', async () => {
    const { identity, password } = await createIdentity(app, { password_is_temporary: true });
    const someone = { email: identity.email, password };
    const browser = new TestBrowser(app);
    const page = await open({}, client, browser);
    const choose = await browser.submit(page, someone);
    expect(choose.status).toBe(200);
    expect(choose.text).toContain('name="new_password"');
    expect(choose.text).not.toContain(password);
    expect((await browser.submit(choose, { ...someone, new_password: 'short' })).status).toBe(422);
    const empty = await browser.submit(choose, { ...someone, new_password: '' });
    expect([empty.status, empty.text.includes('role="alert"')]).toEqual([422, true]);
    const next = aPassword();
    const done = await browser.submit(choose, { ...someone, new_password: next });
    expect(nextOf(done).searchParams.get('code')).not.toBeNull();
    expect((await browser.submit(page, { ...someone, password: next })).status).toBe(200);
  });

  it('refuses a text that no account has like another wrong one', async () => {
    const page = await open({});
    const browser = new TestBrowser(app);
    const wrong = await browser.submit(page, { ...person, password: 'wrong' });
    const long = await browser.submit(page, { ...person, password: 'x'.repeat(4_097) });
    const messageOf = ({ text }: { text: string }) => /role="alert"[\s\S]*?<\/p>/.exec(text)?.[0];
    expect([long.status, messageOf(long)]).toEqual([422, messageOf(wrong)]);
    expect(messageOf(await browser.submit(page, { email: '', password: '' }))).not.toBe(messageOf(wrong));
  });

  it('without an application signs in, and shows who is signed in', async () => {
    const browser = new TestBrowser(app);
    const page = await browser.get('/sign-in');
    const done = await browser.submit(page, person);
    expect(nextOf(done).pathname).toBe('/sign-in');
    const account = await browser.get('/sign-in');
    expect(account.text).toContain(person.email);
    await browser.submit(account, {});
    expect(browser.cookie).toBeUndefined();
  });

  it('ends a suspect family and marks the address as known', async () => {
    const someone = await newPerson();
    const { body } = await app.http.post('/token').send({ grant_type: 'password', ...someone });
    await app.http.post('/token/refresh').send({ refresh_token: body.refresh_token }).expect(200);
    await app.http.post('/token/refresh').send({ refresh_token: body.refresh_token }).expect(401);
    await signInFor(app, client, someone);
    const [row] = await app.sql(
      `SELECT revoke_reason FROM token_families ORDER BY suspect_at DESC NULLS LAST LIMIT 1`,
    );
    expect(row).toEqual({ revoke_reason: 'suspect' });
  });
});

describe('a client that is not first-party', () => {
  it('asks for the consent once, and again for more', async () => {
    const third = await createClient(app, { is_first_party: false, name: 'Third' });
    const browser = new TestBrowser(app);
    const asked = await browser.submit(await open({ scope: 'openid email' }, third, browser), person);
    expect(asked.text).toContain('name="decision"');
    const silent = await open({ scope: 'openid email', prompt: 'none' }, third, browser);
    expect(nextOf(silent).searchParams.get('error')).toBe('consent_required');
    const denied = await browser.submit(asked, { decision: 'deny' });
    expect(nextOf(denied).searchParams.get('error')).toBe('access_denied');
    const allowed = await browser.submit(asked, { decision: 'allow' });
    expect(nextOf(allowed).searchParams.get('code')).not.toBeNull();
    expect((await open({ scope: 'openid email' }, third, browser)).status).toBe(303);
    expect((await open({ scope: 'openid profile' }, third, browser)).status).toBe(200);
    expect((await open({ scope: 'openid email', prompt: 'consent' }, third, browser)).status).toBe(200);
    const foreign = await app.http
      .post('/sign-in/consent')
      .type('form')
      .set('Cookie', browser.cookie ?? '')
      .set('Sec-Fetch-Site', 'cross-site')
      .send({ ...formOf(authorizationOf(third, challenge)), decision: 'allow' });
    expect(foreign.status).toBe(403);
  });

  it('asks the person who has signed in since, in another tab', async () => {
    const third = await createClient(app, { is_first_party: false, name: 'Third' });
    const browser = new TestBrowser(app);
    const asked = await browser.submit(await open({}, third, browser), person);
    const { identity, password } = await createIdentity(app);
    await browser.submit(await open({ prompt: 'login' }, client, browser), {
      email: identity.email,
      password,
    });
    const again = await browser.submit(asked, { decision: 'allow' });
    expect([again.status, again.text.includes(identity.email)]).toEqual([200, true]);
    expect(await app.sql('SELECT 1 FROM consents WHERE identity_id = $1', [identity.id])).toEqual([]);
    expect(
      nextOf(await browser.submit(again, { decision: 'allow' })).searchParams.get('code'),
    ).not.toBeNull();
  });
});
