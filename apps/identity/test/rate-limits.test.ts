import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { expectOAuthProblem } from '@tessera/testing/problems';
import type { Response } from 'supertest';
import { createClient } from './support/clients.ts';
import { aPassword, createIdentity, signedIn, signIn } from './support/identities.ts';
import { exchange, nextCode, signInFor } from './support/oidc.ts';
import { startTestApp, type TestApp } from './support/test-app.ts';

let app: TestApp;
beforeAll(async () => {
  app = await startTestApp({
    HOSTED_SIGN_IN: 'on',
    RATE_LIMIT_TOKENS_PER_MINUTE: '3',
    RATE_LIMIT_READS_PER_MINUTE: '2',
  });
});
afterAll(() => app.close());

const attempt = (email: string, password: string) =>
  app.http.post('/token').send({ grant_type: 'password', email, password });
const refresh = (token: string) => app.http.post('/token/refresh').send({ refresh_token: token });
const userInfo = (token: string) => app.http.get('/userinfo').set('Authorization', `Bearer ${token}`);

function expectLimited(response: Response, detail: string) {
  expectOAuthProblem(response, 429, 'too_many_requests');
  expect(response.body.detail).toBe(detail);
  const seconds = Number(response.headers['retry-after']);
  expect(seconds).toBeGreaterThan(50);
  expect(seconds).toBeLessThanOrEqual(60);
}

const sessionsOf = async (id: string) =>
  (await app.sql('SELECT id FROM token_families WHERE identity_id = $1', [id])).length;

describe('the limits of one identity', () => {
  it('refuse sign-ins beyond the quota with the correct and a wrong password, but not those of another identity', async () => {
    const { identity, password } = await createIdentity(app);
    for (let count = 0; count < 3; count += 1) await signIn(app, identity.email, password);
    for (const given of [password, aPassword()]) {
      expectLimited(await attempt(identity.email, given), 'At most 3 sign-ins a minute.');
    }
    expect(await sessionsOf(identity.id)).toBe(3);
    await signedIn(app);
  });

  it('refuse code exchanges beyond the quota, and leave the code unused; another application goes on', async () => {
    const { identity, password } = await createIdentity(app);
    const [client, other] = [await createClient(app), await createClient(app)];
    const first = await signInFor(app, client, { email: identity.email, password });
    await exchange(app, client, first).expect(200);
    for (let count = 1; count < 3; count += 1)
      await exchange(app, client, await nextCode(first.browser, client)).expect(200);
    const code = await nextCode(first.browser, client);
    expectLimited(await exchange(app, client, code), 'At most 3 code exchanges a minute.');
    const [stored] = await app.sql(
      'SELECT used_at FROM authorization_codes WHERE identity_id = $1 AND used_at IS NULL',
      [identity.id],
    );
    expect(stored).toEqual({ used_at: null });
    await exchange(app, other, await nextCode(first.browser, other)).expect(200);
  });

  it('hold for parallel sign-ins, except for hashes that are already running', async () => {
    const { identity, password } = await createIdentity(app);
    const answers = await Promise.all(Array.from({ length: 20 }, () => attempt(identity.email, password)));
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200, 429]));
    const sessions = await sessionsOf(identity.id);
    expect(sessions).toBeGreaterThanOrEqual(3);
    expect(sessions).toBeLessThanOrEqual(3 + 2 * app.config.passwords.hashConcurrency);
  });

  it('count neither failed sign-ins nor those of an unknown e-mail', async () => {
    const { identity, password } = await createIdentity(app);
    for (let count = 0; count < 4; count += 1) await attempt(identity.email, aPassword()).expect(401);
    await attempt(identity.email, password).expect(200);
  });

  it('refuse the refreshes beyond the quota in all sessions, and the refused token stays valid', async () => {
    const { identity, password, tokens } = await signedIn(app);
    const other = await signIn(app, identity.email, password);
    let { refresh_token: token } = tokens;
    for (let count = 0; count < 3; count += 1) token = (await refresh(token).expect(200)).body.refresh_token;
    for (const given of [token, other.refresh_token]) {
      expectLimited(await refresh(given), 'At most 3 refreshes a minute.');
    }
    const [row] = await app.sql(
      'SELECT count(*)::int AS valid FROM refresh_tokens t JOIN token_families f ON f.id = family_id WHERE identity_id = $1 AND t.revoked_at IS NULL',
      [identity.id],
    );
    expect(row?.valid).toBe(2);
  });

  it('do not count refused refresh tokens, so their holder cannot block the owner', async () => {
    const { tokens } = await signedIn(app);
    const { body } = await refresh(tokens.refresh_token).expect(200);
    for (let count = 0; count < 5; count += 1) await refresh(tokens.refresh_token).expect(401);
    await refresh(body.refresh_token).expect(200);
  });

  it('refuse the reads of /userinfo beyond the quota', async () => {
    const { tokens } = await signedIn(app);
    for (let count = 0; count < 2; count += 1) await userInfo(tokens.access_token).expect(200);
    expectLimited(await userInfo(tokens.access_token), 'At most 2 reads a minute.');
    await userInfo((await signedIn(app)).tokens.access_token).expect(200);
  });
});
