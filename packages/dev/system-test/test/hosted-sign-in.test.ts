import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { readCodeBlocks, shellBlock } from '@tessera/delivery/code-blocks';
import { HttpBrowser, ofOwnPage } from '@tessera/delivery/http-browser';
import { signInToWebApp } from '@tessera/delivery/web-app';
import { eventually } from '@tessera/stack/eventually';
import { findFreePort } from '@tessera/stack/postgres';
import { decodeJwt } from 'jose';
import { type Pair, startPair } from './support/pair.ts';
import { Shell, Terminal } from './support/shell.ts';

const password = 'a password of the system test';
const hosted = { WEB_APP: 'on', SIGN_IN: 'hosted', SESSION_KEYS: randomBytes(32).toString('base64') };

let pair: Pair;
beforeAll(async () => {
  pair = await startPair({
    replicas: { identity: 2, issues: 2 },
    behindOneAddress: true,
    environment: { identity: { HOSTED_SIGN_IN: 'on' }, issues: hosted },
  });
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
/** What each replica of issues says of the session of a browser. */
const usersOf = (browser: HttpBrowser) =>
  Promise.all(
    pair.issues.urls.map((url) =>
      userOf(new HttpBrowser({ cookies: browser.cookies, places: { [pair.issuesUrl]: url } })),
    ),
  );
const rowsOf = async (id: string) =>
  (
    await pair.sql(
      'issues',
      'SELECT client_id, sso_session_id, generation FROM web_sessions WHERE identity_id = $1 AND NOT revoke_pending',
      [id],
    )
  ).rows;
/** The logout tokens that issues has accepted so far. */
const acceptedTokens = () => pair.issues.log.match(/backchannel-logout[^\n]*"status":200/g)?.length ?? 0;
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
    const before = acceptedTokens();
    const page = await browser.get(`${pair.identityUrl}/oidc/logout`);
    await browser.submit(page, { decision: 'sign_out' });
    await eventually(async () => (await rowsOf(person.id)).length === 0);
    expect(await usersOf(browser)).toEqual([null, null]);
    expect(await usersOf(other.browser)).toEqual([other.person.id, other.person.id]);
    await eventually(async () => acceptedTokens() === before + 1);
  });

  it('hears once of a sign-out while it was down, from one of two replicas of identity', async () => {
    const { browser, person } = await signedIn();
    await pair.issues.kill();
    const before = acceptedTokens();
    await browser.submit(await browser.get(`${pair.identityUrl}/oidc/logout`), { decision: 'sign_out' });
    const text = 'SELECT attempts FROM logout_deliveries WHERE identity_id = $1';
    const waiting = async () => (await pair.sql('identity', text, [person.id])).rows;
    await eventually(async () => (await waiting())[0]?.attempts === 1);
    await pair.issues.start({});
    await pair.sql('identity', 'UPDATE logout_deliveries SET next_attempt_at = now()');
    await eventually(async () => (await waiting()).length === 0);
    expect(await usersOf(browser)).toEqual([null, null]);
    await eventually(async () => acceptedTokens() > before);
    expect(acceptedTokens()).toBe(before + 1);
  });

  it('ends the sessions of a person on each replica when identity ends all of them', async () => {
    const { browser, person } = await signedIn();
    expect((await pair.internal.delete(`/internal/identities/${person.id}/sessions`)).status).toBe(204);
    await eventually(async () => (await usersOf(browser)).every((user) => user === null));
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
    expect(await pair.issues.restart({ SIGN_IN: 'form' })).toEqual([0, 0]);
    const form = new HttpBrowser();
    await signInToWebApp(form, pair.issuesUrl, { email: person.email, password });
    expect(await userOf(form)).toBe(person.id);
    // Its token is still valid. Identity refuses it at the endpoint of the form.
    expect(await userOf(browser)).toBe(person.id);
    await expire(person.id);
    expect([await userOf(browser), await userOf(form)]).toEqual([null, person.id]);
    expect(await pair.issues.restart({ SIGN_IN: 'hosted' })).toEqual([0, 0]);
    expect(await userOf(form)).toBe(person.id);
    await expire(person.id);
    expect(await sessionOf(form)).toMatchObject({ user: { id: person.id }, sign_in: 'hosted' });
    const { data: clients } = await pair.internal.get('/internal/clients');
    expect(clients).toHaveLength(1);
  });
});

