// A person who works through a list: the place, the keys and the focus stay where they are expected.
import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { pageProblems } from '../src/page-problems.ts';
import { type Page, type Person, signIn, startWeb, type Web } from '../src/web.ts';

let web: Web;
let ada: Person;
let bob: Person;
const created: string[] = [];

beforeAll(async () => {
  web = await startWeb();
  ada = await web.createPerson('ada', 'Ada Lovelace', true);
  bob = await web.createPerson('bob', 'Bob Kaplan');
  for (const name of ['bug', 'feature', 'billing']) await ada.api.createLabel({ name, color: '#3b82f6' });
  for (let number = 1; number <= 60; number += 1)
    created.push((await ada.api.create({ title: `Case ${number}`, priority: 'MEDIUM' })).key);
});

afterEach(() => web.closePages());

afterAll(async () => {
  expect(await web?.stop()).toEqual([0, 0]);
  expect(web.problems(/409|ERR_FAILED|ERR_INTERNET_DISCONNECTED/)).toEqual([]);
});

const heading = (page: Page, name: string | RegExp) =>
  page.getByRole('heading', { level: 1, name }).waitFor();
const focusedRow = (page: Page, title: string) =>
  page
    .locator('[role=row] a:focus')
    .and(page.getByRole('link', { name: title, exact: true }))
    .waitFor();
const press = async (page: Page, ...keys: string[]) => {
  for (const key of keys) await page.keyboard.press(key);
};
const scrollY = (page: Page) => page.evaluate<number>('scrollY');
const focusedTag = (page: Page) => page.evaluate('document.activeElement.tagName');

