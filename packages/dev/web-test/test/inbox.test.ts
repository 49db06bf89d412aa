import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { aReader, mention } from '../src/readers.ts';
import { type Page, type Person, startWeb, type Web } from '../src/web.ts';

let web: Web;
let ada: Person;

beforeAll(async () => {
  web = await startWeb();
  ada = await web.createPerson('ada', 'Ada Lovelace', true);
});

afterEach(() => web.closePages());

afterAll(async () => {
  expect(await web?.stop()).toEqual([0, 0]);
  expect(web.problems(/ERR_INTERNET_DISCONNECTED|ERR_FAILED|401/)).toEqual([]);
});

const press = async (page: Page, ...keys: string[]) => {
  for (const key of keys) await page.keyboard.press(key);
};
const rows = (page: Page) => page.getByRole('list', { name: 'Notifications' }).getByRole('listitem');
const row = (page: Page, title: string) =>
  rows(page).filter({ has: page.getByRole('link', { name: title, exact: true }) });
const focused = (page: Page, title: string) => page.locator('.note a:focus', { hasText: title }).waitFor();
const gone = (page: Page, title: string) => row(page, title).waitFor({ state: 'detached' });
const heading = (page: Page, name: string) => page.getByRole('heading', { level: 1, name }).waitFor();
const inboxLink = (page: Page) =>
  page.getByRole('navigation', { name: 'Pages' }).getByRole('link', { name: 'Inbox' });
const counts = (page: Page, unread: number) =>
  page
    .getByRole('navigation', { name: 'Pages' })
    .getByRole('link', { name: `Inbox ${unread} unread` })
    .waitFor();
const titled = (page: Page, title: string) =>
  page.waitForFunction(`document.title === ${JSON.stringify(title)}`);