describe('the guides for applications', () => {
  let terminal: Terminal;
  let port: number;
  let receiver: Shell | undefined;
  beforeAll(async () => {
    port = await findFreePort();
    terminal = new Terminal(
      { DATABASE_URL: pair.databases.identity.service, JWT_ISSUER: pair.identityUrl },
      {
        'http://localhost:3001': pair.identityUrl,
        'http://localhost:3002': pair.issuesUrl,
        'localhost:8090': `localhost:${port}`,
        '$(cat .data/service-token)': pair.serviceToken,
      },
    );
  });
  afterAll(() => receiver?.interrupt());

  it('register an application, show it in the list, rotate its secret and disable it', async () => {
    await terminal.paste(shellBlock('docs/identity/applications.md', 'With the API', 0));
    const list = JSON.parse(
      await terminal.paste(shellBlock('docs/identity/applications.md', 'With the command line', 0)),
    );
    const { CLIENT_ID, CLIENT_SECRET, DESK_ID } = terminal.variables;
    expect(list.map(({ client_id: id }: { client_id: string }) => id)).toEqual(
      expect.arrayContaining([CLIENT_ID, DESK_ID]),
    );
    const rotated = await terminal.paste(shellBlock('docs/identity/applications.md', 'Rotate a secret', 0));
    expect(rotated).toMatch(/ valid until \d{4}-/);
    expect(terminal.variables.CLIENT_SECRET).not.toBe(CLIENT_SECRET);
    const disabled = await terminal.paste(shellBlock('docs/identity/applications.md', 'Disable a client', 0));
    expect(JSON.parse(disabled)).toMatchObject({ client_id: DESK_ID, disabled_at: expect.any(String) });
  });

  it('sign a person in, read the data, refresh, sign out, and hear of it', async () => {
    const [browser, person] = [new HttpBrowser(), await aPerson()];
    const address = await terminal.paste(shellBlock('docs/identity/sign-in.md', 'Sign a person in', 0));
    const { next = '' } = await browser.submit(await browser.get(address), { email: person.email, password });
    const back = new URL(next);
    expect(back.searchParams.get('state')).toBe(terminal.variables.STATE);
    terminal.variables.CODE = back.searchParams.get('code') ?? '';
    await terminal.paste(shellBlock('docs/identity/sign-in.md', 'Sign a person in', 1));
    const { nonce, sid } = decodeJwt(terminal.variables.ID_TOKEN ?? '');
    expect(nonce).toBe(terminal.variables.NONCE);
    const Authorization = `Bearer ${terminal.variables.ID_TOKEN}`;
    expect((await fetch(app('/api/v1/users/me/'), { headers: { Authorization } })).status).toBe(401);
    const data = await terminal.paste(
      shellBlock('docs/identity/sign-in.md', 'Read the data of the person', 0),
    );
    expect(JSON.parse(data)).toMatchObject({ sub: person.id, email: person.email });
    const { REFRESH_TOKEN } = terminal.variables;
    await terminal.paste(shellBlock('docs/identity/sign-in.md', 'Refresh', 0));
    expect(terminal.variables.REFRESH_TOKEN).not.toBe(REFRESH_TOKEN);

    const [program] = readCodeBlocks('docs/identity/sign-out.md').filter(({ language }) => language === 'js');
    const PROGRAM = program?.text.replaceAll('8090', String(port)) ?? '';
    const run = 'cd packages/dev/system-test && exec node --input-type=module --eval "$PROGRAM"';
    const listening = new Shell(run, { ...terminal.variables, PROGRAM });
    receiver = listening;
    await listening.waitFor(() => listening.output.includes('listening'));
    const out = await browser.get(
      await terminal.paste(shellBlock('docs/identity/sign-out.md', 'Sign a person out', 0)),
    );
    expect(out.next).toBe(`http://localhost:${port}/?state=${terminal.variables.STATE}`);
    await listening.waitFor(() => listening.output.includes(`end the session of ${sid}`));
    const forged = new URLSearchParams({ logout_token: terminal.variables.ID_TOKEN ?? '' });
    const refused = await fetch(`http://localhost:${port}/logout`, { method: 'POST', body: forged });
    expect(refused.status).toBe(400);
    await terminal.paste(shellBlock('docs/identity/sign-out.md', 'End the tokens of one application', 0));
  });

  it('sign a machine in', async () => {
    await terminal.paste(shellBlock('docs/identity/machines.md', 'Machines', 0));
    const me = JSON.parse(await terminal.paste(shellBlock('docs/identity/machines.md', 'Machines', 1)));
    expect(me).toMatchObject({ email: 'robot@example.com' });
  });
});
