import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { HttpBrowser, ofOwnPage } from '@tessera/delivery/http-browser';
import { signInToWebApp } from '@tessera/delivery/web-app';
import { eventually } from '@tessera/stack/eventually';
import { type Pair, startPair } from './support/pair.ts';

const password = 'a password of the system test';
const hosted = { WEB_APP: 'on', SIGN_IN: 'hosted', SESSION_KEYS: randomBytes(32).toString('base64') };

let pair: Pair;
beforeAll(async () => {
  pair = await startPair({ environment: { identity: { HOSTED_SIGN_IN: 'on' }, issues: hosted } });
});
afterAll(async () => {
  expect(new Set(await pair?.stop())).toEqual(new Set([0]));
});

const app = (path: string) => `${pair.issuesUrl}${path}`;

let people = 0;
async function aPerson(): Promise<{ id: string; email: string }> {
  people += 1;
  const email = `person-${people}@example.com`;
  const { data } = await pair.internal.post('/internal/identities', { email, password, is_verified: true });
  return { id: data.id, email };
}

const isOfIdentity = (url: string) => url.startsWith(pair.identityUrl);

/** Goes to identity, and signs in there if it asks. @returns the address of the app to which identity leads back */
async function authorize(browser: HttpBrowser, email: string): Promise<string> {
  const start = await browser.get(app('/app/oidc/sign-in?next=%2Fboard'));
  const asked = await browser.follow(start, isOfIdentity);
  const { next = '' } = asked.next === undefined ? await browser.submit(asked, { email, password }) : asked;
  return isOfIdentity(next)
    ? ((await browser.follow(await browser.get(next), isOfIdentity)).next ?? '')
    : next;
}

/** @returns the path to which the app goes */
async function finish(browser: HttpBrowser, url: string): Promise<string> {
  const { status, next = '' } = await browser.get(url);
  if (status !== 303) throw new Error(`the sign-in ended with ${status}`);
  return next.slice(pair.issuesUrl.length);
}

async function signedIn() {
  const [browser, person] = [new HttpBrowser(), await aPerson()];
  expect(await finish(browser, await authorize(browser, person.email))).toBe('/board');
  return { browser, person };
}

const sessionOf = async (browser: HttpBrowser) =>
  JSON.parse((await browser.get(app('/app/session'), ofOwnPage)).text);
const userOf = async (browser: HttpBrowser): Promise<string | null> =>
  (await sessionOf(browser)).user?.id ?? null;
const rowsOf = async (id: string) =>
  (
    await pair.sql(
      'issues',
      'SELECT client_id, sso_session_id, generation FROM web_sessions WHERE identity_id = $1 AND NOT revoke_pending',
      [id],
    )
  ).rows;
const expire = (id: string) =>
  pair.sql(
    'issues',
    'UPDATE web_sessions SET access_expires_at = now(), refresh_at = now() WHERE identity_id = $1',
    [id],
  );

