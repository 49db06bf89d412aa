import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { pageProblems } from '../src/page-problems.ts';
import { type Page, type Person, startWeb, type Web } from '../src/web.ts';

let web: Web;
let ada: Person;
let bob: Person;

beforeAll(async () => {
  web = await startWeb();
  ada = await web.createPerson('ada', 'Ada Lovelace', true);
  bob = await web.createPerson('bob', 'Bob Kaplan', true);
});

afterEach(() => web.closePages());

afterAll(async () => {
  expect(await web?.stop()).toEqual([0, 0]);
  expect(web.problems(/409|ERR_FAILED/)).toEqual([]);
});

/** The page learns of the changes of others only after nine seconds. */
const withoutEvents = (page: Page) => page.route('**/events/**', (route) => route.abort());

/** Holds changes of the status of an issue until the returned function is called. */
async function holdStatus(page: Page, key: string): Promise<() => void> {
  let release = () => {};
  const held = new Promise<void>((resolve) => {
    release = resolve;
  });
  await page.route(`**/${key}/status/`, async (route) => {
    await held;
    await route.continue();
  });
  return release;
}

const column = (page: Page, name: string) =>
  page
    .getByRole('region', { name })
    .or(page.locator('section.column', { has: page.getByRole('heading', { name }) }))
    .first();
const card = (page: Page, name: string, title: string) =>
  column(page, name).getByRole('link', { name: title });

