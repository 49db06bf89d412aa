import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { pageProblems } from '../src/page-problems.ts';
import { aReader, mention } from '../src/readers.ts';
import { type Page, type Person, signIn, startWeb, type Web } from '../src/web.ts';

let web: Web;
let ada: Person;

beforeAll(async () => {
  web = await startWeb();
  ada = await web.createPerson('ada', 'Ada Lovelace', true);
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

describe('my issues', () => {
  it('are those that are assigned, by status, and those that were created', async () => {
    const person = await aReader(web);
    const make = async (title: string, by: Person, isMine: boolean) =>
      (await by.api.create({ title, ...(isMine && { assignee_id: person.id }) })).key;
    const begun = await make('Begun', ada, true);
    await make('Waiting', ada, true);
    const closed = await make('Closed already', ada, true);
    await make('Own idea', person, false);
    await make('Of no concern', ada, false);
    await ada.api.changeStatus(begun, { status: 'IN_PROGRESS' });
    await ada.api.changeStatus(closed, { status: 'IN_PROGRESS' });
    await ada.api.changeStatus(closed, { status: 'RESOLVED' });
    const page = await web.openAs(person, '/issues');
    await press(page, 'g', 'm');
    await heading(page, 'My issues');
    await page.getByRole('row', { name: 'Waiting' }).waitFor();
    const shown = await page.locator('.table-body [role=row]').allTextContents();
    expect(shown.map((text) => /In progress\s*1$|Open\s*1$|Begun|Waiting/.exec(text)?.[0])).toEqual([
      expect.stringMatching(/^In progress/),
      'Begun',
      expect.stringMatching(/^Open/),
      'Waiting',
    ]);
    // The keys of a list.
    await press(page, 'j', 'j');
    await page.locator('.row a:focus', { hasText: 'Waiting' }).waitFor();
    await press(page, 'Enter');
    await heading(page, 'Waiting');
    await page.getByRole('navigation', { name: 'Path' }).getByRole('link', { name: 'My issues' }).click();
    await page.locator('.row a:focus', { hasText: 'Waiting' }).waitFor();
    await page.getByRole('button', { name: 'Created by me' }).click();
    await page.getByRole('row', { name: 'Own idea' }).waitFor();
    expect(await page.getByRole('row', { name: 'Waiting' }).count()).toBe(0);
    expect(new URL(page.url()).search).toBe('?of=created');
  });
});

describe('the sidebar', () => {
  it('collapses by a key, for each person of a browser', async () => {
    const person = await aReader(web);
    const { page, close } = await web.open({ bypassCSP: true, viewport: { width: 1440, height: 900 } });
    await signIn(page, person);
    const button = page.getByRole('button', { name: 'Sidebar' });
    expect(await button.getAttribute('aria-expanded')).toBe('true');
    const wide = (await page.locator('main').boundingBox())?.width ?? 0;
    await press(page, '[');
    await page.locator('[aria-label=Sidebar][aria-expanded=false]').waitFor();
    expect((await page.locator('main').boundingBox())?.width).toBeGreaterThan(wide);
    expect(await pageProblems(page)).toEqual([]);
    await page.reload();
    await page.locator('[aria-label=Sidebar][aria-expanded=false]').waitFor();
    await page.context().clearCookies();
    await signIn(page, ada);
    await page.locator('[aria-label=Sidebar][aria-expanded=true]').waitFor();
    // A layout without the key, and one on which AltGr types it.
    await page.evaluate(
      `document.dispatchEvent(new KeyboardEvent('keydown', { key: 'х', code: 'BracketLeft', bubbles: true }))`,
    );
    await page.locator('[aria-label=Sidebar][aria-expanded=false]').waitFor();
    await page.evaluate(`document.dispatchEvent(new KeyboardEvent('keydown',
      { key: '[', code: 'Digit8', modifierAltGraph: true, ctrlKey: true, altKey: true, bubbles: true }))`);
    await page.locator('[aria-label=Sidebar][aria-expanded=true]').waitFor();
    await close();
  });

  it('leads to the issues of a label', async () => {
    await ada.api.createLabel({ name: 'billing', color: '#3b82f6' });
    await ada.api.create({ title: 'With a label', labels: ['billing'] });
    const page = await web.openAs(ada, '/board');
    const labels = page.getByRole('navigation', { name: 'Labels' });
    await labels.getByRole('link', { name: 'billing' }).click();
    await page.getByRole('row', { name: 'With a label' }).waitFor();
    expect(new URL(page.url()).search).toBe('?label=billing');
    expect(await labels.getByRole('link', { name: 'billing' }).getAttribute('aria-current')).toBe('page');
  });

  it('is a sheet on a phone', async () => {
    const person = await aReader(web);
    await mention(ada, person, ['On the train']);
    const { page, problems, close } = await web.open({
      bypassCSP: true,
      viewport: { width: 375, height: 700 },
    });
    await signIn(page, person);
    const menu = page.getByRole('button', { name: 'Menu' });
    await menu.click();
    const sheet = page.getByRole('dialog', { name: 'Menu' });
    await sheet.getByRole('link', { name: 'Inbox 1 unread' }).waitFor();
    expect(await pageProblems(page)).toEqual([]);
    await press(page, 'Escape');
    await sheet.waitFor({ state: 'detached' });
    expect(await page.evaluate(`document.activeElement.getAttribute('aria-label')`)).toMatch(/^Menu/);
    await menu.click();
    await sheet.getByRole('link', { name: 'Inbox' }).click();
    await heading(page, 'Inbox');
    await sheet.waitFor({ state: 'detached' });
    const item = page.locator('.note', { hasText: 'On the train' });
    await item.waitFor();
    expect(await pageProblems(page)).toEqual([]);
    await item.getByRole('button', { name: /^Done/ }).click();
    await page.getByRole('heading', { name: 'All done' }).waitFor();
    expect(problems).toEqual([]);
    await close();
  });
});
