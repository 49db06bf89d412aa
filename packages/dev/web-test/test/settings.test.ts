import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { verifyWebhook } from '@tessera/client/webhooks';
import { pageProblems } from '../src/page-problems.ts';
import { type Receiver, startReceiver } from '../src/receiver.ts';
import { type Page, type Person, password, signIn, startWeb, type Web } from '../src/web.ts';

let web: Web;
let ada: Person;
let bob: Person;
let receiver: Receiver;

beforeAll(async () => {
  receiver = await startReceiver();
  web = await startWeb({
    issues: {
      WEBHOOK_ALLOW_HTTP: 'on',
      WEBHOOK_ALLOWED_NETWORKS: '127.0.0.0/8',
      TRACKER_PROVIDER: 'gitea',
      TRACKER_ALLOW_HTTP: 'on',
      // Port 1 refuses connections.
      TRACKER_URL: 'http://127.0.0.1:1',
      TRACKER_PROJECT: 'tessera/issues',
      TRACKER_TOKEN: 'a-token-of-the-web-tests',
      // A failed sync waits for the user.
      SYNC_WORKERS: '0',
    },
  });
  ada = await web.createPerson('ada', 'Ada Lovelace', true);
  bob = await web.createPerson('bob', 'Bob Kaplan');
});

afterAll(async () => {
  receiver?.close();
  expect(await web?.stop()).toEqual([0, 0]);
  expect(web.problems(/status of (?:401|409|422|500)/)).toEqual([]);
});

describe('the account', () => {
  let page: Page;
  beforeAll(async () => {
    page = await web.openAs(bob, '/settings');
  });
  afterAll(() => web.closePages());

  it('changes the display name everywhere', async () => {
    await page.getByLabel('Display name').fill('Robert Kaplan');
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByText('Saved').waitFor();
    await page.getByLabel('Account of Robert Kaplan').waitFor();
    await page.reload();
    await page.getByLabel('Account of Robert Kaplan').waitFor();
  });

  it('refuses a wrong or a weak password beside its field, changes it, and stays signed in', async () => {
    const cleo = await web.createPerson('cleo', 'Cleo Ruiz');
    await web.openAs(cleo, '/issues');
    const own = await web.openAs(cleo, '/settings/account');
    const [current, next] = [own.getByLabel('Current password'), own.getByLabel('New password')];
    const change = own.getByRole('button', { name: 'Change the password' });
    await current.fill('not the password');
    await next.fill('a better password than before');
    await change.click();
    await own.locator('input[name=current_password][aria-invalid=true]').waitFor();
    expect(await own.evaluate('document.activeElement.name')).toBe('current_password');
    expect(await next.inputValue()).toBe('a better password than before');
    await current.fill(password);
    await next.fill('short');
    await change.click();
    await own.locator('input[name=new_password][aria-invalid=true]').waitFor();
    await next.fill('a better password than before');
    await change.click();
    await own.getByText('Changed', { exact: true }).waitFor();
    await own.getByRole('link', { name: 'Sessions' }).click();
    await own.getByText('This browser').waitFor();
    // Only the session of the change is left.
    expect(await own.getByRole('list', { name: 'Sessions' }).getByRole('listitem').count()).toBe(1);
  });

  it('follows the system, or the chosen theme', async () => {
    await page.getByLabel('Dark', { exact: true }).check();
    await page.locator('html[data-theme=dark]').waitFor();
    await page.reload();
    expect(await page.getByLabel('Dark', { exact: true }).isChecked()).toBe(true);
    await page.getByLabel('As the system').check();
    await page.locator('html:not([data-theme])').waitFor();
  });
});

describe('sessions', () => {
  afterAll(() => web.closePages());

  it('shows all, ends one, and ends all', async () => {
    const other = await web.openAs(bob, '/issues');
    const page = await web.openAs(bob, '/settings/sessions');
    const entries = page.getByRole('list', { name: 'Sessions' }).getByRole('listitem');
    await page.getByText('This browser').waitFor();
    const count = await entries.count();
    // The newest besides this one is that of the other browser.
    const another = entries.filter({ hasNotText: 'This browser' }).filter({ hasText: 'Chrome' }).first();
    await another.getByRole('button', { name: 'End the session' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'End', exact: true }).click();
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    expect(await entries.count()).toBe(count - 1);
    await other.reload();
    await other.getByLabel('Password').waitFor();
    await page.getByRole('button', { name: 'End all sessions' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'End all sessions' }).click();
    await page.getByLabel('Password').waitFor();
  });
});