describe('the place in a list', () => {
  it('goes to the next row when the issue that was opened no longer matches', async () => {
    const page = await web.openAs(ada, '/issues?status=OPEN&order=created_at');
    await page.getByRole('link', { name: 'Case 1', exact: true }).waitFor();
    await press(page, 'j', 'j', 'j', 'o');
    await heading(page, 'Case 3');
    await press(page, 's');
    await page.keyboard.type('progress');
    await press(page, 'Enter');
    await page.getByText('changed the status from Open').waitFor();
    await page.goBack();
    await focusedRow(page, 'Case 4');
    await press(page, 'j');
    await focusedRow(page, 'Case 5');
    expect(new URL(page.url()).search).toBe('?status=OPEN&order=created_at');
  });

  it('goes on with the issues at which one peeks, and stays in the list', async () => {
    const page = await web.openAs(ada, '/issues?q=case&order=created_at');
    await page.getByRole('link', { name: 'Case 11', exact: true }).waitFor();
    await press(page, 'j', 'Space');
    const peek = page.getByRole('dialog', { name: created[0] ?? '' });
    await peek.getByText('Case 1', { exact: true }).waitFor();
    await peek.getByText('No description').waitFor();
    expect(await pageProblems(page)).toEqual([]);
    await press(page, 'j', 'j', 'k');
    await page.getByRole('dialog').getByText('Case 2', { exact: true }).waitFor();
    await press(page, 'Space');
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    await focusedRow(page, 'Case 2');
    // Its box is ticked by Space as ever.
    await page.getByLabel(`Select ${created[4]}`, { exact: true }).focus();
    await press(page, 'Space');
    await page.getByText('1 selected').waitFor();
    await page.getByRole('link', { name: 'Case 3', exact: true }).focus();
    await press(page, 'Space');
    await page.getByRole('dialog').getByText('Case 3', { exact: true }).waitFor();
    await press(page, 'o');
    await heading(page, 'Case 3');
  });

  it('goes to the card in its place on the board, also by g b', async () => {
    const keys: string[] = [];
    for (const title of ['Card A', 'Card B', 'Card C'])
      keys.push((await ada.api.create({ title, priority: 'LOW' })).key);
    const page = await web.openAs(ada, '/board?priority=LOW');
    await page.getByRole('link', { name: 'Card B', exact: true }).focus();
    await press(page, 'o');
    await heading(page, 'Card B');
    await press(page, 'p');
    await page.keyboard.type('high');
    await press(page, 'Enter');
    await page.getByText('changed the priority from Low to High').waitFor();
    await press(page, 'g', 'b');
    await heading(page, 'Board');
    expect(new URL(page.url()).search).toBe('?priority=LOW');
    await page.locator('[data-card] a:focus', { hasText: 'Card A' }).waitFor();
  });

  it('is kept by g i and by the path of an issue, with filters and order', async () => {
    const search = '?q=Case&priority=MEDIUM&order=title';
    const page = await web.openAs(ada, `/issues${search}`);
    await page.getByRole('link', { name: 'Case 10', exact: true }).click();
    await heading(page, 'Case 10');
    await press(page, 'g', 'i');
    await focusedRow(page, 'Case 10');
    expect(new URL(page.url()).search).toBe(search);
    await press(page, 'o');
    await heading(page, 'Case 10');
    await page.getByRole('navigation', { name: 'Path' }).getByRole('link', { name: 'Issues' }).click();
    await focusedRow(page, 'Case 10');
    expect(new URL(page.url()).search).toBe(search);
    await page.getByRole('navigation', { name: 'Pages' }).getByRole('link', { name: 'Board' }).click();
    await heading(page, 'Board');
    await page.getByRole('navigation', { name: 'Pages' }).getByRole('link', { name: 'All issues' }).click();
    await page.getByRole('link', { name: 'Case 10', exact: true }).waitFor();
    expect(new URL(page.url()).search).toBe(search);
  });

  it('is that before the search for a key', async () => {
    const { key } = await ada.api.create({ title: 'Known by its key' });
    const page = await web.openAs(ada, '/issues?q=Case&order=created_at');
    await page.getByRole('link', { name: 'Case 1', exact: true }).waitFor();
    await press(page, '/');
    await page.getByLabel('Search issues').fill(key);
    await page.waitForURL((url) => url.searchParams.get('q') === key);
    await press(page, 'Enter');
    await heading(page, 'Known by its key');
    await press(page, 'g', 'i');
    await page.getByRole('link', { name: 'Case 1', exact: true }).waitFor();
    expect(new URL(page.url()).search).toBe('?order=created_at');
  });

  it('is that of the issue from which J, K and Escape leave', async () => {
    const page = await web.openAs(ada, '/issues?q=Case&order=created_at');
    await page.getByRole('link', { name: 'Case 1', exact: true }).waitFor();
    await press(page, 'j', 'o');
    await heading(page, /^Case 1 /);
    await press(page, 'J');
    await heading(page, /^Case 2 /);
    await press(page, 'J');
    await heading(page, /^Case 3 /);
    await press(page, 'K', 'K');
    await heading(page, /^Case 1 /);
    await press(page, 'K');
    await page.getByText('This is the first issue of the list.').waitFor();
    await press(page, 'J');
    await heading(page, /^Case 2 /);
    // The first leaves the field.
    await press(page, 'm', 'Escape', 'Escape');
    await heading(page, 'Issues');
    expect(new URL(page.url()).search).toBe('?q=Case&order=created_at');
    await focusedRow(page, 'Case 2');
    await ada.api.create({ title: 'Alone in its list' });
    await page.goto('/issues?q=alone');
    await page.getByRole('link', { name: 'Alone in its list' }).click();
    await heading(page, /^Alone/);
    await press(page, 'J');
    await page.getByText('This is the last issue that the list has loaded.').waitFor();
    await page.goto(`/issues/${created[0]}`);
    await heading(page, /^Case 1 /);
    await press(page, 'J');
    await page.getByText('No list was open before this issue').waitFor();
  });

  it('is kept by a reload and a lost connection', async () => {
    const page = await web.openAs(ada, '/issues?q=Case&order=created_at');
    await page.getByRole('link', { name: 'Case 1', exact: true }).waitFor();
    await press(page, 'j', 'j', 'j');
    await page.reload();
    await focusedRow(page, 'Case 3');
    await press(page, 'j');
    await focusedRow(page, 'Case 4');
    // The pages that follow are loaded.
    await page.waitForLoadState('networkidle');
    await page.context().setOffline(true);
    await page.getByText(/^No connection/).waitFor();
    await ada.api.createProject({ key: 'AWAY', name: 'Made meanwhile' });
    await page.context().setOffline(false);
    await page.getByRole('link', { name: 'Made meanwhile' }).waitFor();
    await focusedRow(page, 'Case 4');
    await press(page, 'j', 'o');
    await heading(page, /^Case 5 /);
    await page.reload();
    await heading(page, /^Case 5 /);
    await press(page, 'J');
    await heading(page, /^Case 6 /);
    await press(page, 'Escape');
    await focusedRow(page, 'Case 6');
    // Also a row of a later page of the list.
    const late = page.getByRole('link', { name: 'Case 57', exact: true });
    while ((await late.count()) === 0) await press(page, 'End');
    await late.focus();
    await page.reload();
    await focusedRow(page, 'Case 57');
    await page.goto('/board?q=Case');
    await page.getByRole('link', { name: 'Case 60', exact: true }).waitFor();
    await press(page, 'j', 'j');
    const card = page.locator('[data-card] a:focus', { hasText: 'Case 59' });
    await card.waitFor();
    await page.reload();
    await card.waitFor();
  });

  it('does not move when properties are changed by key on an issue that is scrolled', async () => {
    const { key } = await ada.api.create({ title: 'Long', description: 'A line\n\n'.repeat(300) });
    const page = await web.openAs(ada, `/issues/${key}`);
    await page.locator('.markdown p').nth(250).waitFor();
    await page.evaluate('scrollTo(0, 5000)');
    for (const one of ['s', 'p', 'a', 'l']) {
      await press(page, one);
      const field = page.locator('input[role=combobox]');
      await field.waitFor();
      const { y = -1 } = (await field.boundingBox()) ?? {};
      expect([one, y > 0 && y < 900]).toEqual([one, true]);
      await press(page, 'Escape');
      await field.waitFor({ state: 'detached' });
      expect([one, await scrollY(page)]).toEqual([one, 5000]);
    }
    // A list that is scrolled opens its filters where they are seen.
    await page.goto('/issues');
    await page.getByRole('link', { name: 'Case 60' }).waitFor();
    await page.evaluate('scrollTo(0, 900)');
    await press(page, 'f');
    const { y = -1 } = (await page.locator('input[role=combobox]').boundingBox()) ?? {};
    expect(y > 0 && y < 900).toBe(true);
    expect(await scrollY(page)).toBe(900);
    // The board has the same key for the same filter, and both name it.
    for (const path of ['/issues', '/board']) {
      await page.goto(path);
      await page.getByRole('link', { name: 'Case 60' }).waitFor();
      await press(page, '?');
      await page.getByRole('dialog').getByText('Filter by priority', { exact: true }).waitFor();
      await press(page, 'Escape', 'f');
      await page.getByRole('listbox', { name: 'Priority' }).waitFor();
    }
  });
});

