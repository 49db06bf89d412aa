// The states that the pages of the other files do not show. Each is checked in both themes.
import { randomUUID } from 'node:crypto';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { fillExamples } from '../src/examples.ts';
import { pageProblems } from '../src/page-problems.ts';
import { type Page, type Person, type Route, signIn, startWeb, type Web } from '../src/web.ts';

let web: Web;
let ada: Person;
let bob: Person;
let key: string;

beforeAll(async () => {
  web = await startWeb();
  ({ ada, bob, key } = await fillExamples(web, 3));
  await web.sql(
    'issues',
    `INSERT INTO issues (id, title, description, priority, status, reporter_id, created_at, updated_at, search)
     SELECT gen_random_uuid(), 'Many ' || n, '', 'LOW', 'OPEN', $1, now() - n * interval '1 s', now() - interval '1 day',
            to_tsvector('simple', 'Many ' || n)
     FROM generate_series(1, 10000) n`,
    [ada.id],
  );
});

afterAll(async () => {
  expect(await web?.stop()).toEqual([0, 0]);
});

// The app repeats a read that is refused with 503, but not this one.
const fail = (route: Route) =>
  route.fulfill({
    status: 500,
    contentType: 'application/problem+json',
    json: { status: 500, code: 'internal_error', detail: 'The service has failed.' },
  });

/** Answers the reads of the API in another way; everything else goes on. */
const onReads = (page: Page, answer: (route: Route) => unknown) =>
  page.route(/\/app\/api\/v1\/(?!events)/, (route) =>
    route.request().method() === 'GET' ? answer(route) : route.continue(),
  );

const pages = [
  ['the list', '/issues'],
  ['the inbox', '/inbox'],
  ['my issues', '/my'],
  ['the board', '/board'],
  ['an issue', '/issues/KEY'],
  ['the account', '/settings/account'],
  ['the sessions', '/settings/sessions'],
  ['the projects', '/settings/projects'],
  ['the users', '/settings/users'],
  ['the webhooks', '/settings/webhooks'],
  ['the tracker', '/settings/tracker'],
] as const;

describe.each([1280, 320])('%i pixels wide', (width) => {
  let page: Page;
  let close: () => Promise<unknown>;
  beforeAll(async () => {
    ({ page, close } = await web.open({ bypassCSP: true, viewport: { width, height: 800 } }));
    await signIn(page, ada);
  });
  afterAll(() => close?.());
  afterEach(() => page.unrouteAll({ behavior: 'ignoreErrors' }));

  const check = async (state: string) =>
    expect({ state, problems: await pageProblems(page) }).toEqual({ state, problems: [] });
  const open = (path: string) => page.goto(path.replace('KEY', key));

  it('every page while it is loading', async () => {
    await onReads(page, () => undefined);
    for (const [name, path] of pages) {
      await open(path);
      await page.locator('main h1').waitFor({ state: 'attached' });
      await check(`${name}, loading`);
    }
  });

  it('every page if the service fails', async () => {
    await onReads(page, fail);
    for (const [name, path] of pages) {
      await open(path);
      await page.locator('main h1').waitFor({ state: 'attached' });
      // The account and the sessions are not read from this API.
      if (name !== 'the account' && name !== 'the sessions')
        await page.getByText('The service has failed.').first().waitFor();
      await check(`${name}, error`);
    }
  });

  it('every page without a network', async () => {
    for (const [name, path] of pages) {
      await open(path);
      await page.locator('main h1').waitFor({ state: 'attached' });
      await page.context().setOffline(true);
      await page.getByText(/^No connection/).waitFor();
      await check(`${name}, offline`);
      await page.context().setOffline(false);
    }
  });

  it('one issue, 10,000 issues, and an issue that the user may not change', async () => {
    await page.goto('/issues?q=invoices+without&state=all');
    await page.getByText('1 issue', { exact: true }).waitFor();
    await check('the list, one');
    await page.goto('/board?q=invoices+without');
    await page.getByRole('link').first().waitFor();
    await check('the board, one');
    for (const path of ['/issues?q=many', '/board?q=many']) {
      await page.goto(path);
      await page.getByRole('link', { name: 'Many 1', exact: true }).waitFor();
      await check(`${path}, 10,000`);
    }
    const opened = await web.open({ bypassCSP: true, viewport: { width, height: 800 } });
    await signIn(opened.page, bob, '/issues/ISS-1');
    await opened.page.getByRole('button', { name: 'Priority', disabled: true }).waitFor();
    expect(await pageProblems(opened.page)).toEqual([]);
    await opened.page.goto('/settings/users');
    await opened.page.getByText('Only staff may see this page.').waitFor();
    expect(await pageProblems(opened.page)).toEqual([]);
    await opened.close();
  });

  it('an empty board, a conflict, and dialogs whose search finds nothing or fails', async () => {
    await page.goto('/inbox');
    await page.locator('.note').first().waitFor();
    await check('the inbox, some');
    await page.locator('.note-link').first().focus();
    await page.keyboard.press('h');
    await page.getByRole('dialog').waitFor();
    await check('the dialog of a snooze');
    const moveInbox = (from: string, to: string) =>
      web.sql('issues', 'UPDATE notifications SET identity_id = $2 WHERE identity_id = $1', [from, to]);
    const elsewhere = randomUUID();
    await moveInbox(ada.id, elsewhere);
    for (const view of ['', '?view=unread', '?view=snoozed', '?view=done']) {
      await page.goto(`/inbox${view}`);
      await page.locator('.inbox-empty').waitFor();
      await check(`the inbox${view}, empty`);
    }
    await moveInbox(elsewhere, ada.id);
    await page.goto('/board?q=nothing+has+this');
    await page.getByText('No issues').nth(4).waitFor();
    await check('the board, empty');
    const { key: own } = await ada.api.create({ title: 'Edited by two' });
    const stream = page.waitForResponse(/events\/stream/);
    await page.goto(`/issues/${own}`);
    await stream;
    await page.getByRole('button', { name: 'Edit title' }).click();
    await page.getByLabel('Title').fill('Mine');
    await ada.api.update(own, { title: 'Theirs' });
    await page.getByText('It was changed meanwhile.').waitFor();
    await page.getByLabel('Title').press('Enter');
    await page.getByRole('region', { name: 'Another person has changed the title' }).waitFor();
    await check('a conflict');
    await page.goto('/issues');
    await page.locator(`#issue-${own}`).focus();
    await page.keyboard.press('Space');
    await page.getByRole('dialog', { name: own }).getByText('No description').waitFor();
    await check('a peek');
    await page.keyboard.press('Escape');
    await page.getByLabel(`Select ${own}`).check();
    for (const field of ['Status', 'Assignee', 'Due date', 'Labels']) {
      await page.locator('.selection').getByRole('button', { name: field }).click();
      await page.getByRole('dialog').waitFor();
      await check(`the dialog ${field}`);
      await page.keyboard.press('Escape');
    }
    await page.keyboard.press('Control+k');
    const search = page.getByPlaceholder('Find a command or an issue');
    await search.fill('nothing has this');
    await page.getByText('No match').waitFor();
    await check('the palette, empty');
    await onReads(page, fail);
    await search.fill('fails at the service');
    await page.getByRole('alert').getByText('The issues could not be searched.').waitFor();
    await check('the palette, error');
  });
});