describe('staff pages', () => {
  let page: Page;
  beforeAll(async () => {
    page = await web.openAs(ada, '/settings');
  });
  afterAll(() => web.closePages());

  const show = (name: string) => page.getByRole('link', { name, exact: true }).click();

  it('are for staff only', async () => {
    const own = await web.openAs(bob, '/settings/webhooks');
    await own.getByText('Only staff may see this page.').waitFor();
    expect(
      await own.getByRole('navigation', { name: 'Settings' }).getByRole('link').allTextContents(),
    ).toEqual(['Account', 'Sessions', 'Labels', 'Projects']);
    // A name that every JavaScript object has.
    await own.goto('/settings/constructor');
    await own.getByText('There are no such settings').waitFor();
  });

  it('are for superusers, too', async () => {
    const email = 'rüth@bücher.example';
    const { status } = await web.stack.internal.post('/internal/identities', {
      ...{ email, username: 'ruth', password, is_verified: true, is_superuser: true },
    });
    expect(status).toBe(201);
    const own = await web.openAs({ ...bob, email }, '/settings/users');
    await own.getByRole('listitem').filter({ hasText: 'ada@example.com' }).waitFor();
  });

  it('repeat a failed request for the users', async () => {
    const users = /\/users\/\?/;
    await page.route(users, (route) =>
      route.fulfill({ status: 500, json: { status: 500, code: 'internal_error' } }),
    );
    await show('Users');
    const again = page.getByRole('button', { name: 'Try again' });
    await again.waitFor();
    await page.unroute(users);
    await again.click();
    await page.getByRole('listitem').filter({ hasText: 'ada@example.com' }).waitFor();
  });

  it('create a user, who signs in; change and deactivate the user', async () => {
    await show('Users');
    await page.getByRole('button', { name: 'New user' }).click();
    const dialog = page.getByRole('dialog', { name: 'New user' });
    await dialog.getByLabel('E-mail', { exact: true }).fill('bob@example.com');
    await dialog.getByLabel('User name').fill('dora');
    await dialog.getByLabel('Display name').fill('Dora Klein');
    // The API refuses a user without a password.
    await dialog.getByRole('button', { name: 'Create' }).click();
    await dialog.locator('input[name=password]:invalid:focus').waitFor();
    await dialog.getByLabel('Temporary password', { exact: true }).fill(password);
    await dialog.getByLabel(/^Verified/).check();
    await dialog.getByRole('button', { name: 'Create' }).click();
    await dialog.getByRole('alert').filter({ hasText: /\w/ }).waitFor();
    // Nothing of the form is lost.
    expect(await dialog.getByLabel('Display name').inputValue()).toBe('Dora Klein');
    await dialog.getByLabel('E-mail', { exact: true }).fill('dora@example.com');
    await dialog.getByRole('button', { name: 'Create' }).click();
    await dialog.waitFor({ state: 'detached' });
    await page.getByLabel('Search users').fill('dora');
    await page.getByRole('listitem').filter({ hasText: 'dora@example.com' }).waitFor();
    const { page: own, close } = await web.open();
    await own.goto('/sign-in');
    await own.getByLabel('E-mail').fill('dora@example.com');
    await own.getByLabel('Password', { exact: true }).fill(password);
    await own.keyboard.press('Enter');
    await own.getByLabel('New password').fill('a lighthouse made of salt');
    await own.keyboard.press('Enter');
    await own.getByLabel('Account of Dora Klein').waitFor();
    await close();
    await page.getByRole('button', { name: 'Edit Dora Klein' }).click();
    await page
      .getByRole('dialog')
      .getByLabel(/^Active/)
      .uncheck();
    // Staff cannot make staff.
    expect(await page.getByRole('dialog').getByLabel('Staff', { exact: true }).isDisabled()).toBe(true);
    await page.getByRole('dialog').getByRole('button', { name: 'Save' }).click();
    await page.getByText('Inactive', { exact: true }).waitFor();
  });

  it('create a webhook, show its secret once, and show, repeat and explain deliveries', async () => {
    await show('Webhooks');
    await page.getByText('There are no webhooks.').waitFor();
    await page.getByRole('button', { name: 'New webhook' }).click();
    const form = page.getByRole('dialog', { name: 'New webhook' });
    await form.getByLabel('URL').fill('https://10.0.0.1/hooks');
    await form.getByRole('button', { name: 'Create' }).click();
    await form.getByText('internal address').waitFor();
    await form.getByLabel('URL').fill(receiver.url);
    await form.getByLabel('issue.created').check();
    await form.getByRole('button', { name: 'Create' }).click();
    const secret = await page.locator('.secret').textContent();
    await page.getByRole('button', { name: 'I have stored it' }).click();
    receiver.statuses.push(500);
    await page.getByText('Deliveries', { exact: true }).click();
    await page.getByText('Nothing has been sent.').waitFor();
    await page.getByRole('button', { name: 'Send a test' }).click();
    await page.getByText('A test is being sent.').waitFor();
    const delivery = page.locator('.deliveries li', { hasText: 'webhook.test' }).first();
    await delivery.locator('summary').getByText('500').waitFor();
    await delivery.locator('summary').first().click();
    await delivery.getByText('"type": "webhook.test"').waitFor();
    const created = await ada.api.create({ title: 'For the receiver' });
    expect(verifyWebhook(await receiver.receive(created.key), [String(secret)])).toMatchObject({
      type: 'issue.created',
    });
    expect(await page.content()).not.toContain(secret);
  });

  it('repeat failed syncs', async () => {
    const { id } = await ada.api.create({ title: 'For the tracker' });
    await web.sql(
      'issues',
      `INSERT INTO tracker_links (issue_id, provider, project, requested_by, last_error)
       VALUES ($1::uuid, 'gitea', 'tessera/issues', $2::uuid, 'tracker_rejected')`,
      [id, ada.id],
    );
    // The first look at the tracker, whose result the service keeps for 15 seconds.
    await show('Tracker');
    await page.getByRole('button', { name: 'Repeat now' }).click();
    await page.getByText('1 sync is repeated now.').waitFor();
  });

  it('say what is wrong with the tracker', async () => {
    await show('Tracker');
    await page.getByRole('heading', { name: 'gitea tessera/issues' }).waitFor();
    const reachable = page.getByRole('listitem').filter({ hasText: 'Reachable' });
    await reachable.getByText('Failed').waitFor();
    await page.getByRole('listitem').filter({ hasText: 'Credentials' }).getByText('Not checked').waitFor();
  });
});