describe('Escape and Enter', () => {
  it('leave every field, and what follows a sent comment is no text', async () => {
    const { key } = await ada.api.create({ title: 'With a comment' });
    const page = await web.openAs(ada, `/issues/${key}`);
    await heading(page, 'With a comment');
    await press(page, 'm');
    await page.keyboard.type('Ask @bo');
    await page.getByRole('listbox', { name: 'People to mention' }).waitFor();
    await press(page, 'Escape');
    await page.getByRole('listbox', { name: 'People to mention' }).waitFor({ state: 'detached' });
    expect(await focusedTag(page)).toBe('TEXTAREA');
    await press(page, 'Escape');
    expect(await focusedTag(page)).not.toBe('TEXTAREA');
    expect(await page.getByLabel('Comment', { exact: true }).inputValue()).toBe('Ask @bo');
    await press(page, 'm', 'Control+Enter', 'p');
    await page.getByRole('dialog', { name: `Priority of ${key}` }).waitFor();
    await press(page, 'Escape');
    await page.locator('.comment', { hasText: 'Ask @bo' }).waitFor();
    expect(await page.getByLabel('Comment', { exact: true }).inputValue()).toBe('');
    await page.goto('/issues?q=Case');
    await page.getByRole('link', { name: 'Case 60' }).waitFor();
    await press(page, '/');
    expect(await focusedTag(page)).toBe('INPUT');
    await press(page, 'Escape', 'j');
    await page.locator('[role=row] a:focus').waitFor();
    expect(await page.getByLabel('Search issues').inputValue()).toBe('Case');
    await page.goto('/settings/users');
    const search = page.getByLabel('Search users');
    await search.fill('bob');
    await press(page, 'Escape');
    expect([await focusedTag(page), await search.inputValue()]).toEqual(['BODY', 'bob']);
  });

  it('find values, people and settings in the palette, which the list has as well', async () => {
    const { key } = await ada.api.create({ title: 'Found by words', priority: 'LOW' });
    const page = await web.openAs(ada, `/issues/${key}`);
    await heading(page, /^Found by words/);
    const choose = async (words: string, name: string) => {
      await press(page, 'Control+k');
      await page.keyboard.type(words);
      await page.getByRole('option', { name, selected: true }).waitFor();
      await press(page, 'Enter');
    };
    await choose('urgent', 'Set the priority to Urgent');
    await page.getByRole('button', { name: 'Priority: Urgent' }).waitFor();
    await choose('assign to bob', 'Assign to Bob Kaplan (bob)');
    await page.getByRole('button', { name: 'Assignee: Bob Kaplan' }).waitFor();
    await choose('stop wat', 'Stop watching');
    await page.getByRole('button', { name: 'Watch', exact: true }).waitFor();
    await page.evaluate(`navigator.clipboard.writeText = async (text) => { globalThis.copied = text; }`);
    await choose('copy link', 'Copy the link');
    await page.getByText(`The link to ${key} is copied`).waitFor();
    expect(await page.evaluate('copied')).toBe(page.url());
    await choose('webhk', 'Webhooks');
    await heading(page, 'Webhooks');
    await press(page, 'Control+k');
    await page.getByRole('group', { name: 'Recent' }).getByRole('option', { name: key }).waitFor();
    await press(page, 'Escape', 'g', 'i');
    await page.getByRole('link', { name: 'Found by words' }).focus();
    await choose('critical', 'Set the priority to Critical');
    await page.getByRole('row', { name: key }).getByText('Critical').waitFor();
  });

  it('open the issue that was typed in the palette, when it arrives', async () => {
    const page = await web.openAs(ada, '/issues');
    await page.getByRole('link', { name: 'Case 60' }).waitFor();
    let release = () => {};
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    let searches = 0;
    await page.route(/search=/, async (route) => {
      searches += 1;
      await held;
      await route.continue();
    });
    await press(page, 'Control+k');
    await page.keyboard.type(created[6]?.toLowerCase() ?? '');
    await press(page, 'Enter');
    await heading(page, 'Case 7');
    await press(page, 'Control+k');
    await page.keyboard.type('Case 41 Case 41');
    await press(page, 'Enter');
    await page.getByText('Searching…').waitFor();
    release();
    await heading(page, 'Case 41');
    expect(searches).toBeLessThanOrEqual(4);
  });
});

