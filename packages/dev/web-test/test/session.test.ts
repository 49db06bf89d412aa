import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { eventually } from '@tessera/stack/eventually';
import { startOtherOrigin } from '../src/other-origin.ts';
import { type Person, password, signInByForm, startWeb, type WatchedPage, type Web } from '../src/web.ts';

let web: Web;
let ada: Person;
let others: Awaited<ReturnType<typeof startOtherOrigin>>;

beforeAll(async () => {
  others = await startOtherOrigin();
  web = await startWeb(
    {
      identity: { TRUST_PROXY: 'loopback', SIGN_IN_PAIR_LIMIT: '3', SIGN_IN_IP_LIMIT: '5' },
      issues: { TRUST_PROXY: 'loopback' },
    },
    { replicas: { issues: 2 } },
  );
  ada = await web.createPerson('ada', 'Ada Lovelace');
});

afterAll(async () => {
  others?.stop();
  // The second replica may not have been started.
  expect((await web?.stop())?.filter((code) => code !== null && code !== 0)).toEqual([]);
});

const cookieOf = async ({ page }: WatchedPage) => {
  const [cookie, ...more] = await page.context().cookies();
  expect(more).toEqual([]);
  return cookie;
};
/** Moves the clock of all sessions forward. */
const moveClock = (minutes: number) =>
  web.sql(
    'issues',
    `UPDATE web_sessions SET access_expires_at = access_expires_at - $1 * interval '1 minute',
       refresh_at = refresh_at - $1 * interval '1 minute', refreshing_until = refreshing_until - $1 * interval '1 minute'`,
    [minutes],
  );

it('a sign-in with a temporary password asks for an own one', async () => {
  const body = { email: 'first@example.com', password, password_is_temporary: true, is_verified: true };
  expect((await web.stack.internal.post('/internal/identities', body)).status).toBe(201);
  const { page, close } = await web.open();
  await page.goto('/sign-in');
  await page.getByLabel('E-mail').fill(body.email);
  await page.getByLabel('Password', { exact: true }).fill(password);
  await page.keyboard.press('Enter');
  const next = page.getByLabel('New password').and(page.locator(':focus'));
  await next.fill('short');
  await page.keyboard.press('Enter');
  await page.getByText('The new password must be at least 8 characters').waitFor();
  await next.fill('a lighthouse made of salt');
  await page.keyboard.press('Enter');
  await page.waitForURL(/\/issues/);
  await close();
});

