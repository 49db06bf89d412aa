import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { pageProblems } from '../src/page-problems.ts';
import { aReader, mention } from '../src/readers.ts';
import { type Page, type Person, signIn, startWeb, type Web } from '../src/web.ts';

let web: Web;
let ada: Person;

beforeAll(async () => {
  web = await startWeb();
  ada = await web.createPerson('ada', 'Ada Lovelace', true);
  for (const name of ['bug', 'billing', 'a, b']) await ada.api.createLabel({ name, color: '#3b82f6' });
});

afterEach(() => web.closePages());

afterAll(async () => {
  expect(await web?.stop()).toEqual([0, 0]);
  expect(web.problems()).toEqual([]);
});

const press = async (page: Page, ...keys: string[]) => {
  for (const key of keys) await page.keyboard.press(key);
};
const heading = (page: Page, name: string) => page.getByRole('heading', { level: 1, name }).waitFor();
const viewsOf = (page: Page) => page.getByRole('navigation', { name: 'Views' });
const row = (page: Page, name: string) => page.getByRole('row', { name });

describe('filters', () => {
  it('leave out values, need all labels, and know reporters, watching and dates', async () => {
    const person = await aReader(web);
    const make = (title: string, labels: string[] = []) =>
      person.api.create({ title: `${title} of filters`, labels });
    await make('Both', ['bug', 'a, b']);
    await make('Bug', ['bug']);
    await ada.api.create({ title: 'Foreign of filters' });
    const page = await web.openAs(person, '/issues?q=filters');
    await row(page, 'Foreign of filters').waitFor();
    await page.getByRole('button', { name: 'Label:' }).click();
    for (const name of ['bug', 'a, b']) await page.getByRole('option', { name }).click();
    await press(page, 'Escape');
    await row(page, 'Bug of filters').waitFor({ state: 'detached' });
    await row(page, 'Both of filters').waitFor();
    expect(new URL(page.url()).searchParams.get('label')).toBe('bug,a%2C b');
    await page.getByRole('button', { name: 'Reset' }).click();
    await page.goto('/issues?q=filters');
    await page.getByRole('button', { name: /^More/ }).click();
    const dialog = page.getByRole('dialog', { name: 'Further filters' });
    await dialog.getByLabel('Only what I watch').check();
    await row(page, 'Foreign of filters').waitFor({ state: 'detached' });
    await dialog.getByRole('button', { name: 'Without labels' }).click();
    await page.getByRole('option', { name: 'a, b' }).click();
    await press(page, 'Escape');
    await row(page, 'Both of filters').waitFor({ state: 'detached' });
    await row(page, 'Bug of filters').waitFor();
    await dialog.getByLabel('Created to').fill('2020-01-31');
    await page.getByText('No issue matches these filters.').waitFor();
    expect(await pageProblems(page)).toEqual([]);
    await dialog.getByRole('button', { name: 'Clear' }).click();
    await row(page, 'Foreign of filters').waitFor();
    expect(new URL(page.url()).search).toBe('?q=filters');
  });

  it('sort by the heads of columns', async () => {
    const person = await aReader(web);
    for (const title of ['B sorted', 'A sorted', 'C sorted']) await person.api.create({ title });
    const page = await web.openAs(person, '/issues?q=sorted');
    const titles = () => page.locator('.table-body .title-link').allTextContents();
    await row(page, 'C sorted').waitFor();
    await page.getByRole('button', { name: 'Sort by title' }).click();
    await page.locator('[role=columnheader][aria-sort=ascending]').waitFor();
    await page.locator('.table[aria-busy=false]').waitFor();
    expect(await titles()).toEqual(['A sorted', 'B sorted', 'C sorted']);
    await page.getByRole('button', { name: 'Sort by title' }).click();
    await page.locator('[role=columnheader][aria-sort=descending]').waitFor();
    await page.locator('.table[aria-busy=false]').waitFor();
    expect(await titles()).toEqual(['C sorted', 'B sorted', 'A sorted']);
    expect(new URL(page.url()).searchParams.get('order')).toBe('-title');
  });
});