describe('the choices of a picker', () => {
  it('are typed one after the other', async () => {
    const page = await web.openAs(ada, '/issues?q=Case&order=created_at');
    await page.getByRole('link', { name: 'Case 1', exact: true }).waitFor();
    await press(page, 'j', 'l');
    for (const name of ['bug', 'feat']) {
      await page.keyboard.type(name);
      await press(page, 'Enter');
      expect(await page.locator('input[role=combobox]').inputValue()).toBe('');
    }
    await press(page, 'Escape');
    const row = page.getByRole('row', { name: 'Case 1', exact: false }).first();
    for (const name of ['bug', 'feature']) await row.getByText(name, { exact: true }).waitFor();
    await page.getByRole('button', { name: /^Priority/ }).click();
    await page.keyboard.type('high');
    await press(page, 'Enter');
    await page.keyboard.type('med');
    await press(page, 'Enter', 'Escape');
    await page.waitForURL(/priority=HIGH(?:%2C|,)MEDIUM/);
  });

  it('are first those that begin with what is typed', async () => {
    const { key } = await ada.api.create({ title: 'Nearly done' });
    await ada.api.changeStatus(key, { status: 'IN_PROGRESS' });
    const page = await web.openAs(ada, `/issues/${key}`);
    await heading(page, 'Nearly done');
    await press(page, 's');
    await page.getByRole('option').first().waitFor();
    await page.keyboard.type('res');
    await press(page, 'Enter');
    await page.getByRole('button', { name: 'Status: Resolved' }).waitFor();
  });

  it('start at the current value, and have digits', async () => {
    const { key } = await ada.api.create({ title: 'Digits', priority: 'MEDIUM' });
    const page = await web.openAs(ada, `/issues/${key}`);
    await heading(page, 'Digits');
    await press(page, 'p', 'Enter');
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    await page.getByRole('button', { name: 'Priority: Medium' }).click();
    await press(page, 'Enter');
    await page.getByRole('button', { name: 'Priority: Medium' }).waitFor();
    expect((await ada.api.get(key)).version).toBe(1);
    await press(page, 'p', '2');
    await page.getByRole('button', { name: 'Priority: Urgent' }).waitFor();
    await page.getByRole('button', { name: 'Labels: None' }).click();
    // A digit chooses among the options that are there; before, it is text.
    await page.getByRole('option', { name: 'bug', exact: false }).waitFor();
    // The second key comes before the page has drawn the first choice.
    await page.evaluate(`(async () => {
      const input = document.querySelector('input[role=combobox]');
      for (const key of ['1', '2']) {
        input.dispatchEvent(new KeyboardEvent('keydown', { key, bubbles: true }));
        for (let task = 0; task < 20; task += 1) await Promise.resolve();
      }
    })()`);
    await press(page, 'Escape');
    await page.getByRole('button', { name: /Labels: billing\s*bug/ }).waitFor();
    await press(page, 'a');
    await page.keyboard.type('4');
    expect(await page.locator('input[role=combobox]').count()).toBe(1);
    await press(page, 'Escape');
  });
});