describe('the board', () => {
  it('has a column for each status, with its number of issues', async () => {
    const { key } = await ada.api.create({ title: 'In work' });
    await ada.api.create({ title: 'Waiting' });
    await ada.api.changeStatus(key, { status: 'IN_PROGRESS' });
    const page = await web.openAs(ada, '/board');
    await card(page, 'Open', 'Waiting').waitFor();
    await card(page, 'In progress', 'In work').waitFor();
    expect(await page.locator('.column h2').allTextContents()).toEqual([
      'Open',
      'In progress',
      'Reopened',
      'Resolved',
      'Closed',
    ]);
    await column(page, 'In progress').getByText('1 issue', { exact: true }).waitFor();
    await column(page, 'Reopened').getByText('No issues').waitFor();
  });

  it('moves a card to a column that the workflow allows, and refuses the others before the drop', async () => {
    const { key } = await ada.api.create({ title: 'Dragged' });
    const page = await web.openAs(ada, '/board');
    await card(page, 'Open', 'Dragged').hover();
    await page.mouse.down();
    await column(page, 'Reopened').hover();
    await column(page, 'Reopened').hover({ position: { x: 60, y: 90 } });
    await column(page, 'Reopened').getByText('Not from open').waitFor();
    await page.mouse.up();
    await column(page, 'Reopened').getByText('Not from open').waitFor({ state: 'detached' });
    expect((await ada.api.get(key)).status).toBe('OPEN');
    await card(page, 'Open', 'Dragged').hover();
    await page.mouse.down();
    await column(page, 'In progress').hover();
    await column(page, 'In progress').hover({ position: { x: 60, y: 90 } });
    await page.locator('.column.over').waitFor();
    const saved = page.waitForResponse((response) => response.url().endsWith(`/${key}/status/`));
    await page.mouse.up();
    await card(page, 'In progress', 'Dragged').waitFor();
    expect((await saved).status()).toBe(200);
    expect((await ada.api.get(key)).status).toBe('IN_PROGRESS');
    await column(page, 'In progress').getByText('2 issues').waitFor();
  });

  it.each([true, false])('moves a card that changes while it is dragged, shown: %s', async (isShown) => {
    const title = isShown ? 'Renamed in the air' : 'Renamed in silence';
    const { key } = await ada.api.create({ title });
    const page = await web.openAs(ada, '/board', isShown ? undefined : withoutEvents);
    // Another card is the newest, so that the change also moves the dragged one.
    await ada.api.create({ title: `After ${title}` });
    if (isShown) await card(page, 'Open', `After ${title}`).waitFor();
    await card(page, 'Open', title).last().hover();
    await page.mouse.down();
    await column(page, 'In progress').hover();
    await column(page, 'In progress').hover({ position: { x: 60, y: 90 } });
    await page.locator('.column.over').waitFor();
    await bob.api.update(key, { title: `Now ${key}` });
    if (isShown) await card(page, 'Open', `Now ${key}`).waitFor();
    await page.mouse.up();
    await card(page, 'In progress', `Now ${key}`).waitFor();
    expect(await ada.api.get(key)).toMatchObject({ status: 'IN_PROGRESS', title: `Now ${key}` });
  });

  it('moves a card by the keyboard, only where the workflow allows', async () => {
    const { key } = await ada.api.create({ title: 'Moved by keys' });
    const page = await web.openAs(ada, '/board');
    await card(page, 'Open', 'Moved by keys').focus();
    await page.keyboard.press('s');
    const dialog = page.getByRole('dialog', { name: `Status of ${key}` });
    await dialog.getByRole('option', { name: 'Resolved' }).waitFor();
    expect(await dialog.getByRole('option').allTextContents()).not.toContain('Reopened');
    await page.keyboard.type('resol');
    const saved = page.waitForResponse((response) => response.url().endsWith(`/${key}/status/`));
    await page.keyboard.press('Enter');
    await card(page, 'Resolved', 'Moved by keys').waitFor();
    await saved;
    await page.getByRole('button', { name: `Move ${key} to…` }).click();
    await page.getByRole('option', { name: 'Reopened' }).click();
    await card(page, 'Reopened', 'Moved by keys').waitFor();
  });

  it('opens, selects and filters by the keyboard', async () => {
    const made = [];
    for (const title of ['Chosen first', 'Chosen second'])
      made.push(await ada.api.create({ title, priority: 'URGENT' }));
    const page = await web.openAs(ada, '/board?priority=URGENT');
    await card(page, 'Open', 'Chosen first').waitFor();
    for (const one of ['j', 'x', 'j', 'x']) await page.keyboard.press(one);
    await page.getByText('2 selected', { exact: true }).waitFor();
    await page.keyboard.press('p');
    await page.getByRole('dialog', { name: 'Priority of 2 issues' }).waitFor();
    await page.keyboard.type('low');
    await page.keyboard.press('Enter');
    await page.locator('.card.selected', { hasText: 'Low' }).nth(1).waitFor();
    await page.keyboard.press('Escape');
    await page.getByText('2 selected', { exact: true }).waitFor({ state: 'detached' });
    await page.keyboard.press('f');
    await page.getByRole('option', { name: 'Urgent' }).waitFor();
    await page.keyboard.press('Escape');
    await card(page, 'Open', 'Chosen first').focus();
    await page.keyboard.press('o');
    await page.getByRole('heading', { level: 1, name: 'Chosen first' }).waitFor();
    // They have commands with these letters, too. The palette keeps what is chosen when commands arrive above it.
    for (const name of ['Stop watching', 'Add a link']) await page.getByRole('button', { name }).waitFor();
    // A page without a search field opens the palette.
    await page.keyboard.press('/');
    await page.getByRole('dialog', { name: 'Commands' }).waitFor();
    await page.keyboard.type('in');
    await page.getByRole('option', { name: 'In work' }).waitFor();
    // It is chosen after the list is drawn.
    await page.getByRole('option').first().and(page.locator('[aria-selected=true]')).waitFor();
    await page.getByPlaceholder('Find a command or an issue').fill('Chosen second');
    await page.getByRole('option', { name: made[1]?.key ?? '' }).click();
    await page.getByRole('heading', { level: 1, name: 'Chosen second' }).waitFor();
    for (const { key } of made) expect((await ada.api.get(key)).priority).toBe('LOW');
  });

  it('puts a card back and says why if another person has moved it', async () => {
    const { key } = await ada.api.create({ title: 'Moved by two' });
    const page = await web.openAs(ada, '/board', withoutEvents);
    await card(page, 'Open', 'Moved by two').focus();
    await bob.api.changeStatus(key, { status: 'CLOSED' });
    await page.keyboard.press('s');
    await page.getByRole('option', { name: 'In progress' }).click();
    await page.getByText(`another person has changed ${key}`).waitFor();
    await card(page, 'Closed', 'Moved by two').waitFor();
    expect((await ada.api.get(key)).status).toBe('CLOSED');
  });

  it('peeks at a card and at the next ones of its column, and marks what an open issue blocks, until that is done', async () => {
    for (const title of ['Peek one', 'Peek two', 'Peek three']) await ada.api.create({ title });
    const page = await web.openAs(ada, '/board?q=peek');
    await card(page, 'Open', 'Peek three').focus();
    await page.keyboard.press('Space');
    const peek = page.getByRole('dialog').filter({ has: page.getByText('next, previous') });
    await peek.getByRole('heading', { name: 'Peek three' }).waitFor();
    expect(await pageProblems(page)).toEqual([]);
    for (const key of ['j', 'j', 'j', 'k']) await page.keyboard.press(key);
    await peek.getByRole('heading', { name: 'Peek two' }).waitFor();
    const [three, two] = await Promise.all(
      ['Peek three', 'Peek two'].map(
        async (search) => (await ada.api.list({ search }).next()).value?.key ?? '',
      ),
    );
    const relation = await ada.api.putRelation(three ?? '', { kind: 'blocks', issue: two ?? '' });
    await peek.getByText('Blocked', { exact: true }).waitFor();
    await page.keyboard.press('Escape');
    await page.locator('[data-card] a:focus', { hasText: 'Peek two' }).waitFor();
    const mark = page.locator(`[data-card="${two}"]`).getByText('Blocked', { exact: true });
    await mark.waitFor();
    await bob.api.changeStatus(three ?? '', { status: 'RESOLVED' });
    await mark.waitFor({ state: 'detached' });
    await bob.api.changeStatus(three ?? '', { status: 'REOPENED' });
    await mark.waitFor();
    // A change of the card keeps it.
    await page.keyboard.press('i');
    await page.getByText('Undo').waitFor();
    expect(await mark.count()).toBe(1);
    await ada.api.deleteRelation(three ?? '', relation.id);
    await mark.waitFor({ state: 'detached' });
  });

  it('keeps a card in its new column when what was read before the move arrives, and so the focus', async () => {
    const { key } = await ada.api.create({ title: 'Moved by a key' });
    const page = await web.openAs(ada, '/board');
    await card(page, 'Open', 'Moved by a key').focus();
    const release = await holdStatus(page, key);
    await page.keyboard.press('s');
    await page.getByRole('option', { name: 'In progress' }).click();
    await card(page, 'In progress', 'Moved by a key').and(page.locator(':focus')).waitFor();
    const isRead = (url: string) => url.includes(`id=${key}`) && !url.includes('status=');
    const read = page.waitForResponse((response) => isRead(response.url()));
    await bob.api.addComment(key, 'Any news?');
    await (await read).finished();
    await page.evaluate('new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))');
    expect(await card(page, 'Open', 'Moved by a key').count()).toBe(0);
    expect(await card(page, 'In progress', 'Moved by a key').and(page.locator(':focus')).count()).toBe(1);
    release();
    await card(page, 'In progress', 'Moved by a key').and(page.locator(':focus')).waitFor();
  });

  it('makes an issue in a column, and stays', async () => {
    const page = await web.openAs(ada, '/board');
    await page.getByRole('button', { name: 'New issue in In progress' }).click();
    const dialog = page.getByRole('dialog', { name: 'New issue in In progress' });
    await dialog.getByLabel('Title').fill('Begun at once');
    await page.keyboard.press('Control+Enter');
    await dialog.waitFor({ state: 'detached' });
    await card(page, 'In progress', 'Begun at once').waitFor();
    expect(new URL(page.url()).pathname).toBe('/board');
    expect(await page.getByRole('button', { name: 'New issue in Reopened' }).count()).toBe(0);
  });

  it('shows what others move and create at once', async () => {
    const page = await web.openAs(ada, '/board');
    await page.getByRole('heading', { name: 'Board' }).waitFor();
    await column(page, 'Open').getByRole('listitem').first().waitFor();
    const { key } = await bob.api.create({ title: 'From Bob' });
    await card(page, 'Open', 'From Bob').waitFor();
    await bob.api.changeStatus(key, { status: 'IN_PROGRESS' });
    await card(page, 'In progress', 'From Bob').waitFor();
    expect(await card(page, 'Open', 'From Bob').count()).toBe(0);
  });

  it('filters, and loads a long column in parts', async () => {
    await web.sql(
      'issues',
      `INSERT INTO issues (id, title, description, priority, status, reporter_id, created_at, updated_at)
       SELECT gen_random_uuid(), 'Many ' || n, '', 'CRITICAL', 'CLOSED', $1, now(), now() - n * interval '1 s'
       FROM generate_series(1, 70) n`,
      [ada.id],
    );
    const page = await web.openAs(ada, '/board?priority=CRITICAL');
    await column(page, 'Closed').getByText('70 issues').waitFor();
    const cards = column(page, 'Closed').getByRole('listitem');
    // The counts and the cards are two responses.
    await cards.nth(49).waitFor();
    expect(await cards.count()).toBe(50);
    await page.getByRole('button', { name: 'Show more in Closed' }).click();
    await card(page, 'Closed', 'Many 70').waitFor();
    expect(await cards.count()).toBe(70);
    await column(page, 'Open').getByText('No issues').waitFor();
  });
});