describe('views', () => {
  it('are saved, opened, changed, shared and deleted', async () => {
    const person = await aReader(web);
    await person.api.create({ title: 'Seen in a view', labels: ['billing'], priority: 'HIGH' });
    await person.api.create({ title: 'Not in a view', priority: 'LOW' });
    const page = await web.openAs(person, '/issues');
    await viewsOf(page).getByText('to keep them here').waitFor();
    await press(page, 'v');
    await page.getByRole('dialog').getByText('No views yet', { exact: true }).waitFor();
    await press(page, 'Escape', 'g', 'n');
    await heading(page, 'Inbox');
    await press(page, 'v');
    await page.getByRole('dialog').getByText('No views yet. Filter the issues or the board').waitFor();
    await page.goto('/issues?label=billing&order=-priority');
    await row(page, 'Seen in a view').waitFor();
    await press(page, 'v');
    await page.getByRole('combobox', { name: 'Search: Views' }).fill('Billing');
    await press(page, 'Enter');
    await heading(page, 'Billing');
    await viewsOf(page).getByRole('link', { name: 'Billing 1 issues' }).waitFor();
    expect(await viewsOf(page).getByRole('link').first().getAttribute('aria-current')).toBe('page');
    await press(page, 'g', 'b');
    await heading(page, 'Board');
    await press(page, 'Alt+1');
    await heading(page, 'Billing');
    await row(page, 'Not in a view').waitFor({ state: 'detached' });
    // Other filters are changes that can be saved, and taken back.
    await page.getByRole('button', { name: 'Priority:' }).first().click();
    await page.getByRole('option', { name: 'Low' }).click();
    await press(page, 'Escape');
    await page.getByRole('button', { name: 'Save changes' }).click();
    await page.getByText('View Billing changed').waitFor();
    await viewsOf(page).getByRole('link', { name: 'Billing 0 issues' }).waitFor();
    await press(page, 'Control+z');
    await viewsOf(page).getByRole('link', { name: 'Billing 1 issues' }).waitFor();
    await press(page, 'Alt+1');
    await page.getByRole('button', { name: 'Edit view' }).click();
    const dialog = page.getByRole('dialog', { name: 'Edit the view' });
    await dialog.getByLabel('Name').fill('Money');
    await dialog.getByLabel(/^Shared/).check();
    expect(await pageProblems(page)).toEqual([]);
    await dialog.getByRole('button', { name: 'Save' }).click();
    await heading(page, 'Money');
    // Another browser: of a person who may read the view, but not change it.
    const other = await web.openAs(await aReader(web), '/issues');
    await viewsOf(other).getByRole('link', { name: 'Money' }).click();
    await row(other, 'Seen in a view').waitFor();
    expect(await other.getByRole('button', { name: 'Edit view' }).count()).toBe(0);
    await page.bringToFront();
    await page.getByRole('button', { name: 'Edit view' }).click();
    await page.getByRole('button', { name: 'Delete the view' }).click();
    await heading(page, 'Issues');
    expect(await viewsOf(page).getByRole('link').count()).toBe(0);
    await page.getByText('View Money deleted').waitFor();
    await other.reload();
    await heading(other, 'Issues');
    await page.bringToFront();
    await page.getByRole('button', { name: 'Undo' }).last().click();
    await viewsOf(page).getByRole('link', { name: 'Money' }).waitFor();
    await press(page, 'Control+k');
    await page.getByRole('combobox', { name: 'Commands' }).fill('view money');
    await page.getByRole('option', { name: /Open the view Money/ }).click();
    await row(page, 'Seen in a view').waitFor();
  });

  it('keep "within a week" as days from today, and have a group of their own among the commands', async () => {
    const person = await aReader(web);
    const day = (days: number) => new Date(Date.now() + days * 86_400_000).toISOString().slice(0, 10);
    await person.api.create({ title: 'Soon in a view', due_on: day(3) });
    await person.api.create({ title: 'Later in a view', due_on: day(30) });
    const page = await web.openAs(person, '/issues?due=week&q=view');
    await row(page, 'Soon in a view').waitFor();
    await page.getByRole('button', { name: 'Save view' }).click();
    const dialog = page.getByRole('dialog', { name: 'Save as a view' });
    await dialog.getByLabel('Name').fill('Due soon');
    await dialog.getByRole('button', { name: 'Save' }).click();
    await heading(page, 'Due soon');
    const query = (await person.api.views()).find(({ name }) => name === 'Due soon')?.query ?? '';
    expect([...new URLSearchParams(query)].sort()).toEqual([
      ['due_within', '7'],
      ['is_open', 'true'],
      ['search', 'view'],
    ]);
    await press(page, 'g', 'm');
    await heading(page, 'My issues');
    await press(page, 'Control+k');
    await page.getByRole('combobox', { name: 'Commands' }).fill('due soon');
    await page.getByRole('group', { name: 'Views' }).getByRole('option').first().click();
    await heading(page, 'Due soon');
    await row(page, 'Soon in a view').waitFor();
    expect(await row(page, 'Later in a view').count()).toBe(0);
    expect(await page.getByRole('button', { name: 'Save changes' }).count()).toBe(0);
  });

  it('of the board open the board', async () => {
    const person = await aReader(web);
    await person.api.create({ title: 'Card of a view', priority: 'CRITICAL' });
    const page = await web.openAs(person, '/board?priority=CRITICAL');
    await page.getByRole('button', { name: 'Save view' }).click();
    const dialog = page.getByRole('dialog', { name: 'Save as a view' });
    await dialog.getByLabel('Name').fill('Fires');
    await dialog.getByRole('button', { name: 'Save' }).click();
    await heading(page, 'Fires');
    await press(page, 'g', 'm');
    await heading(page, 'My issues');
    await viewsOf(page).getByRole('link', { name: 'Fires' }).click();
    await heading(page, 'Fires');
    await page.getByRole('link', { name: 'Card of a view' }).waitFor();
    expect(await page.getByRole('button', { name: 'Save changes' }).count()).toBe(0);
  });
});

