import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { eventually } from '@tessera/stack/eventually';
import { type Page, type Person, password, startWeb, type WatchedPage, type Web } from '../src/web.ts';

let web: Web;
let ada: Person;

beforeAll(async () => {
  web = await startWeb({
    identity: { HOSTED_SIGN_IN: 'on', TRUST_PROXY: 'loopback' },
    issues: { SIGN_IN: 'hosted', TRUST_PROXY: 'loopback' },
  });
  ada = await web.createPerson('ada', 'Ada Lovelace');
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