describe('a row and a card', () => {
  it('open their issue wherever they are clicked', async () => {
    const page = await web.openAs(ada, '/issues?q=Case&order=created_at');
    const row = page.locator('[role=row]', { has: page.getByRole('link', { name: 'Case 9', exact: true }) });
    const box = (await row.boundingBox()) ?? { x: 0, y: 0, width: 0, height: 0 };
    for (const part of [0.4, 0.75, 0.97]) {
      await page.mouse.click(box.x + box.width * part, box.y + box.height / 2);
      await heading(page, 'Case 9');
      await page.goBack();
      await row.waitFor();
    }
    await page.goto('/board?q=Case');
    const card = page.locator('[data-card]', {
      has: page.getByRole('link', { name: 'Case 60', exact: true }),
    });
    const { x, y, width, height } = (await card.boundingBox()) ?? box;
    await page.mouse.click(x + width - 30, y + height - 8);
    await heading(page, 'Case 60');
  });

  it('are selected as a range, and all at once', async () => {
    const page = await web.openAs(ada, '/issues?q=Case&order=created_at');
    const box = (number: number) => page.getByLabel(`Select ${created[number - 1]}`, { exact: true });
    await box(10).click();
    await box(14).click({ modifiers: ['Shift'] });
    const top = (await page.getByRole('row').nth(5).boundingBox())?.y;
    await page.getByText('5 selected').waitFor();
    await box(12).click({ modifiers: ['Shift'] });
    await page.getByText('2 selected').waitFor();
    await press(page, 'Escape');
    await page.getByText('2 selected').waitFor({ state: 'detached' });
    // The bar lies over the page.
    expect((await page.getByRole('row').nth(5).boundingBox())?.y).toBe(top);
    await press(page, 'Control+a');
    await page.getByText('50 of 60 selected: all that are loaded', { exact: true }).waitFor();
    await page.getByLabel('Select all', { exact: true }).uncheck();
    await page.getByText('50 of 60 selected').waitFor({ state: 'detached' });
    await box(1).click();
    await page.getByRole('button', { name: 'Select all 50 loaded' }).click();
    await page.getByText('50 of 60 selected').waitFor();
    await page.goto('/board?q=Case');
    await page.getByRole('link', { name: 'Case 60', exact: true }).waitFor();
    await press(page, 'j', 'x');
    await page
      .locator('[data-column=OPEN] [data-card]')
      .nth(3)
      .click({ modifiers: ['Shift'] });
    await page.getByText('4 selected').waitFor();
  });
});