it('users with long names and addresses fit a small screen', async () => {
  const email = `${'a'.repeat(60)}@${'b'.repeat(60)}.example.com`;
  // Created through issues, whose mirror knows the user at once.
  const [username, name] = ['c'.repeat(150), 'd'.repeat(150)];
  await ada.api.createUser({ email, username, name, password, is_verified: true });
  const page = await web.openAs(ada, '/settings/users', (one) =>
    one.setViewportSize({ width: 320, height: 800 }),
  );
  await page.getByRole('listitem').filter({ hasText: email }).waitFor();
  expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(320);
});

describe('accessibility in both themes', () => {
  it.each([1280, 320])('all settings, %i pixels wide', async (width) => {
    const { page, close } = await web.open({
      bypassCSP: true,
      viewport: { width, height: 800 },
    });
    const check = async (state: string) =>
      expect({ state, problems: await pageProblems(page) }).toEqual({ state, problems: [] });
    await signIn(page, ada, '/settings');
    await page.getByLabel('Display name').waitFor();
    await check('account');
    for (const [section, text] of [
      ['Sessions', 'This browser'],
      ['Users', 'ada@example.com'],
      ['Tracker', 'Reachable'],
      ['Webhooks', 'issue.created'],
    ] as const) {
      await page.getByRole('link', { name: section }).click();
      await page.locator('.settings-content').getByText(text).first().waitFor();
      await check(section);
    }
    await page.getByText('Deliveries', { exact: true }).click();
    await page.locator('.deliveries li summary').first().click();
    await page.getByText('"type"').waitFor();
    await check('deliveries');
    await page.getByRole('button', { name: 'Edit http' }).click();
    await page.getByRole('dialog').getByLabel('URL').waitFor();
    await check('webhook form');
    await page.goto('/settings/none');
    await page.getByText('There are no such settings').waitFor();
    await check('unknown');
    await close();
  });
});