describe('the web app as a client of identity', () => {
  it('registers itself and gets tokens for itself alone', async () => {
    const { browser, person } = await signedIn();
    expect(await userOf(browser)).toBe(person.id);
    const { data: clients } = await pair.internal.get('/internal/clients');
    expect(clients).toEqual([
      expect.objectContaining({
        name: 'Tessera',
        redirect_uris: [app('/app/oidc/callback')],
        backchannel_logout_uri: app('/app/oidc/backchannel-logout'),
      }),
    ]);
    expect(await rowsOf(person.id)).toEqual([
      { client_id: clients[0].client_id, sso_session_id: expect.any(String), generation: expect.any(Number) },
    ]);
    const { rows } = await pair.sql(
      'identity',
      'SELECT client_id FROM token_families WHERE identity_id = $1',
      [person.id],
    );
    expect(rows).toEqual([{ client_id: clients[0].client_id }]);
    const headers = { ...ofOwnPage, 'X-Tessera-User': person.id };
    const { text } = await browser.get(app('/app/api/v1/users/me/'), headers);
    expect(JSON.parse(text).email).toBe(person.email);
  });

  it('refreshes at identity', async () => {
    const { browser, person } = await signedIn();
    for (const _ of [1, 2]) {
      await expire(person.id);
      expect(await userOf(browser)).toBe(person.id);
    }
    const [{ generation }] = await rowsOf(person.id);
    expect(generation).toBeGreaterThanOrEqual(2);
  });

  it('uses the sign-in at identity for a second session, without a page', async () => {
    const { browser, person } = await signedIn();
    browser.cookies.delete('tessera');
    expect(await userOf(browser)).toBeNull();
    expect(await finish(browser, await authorize(browser, person.email))).toBe('/board');
    expect(await userOf(browser)).toBe(person.id);
  });

  it('starts no second session with a response that was used, nor one in another browser', async () => {
    const [browser, person] = [new HttpBrowser(), await aPerson()];
    const url = await authorize(browser, person.email);
    const [copy, victim] = [new HttpBrowser(browser), new HttpBrowser()];
    // Login CSRF: the response of the attacker's sign-in, in another browser.
    expect(await finish(victim, url)).toBe('/sign-in?problem=expired');
    expect(victim.cookies).toEqual(new Map());
    expect(await finish(browser, url)).toBe('/board');
    expect(await finish(copy, url)).toBe('/sign-in?problem=expired&next=%2Fboard');
    expect(copy.cookies.has('tessera')).toBe(false);
    expect(await rowsOf(person.id)).toHaveLength(1);
    // Identity ends the tokens of a code that was used twice.
    await expire(person.id);
    expect(await userOf(browser)).toBeNull();
  });

  it('refuses a response that names another issuer, and shows an error of identity', async () => {
    const [browser, person] = [new HttpBrowser(), await aPerson()];
    const other = new URL(await authorize(browser, person.email));
    other.searchParams.set('iss', pair.identityUrl);
    expect(await finish(browser, other.href)).toBe('/sign-in?problem=failed&next=%2Fboard');
    const stranger = new HttpBrowser();
    const start = await stranger.get(app('/app/oidc/sign-in?next=%2Fboard'));
    const { next = '' } = await stranger.get(`${start.next}&prompt=none`);
    expect(new URL(next).searchParams.get('error')).toBe('login_required');
    expect(await finish(stranger, next)).toBe('/sign-in?problem=failed&next=%2Fboard');
  });

  it('hears of a sign-out at identity by the back channel', async () => {
    const { browser, person } = await signedIn();
    const other = await signedIn();
    const page = await browser.get(`${pair.identityUrl}/oidc/logout`);
    await browser.submit(page, { decision: 'sign_out' });
    await eventually(async () => (await rowsOf(person.id)).length === 0);
    expect(await userOf(browser)).toBeNull();
    expect(await userOf(other.browser)).toBe(other.person.id);
    await eventually(async () => /backchannel-logout[^\n]*"status":200/.test(pair.issues.log));
  });

  it('signs out of all applications', async () => {
    const { browser, person } = await signedIn();
    const left = await browser.get(app(`/app/oidc/sign-out?user=${person.id}`), ofOwnPage);
    expect((await browser.follow(left)).url).toBe(app('/sign-in?signed_out=1'));
    expect(browser.cookies).toEqual(new Map());
    expect(await rowsOf(person.id)).toEqual([]);
    const { text } = await browser.follow(await browser.get(app('/app/oidc/sign-in')));
    expect(text).toContain('type="password"');
  });

  it('keeps the sessions while identity is down, and goes on after it', async () => {
    const { browser, person } = await signedIn();
    const returning = new HttpBrowser();
    const url = await authorize(returning, person.email);
    await pair.identity.kill();
    expect(await finish(returning, url)).toBe('/sign-in?problem=unavailable&next=%2Fboard');
    expect(await userOf(browser)).toBe(person.id);
    await pair.identity.start({});
    expect(await finish(returning, await authorize(returning, person.email))).toBe('/board');
    await expire(person.id);
    expect(await userOf(browser)).toBe(person.id);
  });

  it('keeps the sessions of the form, and ends those of the client when the form is back', async () => {
    const { browser, person } = await signedIn();
    expect(await pair.issues.restart({ SIGN_IN: 'form' })).toEqual([0]);
    const form = new HttpBrowser();
    await signInToWebApp(form, pair.issuesUrl, { email: person.email, password });
    expect(await userOf(form)).toBe(person.id);
    // Its token is still valid. Identity refuses it at the endpoint of the form.
    expect(await userOf(browser)).toBe(person.id);
    await expire(person.id);
    expect([await userOf(browser), await userOf(form)]).toEqual([null, person.id]);
    expect(await pair.issues.restart({ SIGN_IN: 'hosted' })).toEqual([0]);
    expect(await userOf(form)).toBe(person.id);
    await expire(person.id);
    expect(await sessionOf(form)).toMatchObject({ user: { id: person.id }, sign_in: 'hosted' });
    const { data: clients } = await pair.internal.get('/internal/clients');
    expect(clients).toHaveLength(1);
  });
});