describe('nothing moves by itself', () => {
  it('the field of the palette', async () => {
    const page = await web.openAs(ada, '/issues');
    await press(page, 'Control+k');
    const field = page.getByPlaceholder('Find a command or an issue');
    await page.getByRole('dialog').getByRole('option').first().waitFor();
    const { y } = (await field.boundingBox()) ?? { y: 0 };
    for (const text of ['n', 'no such thing', 'Case']) {
      await field.fill(text);
      expect([text, (await field.boundingBox())?.y]).toEqual([text, y]);
    }
  });

  it('the reader of a long history', async () => {
    const { key } = await ada.api.create({ title: 'Much talk' });
    await web.sql(
      'issues',
      `INSERT INTO comments (id, issue_id, body, author_id, created_at, updated_at)
       SELECT gen_random_uuid(), i.id, 'Comment ' || n, $1, now() - n * interval '1 s', now()
       FROM issues i, generate_series(1, 120) n WHERE i.number = $2`,
      [ada.id, Number(key.replace(/\D/g, ''))],
    );
    const page = await web.openAs(ada, `/issues/${key}`);
    const button = page.getByRole('button', { name: 'Show earlier' });
    await button.waitFor();
    await page.locator('.comment').nth(40).waitFor();
    const before = await scrollY(page);
    const { y } = (await button.boundingBox()) ?? { y: 0 };
    await button.click();
    await page.locator('.comment').nth(90).waitFor();
    expect([await scrollY(page), (await button.boundingBox())?.y]).toEqual([before, y]);
  });
});