describe('the inbox', () => {
  it('is worked through by keys, each with an undo, and the place is kept', async () => {
    const person = await aReader(web);
    await mention(ada, person, ['One', 'Two', 'Three', 'Four']);
    const page = await web.openAs(person, '/issues');
    await counts(page, 4);
    await press(page, 'g', 'n');
    await heading(page, 'Inbox');
    await titled(page, '(4) Inbox · Tessera');
    await row(page, 'Four').getByText('Ada Lovelace mentioned you').waitFor();
    await press(page, 'j', 'j');
    await focused(page, 'Three');
    await press(page, 'e');
    await gone(page, 'Three');
    await focused(page, 'Two');
    await counts(page, 3);
    await page.getByText('is done', { exact: false }).first().waitFor();
    await press(page, 'Control+z');
    await row(page, 'Three').waitFor();
    await counts(page, 4);
    // The focus is on the row that has come back, also after all of them have left.
    await focused(page, 'Three');
    await press(page, 'E');
    await page.getByRole('heading', { name: 'All done' }).waitFor();
    await page
      .locator('.toast', { hasText: 'All notifications are done' })
      .getByRole('button', { name: 'Undo' })
      .click();
    await focused(page, 'Three');
    await press(page, 'j');
    await page.reload();
    // Opening an issue reads its notification, and the way back leads to its row.
    await focused(page, 'Two');
    await press(page, 'Enter');
    await heading(page, 'Two');
    await counts(page, 3);
    // So does going on to the next one.
    await press(page, 'J');
    await heading(page, 'One');
    await counts(page, 2);
    await press(page, 'Escape');
    await focused(page, 'One');
    await press(page, 'Enter');
    await heading(page, 'One');
    await press(page, 'K');
    await heading(page, 'Two');
    await page.getByRole('navigation', { name: 'Path' }).getByRole('link', { name: 'Inbox' }).click();
    await focused(page, 'Two');
    await press(page, 'u');
    await counts(page, 3);
    await press(page, 'u');
    await counts(page, 2);
    await page.getByRole('button', { name: 'Unread', exact: true }).click();
    await gone(page, 'Two');
    expect(new URL(page.url()).search).toBe('?view=unread');
    await press(page, 'g', 'i');
    await heading(page, 'Issues');
    await press(page, 'g', 'n');
    await heading(page, 'Inbox');
    expect(new URL(page.url()).search).toBe('?view=unread');
    // What is done can be brought back.
    await press(page, 'j', 'e');
    await counts(page, 1);
    await page.getByRole('button', { name: 'Done', exact: true }).click();
    await rows(page)
      .getByRole('button', { name: /^Back to the inbox/ })
      .click();
    await counts(page, 2);
    await page.getByText('What you have done is kept here for a month.').waitFor();
    await page.getByRole('button', { name: 'All', exact: true }).click();
    await row(page, 'One').waitFor();
  });

  it('hides a notification until a time, and then shows it on top', async () => {
    const person = await aReader(web);
    await mention(ada, person, ['Early', 'Late']);
    const page = await web.openAs(person, '/inbox');
    await row(page, 'Early').getByRole('link').focus();
    await press(page, 'h');
    await page.getByRole('dialog').getByRole('option', { name: 'Tomorrow' }).waitFor();
    await page.getByRole('option', { name: 'Next week' }).click();
    await gone(page, 'Early');
    await focused(page, 'Late');
    await press(page, 'Control+z');
    await focused(page, 'Early');
    await counts(page, 2);
    await press(page, 'h', '2');
    await gone(page, 'Early');
    await counts(page, 1);
    await page.getByRole('button', { name: 'Snoozed', exact: true }).click();
    await row(page, 'Early').waitFor();
    await page.getByRole('button', { name: 'All', exact: true }).click();
    await row(page, 'Late').waitFor();
    await web.sql('issues', 'UPDATE notifications SET snoozed_until = now() WHERE snoozed_until IS NOT NULL');
    await row(page, 'Early').waitFor();
    await counts(page, 2);
    expect(await rows(page).first().textContent()).toContain('Early');
  });

  it('says what has changed, first and short, also on a phone', async () => {
    const person = await aReader(web);
    const { key } = await ada.api.create({ title: 'Watched', priority: 'LOW' });
    await person.api.watch(key);
    await ada.api.changeStatus(key, { status: 'IN_PROGRESS' });
    await ada.api.changeStatus(key, { status: 'RESOLVED', comment: 'Done.' });
    await ada.api.update(key, { priority: 'URGENT' });
    await ada.api.update(key, { title: 'Renamed', priority: 'HIGH' });
    await ada.api.update(key, { title: 'Watched', priority: 'LOW', description: 'x', due_on: '2999-12-31' });
    await web.sql(
      'issues',
      `INSERT INTO notifications (identity_id, place, event_id, reason, type, issue_id, actor_id, created_at, expires_at)
       SELECT id, 0, -1, 'watching', 'issue.updated', $2, $3, now(), now() + interval '1 day' FROM identity_mirror WHERE id = $1`,
      [person.id, (await ada.api.get(key)).id, ada.id],
    );
    const page = await web.openAs(person, '/inbox');
    await page.setViewportSize({ width: 375, height: 800 });
    const changes = [
      'changed the title, the priority and 2 more',
      'changed the title and the priority',
      'changed the priority (now Low)',
      'commented and changed the status to Resolved',
      'changed the status to In progress',
      // Written before notifications said what has changed.
      'changed the issue',
    ];
    await rows(page)
      .nth(changes.length - 1)
      .waitFor();
    expect(await rows(page).locator('.note-change').allTextContents()).toEqual(
      changes.map((change) => `Ada Lovelace ${change}`),
    );
  });

  it('mutes an issue: mentions arrive, other changes do not', async () => {
    const person = await aReader(web);
    const { username } = await person.api.me();
    const [key = ''] = await mention(ada, person, ['Noise']);
    const page = await web.openAs(person, '/inbox');
    await row(page, 'Noise').getByRole('link').focus();
    await press(page, 'M');
    await gone(page, 'Noise');
    await page.getByText('only mentions and assignments arrive').waitFor();
    expect((await person.api.watchState(key)).is_watching).toBe(false);
    await ada.api.addComment(key, 'Not for the reader');
    await ada.api.addComment(key, `@${username} this is`);
    await row(page, 'Noise').getByText('mentioned you in a comment').waitFor();
    expect(await rows(page).count()).toBe(1);
  });

  it('rewards who has done everything, and says which keys there are', async () => {
    const person = await aReader(web);
    const page = await web.openAs(person, '/inbox');
    await page.getByRole('heading', { name: 'All done' }).waitFor();
    await titled(page, 'Inbox · Tessera');
    await press(page, '?');
    const help = page.getByRole('dialog', { name: 'Keyboard' });
    for (const name of [
      'Go to the inbox',
      'Go to my issues',
      'Collapse or open the sidebar',
      'Mark the notification as done',
      'Mark the notification as unread or read',
      'Snooze the notification',
      'Mute the issue of the notification',
    ])
      await help.getByText(name, { exact: true }).waitFor();
    await press(page, 'Escape');
    for (const [words, name, to] of [
      ['my issues', 'Go to my issues', 'My issues'],
      ['inbox', 'Go to the inbox', 'Inbox'],
    ] as const) {
      await press(page, 'Control+k');
      await page.getByPlaceholder('Find a command or an issue').fill(words);
      await page.getByRole('option', { name }).waitFor();
      await press(page, 'Enter');
      await heading(page, to);
    }
    await page.getByRole('link', { name: 'Go to my issues' }).click();
    await heading(page, 'My issues');
  });

  it('has a bounded number of elements, and loads more while one scrolls', async () => {
    const person = await aReader(web);
    await mention(ada, person, ['Much']);
    await web.sql(
      'issues',
      `INSERT INTO notifications (identity_id, place, event_id, reason, type, issue_id, actor_id, created_at, expires_at)
       SELECT $1, n.place + s, -n.event_id * 1000 - s, 'watching', 'issue.updated', n.issue_id, n.actor_id, now(), now() + interval '1 day'
         FROM notifications n CROSS JOIN generate_series(1, 400) s WHERE n.identity_id = $1`,
      [person.id],
    );
    const page = await web.openAs(person, '/inbox');
    await rows(page).nth(8).waitFor();
    while ((await page.locator('[aria-posinset="401"]').count()) === 0) {
      await page.mouse.wheel(0, 3_000);
      await page.waitForTimeout(50);
    }
    expect(await page.evaluate(`document.querySelectorAll('main *').length`)).toBeLessThan(1_000);
  });
});