describe('a row', () => {
  it('is changed twice at once, the second time on the version of the first', async () => {
    const { key } = await ada.api.create({ title: 'Changed twice' });
    const page = await web.openAs(ada, `/issues?q=${key}`, withoutEvents);
    const row = page.getByRole('row', { name: key });
    await row.getByRole('link').focus();
    const release = await holdStatus(page, key);
    await page.keyboard.press('s');
    await page.getByRole('option', { name: 'In progress' }).click();
    await row.getByText('In progress').waitFor();
    await page.keyboard.press('i');
    await row.getByText('Ada Lovelace').waitFor();
    const saved = page.waitForResponse((response) => response.url().endsWith(`/issues/${key}/`));
    release();
    expect((await saved).status()).toBe(200);
    expect(await ada.api.get(key)).toMatchObject({ status: 'IN_PROGRESS', assignee: { id: ada.id } });
  });
});

describe('a selection', () => {
  it('changes all its issues at once, and says which were refused', async () => {
    const keys: string[] = [];
    for (const title of ['Bulk one', 'Bulk two', 'Bulk three'])
      keys.push((await ada.api.create({ title, priority: 'URGENT' })).key);
    const [first = '', second = '', third = ''] = keys;
    const page = await web.openAs(ada, '/issues?priority=URGENT', withoutEvents);
    for (const key of keys) await page.getByLabel(`Select ${key}`).check();
    await page.getByRole('button', { name: 'Priority', exact: true }).click();
    await page
      .getByRole('dialog', { name: 'Priority of 3 issues' })
      .getByRole('option', { name: 'High' })
      .click();
    for (const key of keys) await page.getByRole('row', { name: key }).getByText('High').first().waitFor();
    // The workflow does not allow it for an issue that is closed meanwhile.
    await bob.api.changeStatus(third, { status: 'CLOSED' });
    await page.keyboard.press('s');
    await page.getByRole('dialog', { name: 'Status of 3 issues' }).waitFor();
    await page.getByRole('option', { name: 'In progress' }).click();
    await page.getByText(`1 of 3 issues were not changed (${third})`).waitFor();
    for (const key of [first, second])
      await page.getByRole('row', { name: key }).getByText('In progress').waitFor();
    await page.getByRole('row', { name: third }).getByText('Closed').waitFor();
    const found = await Promise.all(keys.map((key) => ada.api.get(key)));
    expect(found.map(({ status, priority }) => `${status} ${priority}`)).toEqual([
      'IN_PROGRESS HIGH',
      'IN_PROGRESS HIGH',
      'CLOSED HIGH',
    ]);
  });
});