describe('what is shown', () => {
  it('is one truth about watching', async () => {
    const { key } = await ada.api.create({ title: 'Watched by Bob' });
    const page = await web.openAs(bob, `/issues/${key}`);
    await page.getByRole('button', { name: 'Watch', exact: true }).waitFor();
    await page.getByLabel('Comment', { exact: true }).fill('I take part.');
    await page.getByLabel('Comment', { exact: true }).press('Control+Enter');
    await page.getByRole('button', { name: 'Stop watching' }).waitFor();
    const other = await ada.api.create({ title: 'Assigned to Bob' });
    await page.goto(`/issues/${other.key}`);
    await page.getByRole('button', { name: 'Watch', exact: true }).waitFor();
    await press(page, 'i');
    await page.getByRole('button', { name: 'Stop watching' }).waitFor();
  });

  it('is the frame of the app without a connection, and the page when it is back', async () => {
    const page = await web.openAs(ada, '/issues', (opened) =>
      opened.route(
        ({ pathname }) => pathname === '/' || /\/assets\/(?:board|settings)-page/.test(pathname),
        (route) => route.abort('internetdisconnected'),
      ),
    );
    await page.getByRole('link', { name: 'Case 60' }).waitFor();
    await press(page, 'g', 'b');
    await heading(page, 'This page could not be loaded');
    await page.getByRole('navigation', { name: 'Pages' }).waitFor();
    expect(await page.locator('main').textContent()).not.toMatch(/https?:|assets/);
    await page.context().setOffline(true);
    await page.getByText(/^No connection/).waitFor();
    await page.unrouteAll();
    await page.context().setOffline(false);
    await heading(page, 'Board');
    await press(page, 'g', 's');
    await heading(page, 'Account');
    // Loaded before they are needed.
    const { page: fresh, close } = await web.open();
    await signIn(fresh, ada);
    await fresh.waitForResponse(/\/assets\/settings-page-[^/]*\.js/);
    await fresh.waitForLoadState('networkidle');
    await fresh.context().setOffline(true);
    await fresh.getByText(/^No connection/).waitFor();
    await press(fresh, 'g', 's');
    await heading(fresh, 'Account');
    await close();
  });

  it('is the page, if its file could not be loaded in advance', async () => {
    let aborted = () => {};
    const tried = new Promise<void>((resolve) => {
      aborted = resolve;
    });
    const page = await web.openAs(ada, '/issues', (opened) =>
      opened.route(/\/assets\/settings-page/, async (route) => {
        await route.abort('internetdisconnected');
        aborted();
      }),
    );
    await tried;
    await page.unrouteAll();
    await press(page, 'g', 's');
    await heading(page, 'Account');
  });

  it('is the issue as the list knows it, while it is read', async () => {
    const page = await web.openAs(ada, '/issues?q=Case&order=created_at');
    const link = page.getByRole('link', { name: 'Case 20', exact: true });
    await link.waitFor();
    await page.route(`**/issues/${created[19]}/`, () => undefined);
    await link.click();
    await page.getByText(`Case 20 ${created[19]}`).waitFor();
    await page.getByText('Loading the texts…').waitFor();
  });
});

it('each class of the styles belongs to one file, so that no page changes another', () => {
  const folder = fileURLToPath(new URL('../../../../apps/issues/web/src/styles/', import.meta.url));
  const owners = new Map<string, Set<string>>();
  for (const file of readdirSync(folder)) {
    const text = readFileSync(`${folder}${file}`, 'utf8').replace(/\/\*[\s\S]*?\*\//g, '');
    for (const [, selectors = ''] of text.matchAll(/([^{}]+)\{/g)) {
      for (const selector of selectors.split(/,(?![^(]*\))/)) {
        // The other classes of a selector say where the first one stands.
        const name = /^\s*[a-z]*\.([a-z][\w-]*)/.exec(selector)?.[1];
        if (name !== undefined) owners.set(name, (owners.get(name) ?? new Set()).add(file));
      }
    }
  }
  expect([...owners].filter(([, files]) => files.size > 1).map(([name]) => name)).toEqual([]);
  expect(owners.size).toBeGreaterThan(50);
});

it('each class of an element has a style, so that none is lost when styles move', () => {
  const folder = fileURLToPath(new URL('../../../../apps/issues/web/src/', import.meta.url));
  const files = readdirSync(folder, { recursive: true, encoding: 'utf8' });
  const textOf = (extension: string) =>
    files
      .filter((file) => file.endsWith(extension))
      .map((file) => readFileSync(`${folder}${file}`, 'utf8'))
      .join('\n');
  const styled = new Set(Array.from(textOf('.css').matchAll(/\.([a-z][\w-]*)/g), ([, name]) => name));
  const used = Array.from(textOf('.tsx').matchAll(/className="([^"]+)"/g), ([, names = '']) =>
    names.split(' '),
  );
  expect(used.flat().filter((name) => !styled.has(name))).toEqual([]);
  expect(used.length).toBeGreaterThan(50);
});
