import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { eventually } from '@tessera/stack/eventually';
import { pageProblems } from '../src/page-problems.ts';
import { type Page, type Person, password, startWeb, type WatchedPage, type Web } from '../src/web.ts';

let web: Web;
let ada: Person;
let grace: Person;

beforeAll(async () => {
  web = await startWeb({
    identity: { HOSTED_SIGN_IN: 'on', TRUST_PROXY: 'loopback' },
    issues: { SIGN_IN: 'hosted', TRUST_PROXY: 'loopback' },
  });
  ada = await web.createPerson('ada', 'Ada Lovelace');
  grace = await web.createPerson('grace', 'Grace Hopper', true);
});
afterAll(async () => {
  expect((await web?.stop())?.filter((code) => code !== 0)).toEqual([]);
});

const isAt = (origin: string) => (url: URL) => url.origin === new URL(origin).origin;
const button = (page: Page) => page.getByRole('button', { name: 'Sign in' });

/** Fills the page of identity. */
async function fill(page: Page, { email }: Pick<Person, 'email'>, typed = password): Promise<void> {
  await page.waitForURL(isAt(web.stack.urls.identity));
  await page.getByLabel('E-mail').fill(email);
  await page.getByLabel('Password').fill(typed);
  await button(page).click();
}

async function signInAt(page: Page, path: string, person: Person = ada): Promise<void> {
  await page.goto(path);
  await button(page).click();
  await fill(page, person);
  await page.waitForURL((url) => isAt(web.url)(url) && url.pathname === path);
}

/** Chromium reports a request that was refused because the session has ended. */
const unexpected = ({ problems }: WatchedPage) => problems.filter((problem) => !/401|422/.test(problem));

it('the page of identity leads back to the place, after a wrong password, too', async () => {
  const { key } = await ada.api.create({ title: 'Read after the sign-in' });
  const opened = await web.open();
  const { page } = opened;
  await page.goto(`/issues/${key}`);
  await page.getByRole('heading', { name: 'Sign in to Tessera' }).waitFor();
  expect(await page.getByLabel('Password').count()).toBe(0);
  await button(page).click();
  await fill(page, ada, 'a wrong password');
  await page.getByRole('alert').waitFor();
  expect(await page.getByLabel('E-mail').inputValue()).toBe(ada.email);
  await fill(page, ada);
  await page.waitForURL(`${web.url}/issues/${key}`);
  await page.getByRole('heading', { name: 'Read after the sign-in' }).waitFor();
  expect(unexpected(opened)).toEqual([]);
  await opened.close();
});

it('two tabs come back to their own places', async () => {
  const opened = await web.open();
  const { page } = opened;
  const other = await page.context().newPage();
  await page.goto('/board');
  await other.goto(`${web.url}/settings/account`);
  await button(page).click();
  await button(other).click();
  await fill(other, ada);
  await other.waitForURL(`${web.url}/settings/account`);
  await fill(page, ada);
  await page.waitForURL(`${web.url}/board`);
  expect(unexpected(opened)).toEqual([]);
  await opened.close();
});