describe('cross-site request forgery', () => {
  const issues = '/app/api/v1/issues/';
  const json = '{"title":"Forged"}';
  /** The ways to send a request from a page, and the request. */
  const ways = {
    form: [
      'POST',
      issues,
      (url: string) => `{
      const form = document.createElement('form');
      Object.assign(form, { method: 'post', enctype: 'text/plain', action: '${url}' });
      const field = document.createElement('input');
      Object.assign(field, { name: '{"title":"Forged', value: '"}' });
      form.append(field);
      document.body.append(form);
      // After the evaluation has returned: its answer may get lost when the page goes away.
      setTimeout(() => form.submit());
      undefined
    }`,
    ],
    image: ['GET', '/app/api/v1/users/me/', (url: string) => `{ new Image().src = '${url}'; undefined }`],
    fetch: [
      'POST',
      issues,
      (url: string) =>
        `fetch('${url}', { method: 'POST', mode: 'no-cors', credentials: 'include', body: '${json}' }).catch(() => 0)`,
    ],
    fetchToRead: [
      'GET',
      '/app/sessions',
      (url: string) =>
        `fetch('${url}', { credentials: 'include' }).then(({ status }) => status, () => 'unreadable')`,
    ],
    fetchWithHeader: [
      'POST',
      issues,
      (url: string) =>
        `fetch('${url}', { method: 'POST', credentials: 'include', body: '${json}', headers:
         { 'Content-Type': 'application/json', 'X-Tessera-App': '1', 'X-Tessera-User': '${ada.id}' } }).then(({ status }) => status, () => 'unreadable')`,
    ],
  } as const;
  const forged = {
    form: ['POST 403', undefined],
    image: ['GET 403', undefined],
    fetch: ['POST 403', 0],
    fetchToRead: ['GET 403', 'unreadable'],
    // The preflight is refused, and the request not sent.
    fetchWithHeader: ['OPTIONS 403', 'unreadable'],
  };
  const own = {
    ...forged,
    // They do not name the person.
    image: ['GET 409', undefined],
    fetch: ['POST 403', expect.anything()],
    fetchToRead: ['GET 409', 409],
    fetchWithHeader: ['POST 201', 201],
  };

  it.each([
    // Its answers depend on the session, and its Content-Security-Policy refuses a form to another port.
    ['the app itself', () => `${web.url}/settings/none`, own, undefined],
    ['another port of the host', () => others.onAnotherPort, forged, true],
    ['another site', () => others.onAnotherSite, forged, false],
  ])('from %s', async (_name, urlOf, expected, sendsCookie) => {
    const opened = await web.open();
    await signInByForm(opened.page, ada);
    const seen: Record<string, unknown> = {};
    for (const [way, [method, path, script]] of Object.entries(ways)) {
      const page = await opened.page.context().newPage();
      await page.goto(urlOf());
      const answer = requestAfter(
        (line) => line.method === 'OPTIONS' || (line.method === method && line.route === path),
      );
      const read = await page.evaluate(script(`${web.url}${path}`));
      seen[way] = [await answer, read];
      // The end of a page that has just gone to another process may never be reported. The browser closes it.
      if (way !== 'form') await page.close();
    }
    expect(seen).toEqual(expected);
    if (sendsCookie !== undefined) {
      // `SameSite=Strict` protects from other sites only: another port is the same site.
      const cookies = others.nextCookies();
      await opened.page.goto(urlOf());
      await opened.page.evaluate(ways.form[2](others.onAnotherPort));
      expect((await cookies).includes('tessera=')).toBe(sendsCookie);
    }
    const { rows } = await web.sql('issues', 'SELECT count(*)::int AS forged FROM issues');
    expect(rows).toEqual([{ forged: 1 }]);
    await opened.close();
  });

  /** Waits for the next request in the service's log. Returns its method and status. */
  async function requestAfter(isWanted: (line: { method?: string; route?: string }) => boolean) {
    const [service] = web.stack.issues;
    const start = service?.log.length ?? 0;
    for (;;) {
      const lines = (service?.log ?? '')
        .slice(start)
        .split('\n')
        .slice(0, -1)
        .map((line) => JSON.parse(line));
      const found = lines.find(isWanted);
      if (found !== undefined) return `${found.method} ${found.status}`;
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
  }
});

describe('the cookie', () => {
  it('is for this host and no script, and new at each sign-in', async () => {
    const opened = await web.open();
    const { page } = opened;
    const fixed = randomBytes(32).toString('base64url');
    await page.context().addCookies([{ name: 'tessera', value: fixed, url: web.url }]);
    await signInByForm(page, ada);
    const cookie = await cookieOf(opened);
    expect(cookie).toMatchObject({
      name: 'tessera',
      value: expect.stringMatching(/^[\w-]{43}$/),
      domain: '127.0.0.1',
      path: '/',
      httpOnly: true,
      sameSite: 'Strict',
    });
    expect(cookie?.value).not.toBe(fixed);
    expect((cookie?.expires ?? 0) * 1000 - Date.now()).toBeGreaterThan(399 * 86_400_000);
    expect(await page.evaluate('document.cookie')).toBe('');
    // A page that knows the first cookie has no session.
    const attacker = await web.open();
    await attacker.page.context().addCookies([{ name: 'tessera', value: fixed, url: web.url }]);
    await attacker.page.goto('/issues');
    await attacker.page.getByLabel('Password').waitFor();
    expect([opened.problems, attacker.problems]).toEqual([[], []]);
    await Promise.all([opened.close(), attacker.close()]);
  });

  it('is __Host- and Secure where the address is https', async () => {
    // Chromium accepts secure cookies from a loopback address without TLS.
    const [, secure] = web.stack.issues;
    if (secure === undefined) throw new Error('There is no second replica.');
    await secure.start({ PUBLIC_BASE_URL: secure.url.replace('http:', 'https:') });
    const opened = await web.open({ baseURL: secure.url });
    await signInByForm(opened.page, ada);
    await opened.page.getByRole('main').waitFor();
    expect(await cookieOf(opened)).toMatchObject({
      name: '__Host-tessera',
      secure: true,
      httpOnly: true,
      sameSite: 'Strict',
    });
    expect(opened.problems).toEqual([]);
    await opened.close();
    await secure.stop();
  });
});

describe('a session', () => {
  it('survives twenty minutes without identity, and what was typed is sent afterwards', async () => {
    const { key } = await ada.api.create({ title: 'Typed during an outage' });
    const opened = await web.open();
    const { page } = opened;
    await signInByForm(page, ada, `/issues/${key}`);
    const before = await cookieOf(opened);
    await page.getByLabel('Comment').fill('Typed before the outage');
    const [identity] = web.stack.identities;
    await identity?.stop();
    await moveClock(20);
    await page.getByRole('button', { name: 'Comment', exact: true }).click();
    await page.getByText('The comment was not added.').waitFor();
    expect(await page.getByLabel('Comment').inputValue()).toBe('Typed before the outage');
    expect(new URL(page.url()).pathname).toBe(`/issues/${key}`);
    await identity?.start();
    // A failed refresh is repeated after 5 s.
    await moveClock(1);
    // The service asks identity again only after a pause, which can begin late on a slow machine.
    await eventually(async () => {
      await page
        .getByRole('button', { name: 'Comment', exact: true })
        .click({ timeout: 1_000 })
        .catch(() => undefined);
      const added = page.locator('.comment', { hasText: 'Typed before the outage' });
      return added.waitFor({ timeout: 5_000 }).then(
        () => true,
        () => false,
      );
    });
    expect(await cookieOf(opened)).toEqual(before);
    expect(opened.problems.filter((problem) => !problem.includes('503'))).toEqual([]);
    await opened.close();
  });

  it('ends in every tab after the password was changed elsewhere, without a click, and nothing typed is lost', async () => {
    const eve = await web.createPerson('eve', 'Eve Holt');
    const { key } = await eve.api.create({ title: 'Of a person with a new password' });
    const { page, problems, close } = await web.open();
    await signInByForm(page, eve, `/issues/${key}`);
    const other = await page.context().newPage();
    await other.goto(`${web.url}/issues`);
    await other.getByText('Of a person with a new password').waitFor();
    const next = 'another password of the web tests';
    await page.getByLabel('Comment').fill('Typed before the new password');
    await web.stack.internal.put(`/internal/identities/${eve.id}`, { password: next });
    const ended = { name: 'Your session has ended' };
    await other.getByRole('dialog', ended).waitFor();
    const dialog = page.getByRole('dialog', ended);
    await dialog.getByLabel('Password').fill(password);
    await dialog.getByRole('button', { name: 'Sign in' }).click();
    await dialog.getByText('The e-mail address or the password is wrong.').waitFor();
    await dialog.getByLabel('Password').fill(next);
    await dialog.getByRole('button', { name: 'Sign in' }).click();
    await other.getByRole('dialog', ended).waitFor({ state: 'hidden' });
    await page.getByRole('button', { name: 'Comment', exact: true }).click();
    await page.locator('.comment', { hasText: 'Typed before the new password' }).waitFor();
    expect(problems.filter((problem) => !problem.includes('401'))).toEqual([]);
    await close();
  });

  it("is refused to an address with too many wrong passwords, by identity's limit, and open to another", async () => {
    const max = await web.createPerson('max', 'Max Brandt');
    const from = (address: string) => web.open({ extraHTTPHeaders: { 'X-Forwarded-For': address } });
    const attacker = await from('203.0.113.9');
    const owner = await from('198.51.100.7');
    await attacker.page.goto('/sign-in');
    await attacker.page.getByLabel('E-mail').fill(max.email);
    const attempt = async (typed: string) => {
      await attacker.page.getByLabel('Password').fill(typed);
      const answer = attacker.page.waitForResponse('**/app/session');
      await attacker.page.getByRole('button', { name: 'Sign in' }).click();
      return (await answer).status();
    };
    const statuses = [];
    for (const typed of ['wrong 1', 'wrong 2', 'wrong 3', password]) statuses.push(await attempt(typed));
    expect(statuses).toEqual([401, 401, 401, 429]);
    await attacker.page
      .getByRole('alert')
      .filter({ hasText: /too many/i })
      .waitFor();
    await signInByForm(owner.page, max);
    await owner.page.getByRole('main').waitFor();
    expect(owner.problems).toEqual([]);
    await Promise.all([attacker.close(), owner.close()]);
  });
});