describe('groups and density', () => {
  it('have heads with counts, in the order of the list, and stay for the person', async () => {
    const person = await aReader(web);
    for (const [title, priority] of [
      ['One grouped', 'LOW'],
      ['Two grouped', 'HIGH'],
      ['Three grouped', 'LOW'],
    ] as const)
      await person.api.create({ title, priority, ...(priority === 'HIGH' && { assignee_id: person.id }) });
    const { page, close } = await web.open({ bypassCSP: true, viewport: { width: 1280, height: 800 } });
    await signIn(page, person, '/issues?q=grouped&order=title');
    const lines = async () =>
      (await page.locator('.table-body > [role=row]').allTextContents()).map(
        (text) => /(?:High|Low)\s*\d$|(?:One|Two|Three) grouped/.exec(text)?.[0],
      );
    await row(page, 'One grouped').waitFor();
    await page.getByLabel('Groups').selectOption('priority');
    await page.locator('.group-head').nth(1).waitFor();
    expect((await lines()).map((line) => line?.replace(/\s+/g, ''))).toEqual([
      'High1',
      'Twogrouped',
      'Low2',
      'Onegrouped',
      'Threegrouped',
    ]);
    expect(await pageProblems(page)).toEqual([]);
    await page.getByLabel('Groups').selectOption('assignee');
    await page.locator('.group-head', { hasText: 'No one' }).waitFor();
    await page.locator('.group-head').nth(1).waitFor();
    const tall = (await row(page, 'One grouped').boundingBox())?.height;
    await page.getByRole('button', { name: 'Compact rows' }).click();
    await page.locator('.table.compact').waitFor();
    expect([tall, (await row(page, 'One grouped').boundingBox())?.height]).toEqual([36, 28]);
    await page.reload();
    await page.locator('.table.compact .group-head', { hasText: 'No one' }).waitFor();
    await press(page, 'j', 'j');
    await page.locator('.row a:focus').waitFor();
    await close();
  });
});

describe('the inbox', () => {
  it('marks all as done, and snoozes by touch on a phone', async () => {
    const person = await aReader(web);
    await mention(ada, person, ['First', 'Second', 'Third']);
    const { page, close } = await web.open({
      bypassCSP: true,
      hasTouch: true,
      viewport: { width: 375, height: 700 },
    });
    await signIn(page, person, '/inbox');
    const note = page.locator('.note', { hasText: 'Second' });
    await note.waitFor();
    expect(await pageProblems(page)).toEqual([]);
    await note.getByRole('button', { name: /^Snooze/ }).tap();
    await page.getByRole('option', { name: /^Tomorrow/ }).tap();
    await note.waitFor({ state: 'detached' });
    await page.getByRole('button', { name: 'Mark all as done' }).tap();
    await page.getByRole('heading', { name: 'All done' }).waitFor();
    await page.getByText('All notifications are done').waitFor();
    await page.getByRole('button', { name: 'Undo' }).last().tap();
    await page.locator('.note', { hasText: 'First' }).waitFor();
    expect(await page.locator('.note').count()).toBe(2);
    await close();
  });
});