describe('a session that ends over a half-written comment', () => {
  const dialogOf = (page: Page) => page.getByRole('dialog', { name: 'Your session has ended' });

  /** Writes a comment, and sends it after all sessions of the person have ended. */
  async function writeTooLate(opened: WatchedPage, name: string) {
    const { page } = opened;
    const person = await web.createPerson(name, `Person ${name}`);
    const { key } = await person.api.create({ title: `Of ${name}` });
    // The stream of events would tell of the end before the person sends the comment.
    await page.route('**/events/stream/**', (route) => route.abort());
    await signInAt(page, `/issues/${key}`, person);
    await page.getByLabel('Comment').fill('Written before the end');
    expect((await web.stack.internal.delete(`/internal/identities/${person.id}/sessions`)).status).toBe(204);
    // Identity's events tell issues.
    const live = 'SELECT 1 FROM web_sessions WHERE identity_id = $1 AND access_expires_at > now()';
    await eventually(async () => (await web.sql('issues', live, [person.id])).rows.length === 0);
    await page.getByRole('button', { name: 'Comment', exact: true }).click();
    await dialogOf(page).waitFor();
    return { person, key };
  }

  async function expectOneComment(page: Page, key: string): Promise<void> {
    await page.locator('.comment', { hasText: 'Written before the end' }).waitFor();
    await eventually(async () => (await page.getByLabel('Comment').inputValue()) === '');
    const { comments_count: count } = await ada.api.get(key);
    expect(count).toBe(1);
  }

  it('goes on after a sign-in in a window', async () => {
    const opened = await web.open();
    const { page } = opened;
    const { person, key } = await writeTooLate(opened, 'wanda');
    const [popup] = await Promise.all([page.waitForEvent('popup'), button(page).click()]);
    await popup.waitForURL(isAt(web.stack.urls.identity));
    expect(await popup.getByLabel('E-mail').inputValue()).toBe(person.email);
    const closed = popup.waitForEvent('close', { timeout: 120_000 });
    await fill(popup, person);
    await dialogOf(page).waitFor({ state: 'hidden' });
    await closed;
    await expectOneComment(page, key);
    await opened.close();
  });

  it('is sent after a sign-in in the same tab, if the browser opens no window', async () => {
    const opened = await web.open();
    const { page } = opened;
    await page.addInitScript('window.open = () => null');
    const { person, key } = await writeTooLate(opened, 'bert');
    await button(page).click();
    await fill(page, person);
    await page.waitForURL(`${web.url}/issues/${key}`);
    await page.getByText('Your change was sent after the sign-in.').waitFor();
    await expectOneComment(page, key);
    expect(await page.evaluate('Object.keys(sessionStorage).filter((key) => /refused/.test(key))')).toEqual(
      [],
    );
    await opened.close();
  });
});

it('a sign-out of all applications ends the sign-in at identity, too', async () => {
  const opened = await web.open();
  const { page } = opened;
  await signInAt(page, '/board');
  await page.getByLabel('Account of Ada Lovelace').click();
  await page.getByRole('button', { name: 'Sign out', exact: true }).click();
  await page.waitForURL(`${web.url}/sign-in`);
  // The sign-in at identity goes on.
  await button(page).click();
  await page.waitForURL(`${web.url}/issues`);
  const other = await page.context().newPage();
  await other.goto(`${web.url}/board`);
  await page.getByLabel('Account of Ada Lovelace').click();
  await page.getByRole('button', { name: 'Sign out of all applications' }).click();
  await page.waitForURL(`${web.url}/sign-in?signed_out=1`);
  await other.waitForURL(/\/sign-in/);
  await button(page).click();
  await page.waitForURL(isAt(web.stack.urls.identity));
  await page.getByLabel('Password').waitFor();
  await opened.close();
});

it('a sign-out at identity reaches an open page without a click', async () => {
  const opened = await web.open();
  const { page } = opened;
  const person = await web.createPerson('otto', 'Otto Hahn');
  await signInAt(page, '/board', person);
  const { rows } = await web.sql('issues', 'SELECT sso_session_id FROM web_sessions WHERE identity_id = $1', [
    person.id,
  ]);
  expect(rows).toHaveLength(1);
  const other = await page.context().newPage();
  await other.goto(`${web.stack.urls.identity}/oidc/logout`);
  await other.getByRole('button', { name: 'Sign out' }).click();
  await other.getByText('You are signed out').waitFor();
  await page.getByRole('dialog', { name: 'Your session has ended' }).waitFor();
  await opened.close();
});