describe('two browsers of a person', () => {
  it('count a mention at once, and what is done in one leaves the other', async () => {
    const person = await aReader(web);
    await mention(ada, person, ['Before']);
    const [page, other] = [await web.openAs(person, '/inbox'), await web.openAs(person, '/board')];
    for (const one of [page, other]) await counts(one, 1);
    await mention(ada, person, ['Arrives']);
    for (const one of [page, other]) await counts(one, 2);
    await row(page, 'Arrives').waitFor();
    await titled(other, '(2) Board · Tessera');
    await inboxLink(other).click();
    await row(other, 'Arrives').waitFor();
    await row(page, 'Arrives').getByRole('button', { name: /^Done/ }).click();
    await gone(other, 'Arrives');
    for (const one of [page, other]) await counts(one, 1);
    // Also in a second tab of one of the browsers, which has no stream of its own.
    const tab = await other.context().newPage();
    await tab.goto('/inbox');
    await counts(tab, 1);
    await row(page, 'Before').getByRole('link').focus();
    await press(page, 'e');
    await tab.getByRole('heading', { name: 'All done' }).waitFor();
  });
});

describe('without a connection or a session', () => {
  it('the inbox stays, a mark that fails is taken back, and one waits for the sign-in', async () => {
    const person = await aReader(web);
    await mention(ada, person, ['Stays', 'Goes']);
    const page = await web.openAs(person, '/inbox');
    await row(page, 'Goes').waitFor();
    // The board is loaded.
    await page.waitForLoadState('networkidle');
    await page.context().setOffline(true);
    await page.getByText(/^No connection/).waitFor();
    await row(page, 'Stays').getByRole('link').focus();
    await press(page, 'e');
    await page.getByText(/^Not saved/).waitFor();
    await row(page, 'Stays').waitFor();
    // A change of projects meanwhile makes the page forget what it does not show.
    await ada.api.createProject({ key: 'NEW', name: 'Made meanwhile', visibility: 'everyone' });
    await page.context().setOffline(false);
    await page.getByText(/^No connection/).waitFor({ state: 'detached' });
    await page.getByRole('link', { name: 'Made meanwhile' }).waitFor();
    await press(page, 'g', 'b');
    await heading(page, 'Board');
    await counts(page, 2);
    await press(page, 'g', 'n');
    await row(page, 'Goes').getByRole('link').focus();
    // The session ends while the mark is on its way.
    await page.route(
      '**/notifications/done/',
      async (route) => {
        await web.sql('issues', 'DELETE FROM web_sessions WHERE identity_id = $1', [person.id]);
        await route.continue();
      },
      { times: 1 },
    );
    await press(page, 'e');
    const dialog = page.getByRole('dialog', { name: 'Your session has ended' });
    await dialog.getByLabel('Password').fill('a password of the web tests');
    await dialog.getByRole('button', { name: 'Sign in' }).click();
    await gone(page, 'Goes');
    await row(page, 'Stays').waitFor();
    while ((await person.api.notificationsIfChanged({ state: 'done' }))?.notifications.length !== 1)
      await page.waitForTimeout(100);
  });
});
