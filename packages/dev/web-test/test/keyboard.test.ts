import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { type Person, password, startWeb, type WatchedPage, type Web } from '../src/web.ts';

let web: Web;
let ada: Person;
let bob: Person;
let opened: WatchedPage;

beforeAll(async () => {
  web = await startWeb();
  ada = await web.createPerson('ada', 'Ada Lovelace', true);
  bob = await web.createPerson('bob', 'Bob Kaplan');
  await ada.api.createLabel({ name: 'billing', color: '#3b82f6' });
});

afterAll(async () => {
  expect(await web?.stop()).toEqual([0, 0]);
  // A change that follows another one at once is repeated on the new version.
  expect(opened.problems.filter((problem) => !problem.includes('409'))).toEqual([]);
});

it('a day of work needs no pointer', async () => {
  const late = await ada.api.create({ title: 'The refund is late' });
  const address = await ada.api.create({ title: 'The address is wrong' });
  opened = await web.open();
  const { page } = opened;
  const press = async (...keys: string[]) => {
    for (const key of keys) {
      await page.keyboard.press(key);
      expect(await page.evaluate(hasVisibleFocus)).toBe(true);
    }
  };
  const type = (text: string) => page.keyboard.type(text);
  const openPalette = async () => {
    await page.keyboard.press('Control+k');
    await page.getByRole('dialog', { name: 'Commands' }).waitFor();
  };
  const heading = (name: string) => page.getByRole('heading', { level: 1, name }).waitFor();

  await page.goto('/');
  await page.getByLabel('E-mail').waitFor();
  await press('Tab');
  await type(ada.email);
  await press('Tab');
  await type(password);
  await page.keyboard.press('Enter');

  // Two issues of the list get another priority at once.
  await page.getByRole('row', { name: 'The refund is late' }).waitFor();
  await press('j', 'J');
  await page.getByText('2 selected').waitFor();
  await press('p');
  await type('crit');
  await press('Enter');
  await page.getByRole('row', { name: address.key }).getByText('Critical').waitFor();
  // The focus is in the list again.
  await page.locator('[role=row] a:focus').waitFor();
  await press('Escape');

  // The first is assigned and labelled in the list, then opened.
  await press('k', 'i');
  await page.getByRole('row', { name: address.key }).getByText('Ada Lovelace').waitFor();
  await press('l');
  await type('bill');
  await press('Enter', 'Escape');
  await page.locator('[role=row] a:focus').waitFor();
  await page.getByRole('row', { name: address.key }).getByText('billing').waitFor();
  await press('o');
  await heading('The address is wrong');

  // It gets another assignee, a status and a comment.
  await press('a');
  await type('bob');
  await page.getByRole('option', { name: 'Bob Kaplan' }).waitFor();
  await press('Enter');
  await page.getByRole('button', { name: 'Assignee: Bob Kaplan' }).waitFor();
  await press('s');
  await type('progress');
  await press('Enter');
  await page.getByRole('button', { name: 'Status: In progress' }).waitFor();
  await press('m');
  await type('The street was missing.');
  await press('Control+Enter');
  await page.locator('.comment', { hasText: 'The street was missing.' }).waitFor();

  // The other is found by words in the palette, and moved on the board.
  await openPalette();
  await type('refund');
  await page.getByRole('option', { name: late.key }).waitFor();
  await press('ArrowDown', 'ArrowUp', 'Enter');
  await heading('The refund is late');
  await press('g', 'b');
  await heading('Board');
  await page.getByRole('link', { name: 'The refund is late' }).waitFor();
  await press('j', 's');
  await type('resol');
  await press('Enter');
  // The moved card keeps the focus.
  await page.locator('[data-column=RESOLVED] a:focus', { hasText: 'The refund is late' }).waitFor();

  // A new issue, all keys, another theme, and the end.
  await press('c');
  await type('Written without a mouse');
  await press('Control+Enter');
  await heading('Written without a mouse');
  await press('?');
  await page.getByRole('dialog', { name: 'Keyboard' }).getByText('Change the status').waitFor();
  await press('Escape');
  await openPalette();
  await type('dark');
  await press('Enter');
  await page.locator('html[data-theme=dark]').waitFor();
  await openPalette();
  await type('sign out');
  await page.keyboard.press('Enter');
  await page.getByLabel('Password').waitFor();

  expect(await ada.api.get(address.key)).toMatchObject({
    status: 'IN_PROGRESS',
    priority: 'CRITICAL',
    assignee: { id: bob.id },
    labels: [{ name: 'billing' }],
    comments_count: 1,
  });
  expect(await ada.api.get(late.key)).toMatchObject({
    status: 'RESOLVED',
    priority: 'CRITICAL',
    assignee: null,
  });
});

/** Whether the element with the focus is on the screen and has an outline or a field's border. */
const hasVisibleFocus = `(() => {
  const active = document.activeElement;
  if (active === document.body || active === null || active.id === 'content') return true;
  const { width, height, bottom, top } = active.getBoundingClientRect();
  const style = getComputedStyle(active);
  const isMarked = style.outlineStyle !== 'none' || active.matches('dialog');
  return isMarked && width > 0 && height > 0 && bottom > 0 && top < innerHeight;
})()`;