describe('the applications in the settings', () => {
  it('are registered with a secret that is shown once, get another one, and are disabled', async () => {
    const opened = await web.open();
    const { page } = opened;
    await signInAt(page, '/settings/applications', grace);
    await page.getByRole('button', { name: 'New application' }).click();
    const form = page.getByRole('dialog', { name: 'New application' });
    await form.getByLabel('Name').fill('Wiki');
    await form.getByLabel('Redirect URIs').fill('http://wiki.example/callback');
    await form.getByRole('button', { name: 'Create' }).click();
    await form.getByText(/^must be/).waitFor();
    await form.getByLabel('Redirect URIs').fill('https://wiki.example/callback');
    await form.getByRole('button', { name: 'Create' }).click();
    const secretOf = async () => {
      const dialog = page.getByRole('dialog', { name: 'The secret of the application' });
      const secret = await dialog.locator('pre').textContent();
      await dialog.getByRole('button', { name: 'I have stored it' }).click();
      return secret;
    };
    const first = await secretOf();
    expect(first).toMatch(/^[\w-]{43}$/);
    const entry = page.getByRole('listitem').filter({ hasText: 'Wiki' });
    await entry.getByText('https://wiki.example/callback').waitFor();
    expect(await page.content()).not.toContain(first);
    await entry.getByRole('button', { name: 'New secret of Wiki' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'New secret' }).click();
    expect(await secretOf()).not.toBe(first);
    await entry.getByRole('button', { name: 'Disable Wiki' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Disable' }).click();
    await entry.getByText('Disabled', { exact: true }).waitFor();
    expect(await entry.getByRole('button').count()).toBe(0);
    expect(unexpected(opened)).toEqual([]);
    await opened.close();
  });

  it('are for staff alone', async () => {
    const opened = await web.open();
    await signInAt(opened.page, '/settings/applications');
    await opened.page.getByText('Only staff may see this page.').waitFor();
    await opened.close();
  });
});

describe('accessibility in both themes', () => {
  it.each([1280, 320])('of the sign-in and the applications, %i pixels wide', async (width) => {
    const { page, close } = await web.open({ bypassCSP: true, viewport: { width, height: 800 } });
    const check = async (state: string) =>
      expect({ state, problems: await pageProblems(page) }).toEqual({ state, problems: [] });
    // A window that the browser does not let close itself.
    await page.addInitScript('window.close = () => undefined');
    for (const problem of ['', '?problem=expired', '?problem=inactive', '?problem=x']) {
      await page.goto(`/sign-in${problem}`);
      await button(page).waitFor();
      await check(`sign-in${problem}`);
    }
    await signInAt(page, '/settings/applications', grace);
    await page.getByRole('listitem').filter({ hasText: 'Tessera' }).waitFor();
    const body = {
      name: 'W'.repeat(100),
      kind: 'confidential',
      redirect_uris: [`https://${'w'.repeat(60)}.example/`],
    };
    const { data: client } = await web.stack.internal.post('/internal/clients', body);
    const asked = new URLSearchParams({
      client_id: client.client_id,
      redirect_uri: 'https://other.example/',
    });
    expect((await fetch(`${web.stack.urls.identity}/oidc/authorize?${asked}`)).status).toBe(400);
    await page.reload();
    const refused = page.getByRole('listitem').filter({ hasText: client.client_id });
    await refused.getByText('https://other.example/').waitFor();
    await check('applications');
    await page.getByRole('button', { name: 'New application' }).click();
    const form = page.getByRole('dialog', { name: 'New application' });
    await check('new application');
    await form.getByLabel('Name').fill('Phone');
    await form.getByLabel('Redirect URIs').fill('phone:/callback');
    await form.getByRole('button', { name: 'Create' }).click();
    await form.getByText(/^must be/).waitFor();
    await check('refused application');
    await page.keyboard.press('Escape');
    await refused.getByRole('button', { name: /^New secret of/ }).click();
    await check('new secret');
    await page.getByRole('dialog').getByRole('button', { name: 'New secret' }).click();
    await page.getByRole('button', { name: 'I have stored it' }).waitFor();
    await check('secret');
    await page.getByRole('button', { name: 'I have stored it' }).click();
    await page.goto('/sign-in?popup=1');
    await page.getByText('You are signed in.').waitFor();
    await check('signed in');
    await page.goto('/settings/applications');
    await page.getByRole('listitem').first().waitFor();
    await web.stack.internal.delete(`/internal/identities/${grace.id}/sessions`);
    await page.getByRole('dialog', { name: 'Your session has ended' }).waitFor();
    await check('ended');
    await page.evaluate('void (window.open = () => window)');
    await button(page).click();
    await page.getByRole('button', { name: 'Sign in without a window' }).waitFor();
    await check('ended, with a window');
    await close();
  });
});
