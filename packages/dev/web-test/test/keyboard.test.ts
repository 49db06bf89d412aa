import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { workByKeys } from '../src/thirty.ts';
import { type Page, type Person, password, startWeb, type Web } from '../src/web.ts';

let web: Web;
let ada: Person;
let bob: Person;

beforeAll(async () => {
  web = await startWeb();
  ada = await web.createPerson('ada', 'Ada Lovelace', true);
  bob = await web.createPerson('bob', 'Bob Kaplan');
  await ada.api.createLabel({ name: 'billing', color: '#3b82f6' });
});

afterEach(() => web.closePages());

afterAll(async () => {
  expect(await web?.stop()).toEqual([0, 0]);
});

it('a day of work needs no pointer', async () => {
  const late = await ada.api.create({ title: 'The refund is late' });
  const address = await ada.api.create({ title: 'The address is wrong' });
  const opened = await web.open();
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
  await press('Tab');
  await type('With a text');
  await press('Control+Enter');
  await heading('Written without a mouse');
  await page.getByText('With a text').waitFor();
  await press('?');
  const help = page.getByRole('dialog', { name: 'Keyboard' });
  // From this list alone, a person finds the way back, and what a text can do.
  for (const name of ['Change the status', 'Back to the list', 'Mention a person', 'Bold'])
    await help.getByText(name, { exact: true }).waitFor();
  await press('Escape');
  // The Tab key and screen readers go on at the page.
  await page.locator('#content:focus').waitFor();
  await openPalette();
  await type('dark');
  await press('Enter');
  await page.locator('html[data-theme=dark]').waitFor();
  // A change that follows another one at once is repeated on the new version. After the end of the session, a request that is
  // under way gets 401.
  expect(opened.problems.filter((problem) => !problem.includes('409'))).toEqual([]);
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

it('an issue is worked through with at most 33 keys', async () => {
  const { keysAnIssue } = await workByKeys(web, { ada, bob }, 3);
  expect(keysAnIssue).toBeLessThanOrEqual(33);
});

interface Key {
  key: string;
  code: string;
  keyCode?: number;
  /** 1 Alt, 2 Ctrl, 4 Meta, 8 Shift. */
  modifiers?: number;
}

/** Sends keys as an input method or another layout does: Chromium's own keyboard types the US layout. */
async function keyboardOf(page: Page) {
  const devtools = await page.context().newCDPSession(page);
  return {
    compose: (text: string) =>
      devtools.send('Input.imeSetComposition', {
        text,
        selectionStart: text.length,
        selectionEnd: text.length,
      }),
    commit: (text: string) => devtools.send('Input.insertText', { text }),
    press: async ({ key, code, keyCode = 0, modifiers = 0 }: Key) => {
      const event = { key, code, windowsVirtualKeyCode: keyCode, modifiers };
      await devtools.send('Input.dispatchKeyEvent', { type: 'rawKeyDown', ...event });
      await devtools.send('Input.dispatchKeyEvent', { type: 'keyUp', ...event });
    },
  };
}

const isDialogOpen = `document.querySelector('dialog[open]') !== null`;

async function openPalette(page: Page): Promise<void> {
  await page.keyboard.press('Control+k');
  // The field of the page is replaced when the palette is loaded.
  await page.getByRole('option', { name: 'New issue' }).waitFor();
}

async function openNewIssue(page: Page): Promise<void> {
  await page.getByRole('button', { name: 'New issue' }).click();
  // The field of the page is replaced when the dialog is loaded.
  await page.getByRole('button', { name: 'Create issue' }).waitFor();
  await page.locator('input:focus').waitFor();
}

describe('the keys of a composition', () => {
  const composed = { keyCode: 229 };
  const enter = { key: 'Enter', code: 'Enter', ...composed };
  const keys: Key[] = [
    enter,
    { ...enter, modifiers: 2 },
    { key: 'Escape', code: 'Escape', ...composed },
    { key: 'ArrowDown', code: 'ArrowDown', ...composed },
    { key: 'Tab', code: 'Tab', ...composed },
    { key: 'k', code: 'KeyK', modifiers: 2, ...composed },
    { key: 'Process', code: 'KeyC', ...composed },
  ];

  it.each<[name: string, path: string, open: (page: Page) => Promise<unknown>]>([
    ['the title of a new issue', '', openNewIssue],
    ['a choice', '', (page) => page.getByRole('button', { name: 'Assignee' }).click()],
    ['a comment', '', (page) => page.getByLabel('Comment', { exact: true }).focus()],
    ['an edited title', '', (page) => page.getByRole('button', { name: 'Edit title' }).click()],
    ['the palette', '', openPalette],
    ['the search', '/issues', (page) => page.getByLabel('Search issues').focus()],
  ])('do nothing in %s', async (name, path, open) => {
    const { key } = await ada.api.create({ title: `Composed in ${name}` });
    const page = await web.openAs(ada, path || `/issues/${key}`);
    await page.getByRole('heading', { level: 1 }).first().waitFor();
    await open(page);
    await page.locator(':is(input, textarea):focus').waitFor();
    for (const one of ['Control+a', 'Delete']) await page.keyboard.press(one);
    const state = `[document.activeElement.value, document.querySelectorAll('dialog[open]').length, location.pathname]`;
    const [, dialogs, place] = (await page.evaluate(state)) as unknown[];
    const sent: string[] = [];
    page.on('request', (one) => one.method() !== 'GET' && sent.push(one.url()));
    const { compose, commit, press } = await keyboardOf(page);
    await compose('かん');
    for (const one of keys) {
      await press(one);
      expect([one, await page.evaluate(state)]).toEqual([one, ['かん', dialogs, place]]);
    }
    await commit('漢');
    expect(await page.evaluate(state)).toEqual(['漢', dialogs, place]);
    expect(sent).toEqual([]);
    expect(await ada.api.get(key)).toMatchObject({ version: 1, assignee: null, comments_count: 0 });
  });

  it('act again afterwards', async () => {
    const page = await web.openAs(ada, '/issues');
    await openNewIssue(page);
    const { compose, commit, press } = await keyboardOf(page);
    await compose('かん');
    await press(enter);
    await commit('漢字');
    await page.keyboard.press('Control+Enter');
    await page.getByRole('heading', { level: 1, name: '漢字' }).waitFor();
  });

  it('are left alone by every handler, because each is made by onKey', () => {
    const root = fileURLToPath(new URL('../../../../apps/issues/web/src/', import.meta.url));
    const handlers = readdirSync(root, { encoding: 'utf8', recursive: true })
      .filter((file) => /\.tsx?$/.test(file) && file !== 'shell/keys.ts')
      .flatMap((file) => {
        const text = readFileSync(`${root}${file}`, 'utf8');
        const found = text.matchAll(
          /(?:\bonKey(?:Down|Up|Press)(?:Capture)?=\{|\(\s*'key(?:down|up|press)',)\s*([^\s(),;}]*)/g,
        );
        return Array.from(found, ([line, maker = '']) => ({
          line: `${file}: ${line}`,
          isMade: maker === 'onKey' || text.includes(`const ${maker} = onKey(`),
        }));
      });
    expect(handlers.filter(({ isMade }) => !isMade)).toEqual([]);
    expect(handlers.length).toBeGreaterThan(6);
  });
});

describe('shortcuts', () => {
  it.each<[layout: string, key: Key, opens: string | undefined]>([
    ['Cyrillic', { key: 'л', code: 'KeyK', modifiers: 2 }, 'Commands'],
    ['Greek', { key: 'κ', code: 'KeyK', modifiers: 2 }, 'Commands'],
    ['Hebrew', { key: 'ל', code: 'KeyK', modifiers: 2 }, 'Commands'],
    ['Dvorak', { key: 'k', code: 'KeyV', modifiers: 2 }, 'Commands'],
    ['Dvorak', { key: 't', code: 'KeyK', modifiers: 2 }, undefined],
    ['Cyrillic with Caps Lock', { key: 'С', code: 'KeyC' }, 'New issue'],
    ['Cyrillic', { key: 'с', code: 'KeyC' }, 'New issue'],
    ['Greek', { key: 'ψ', code: 'KeyC' }, 'New issue'],
    ['Hebrew', { key: 'ב', code: 'KeyC' }, 'New issue'],
    ['Dvorak', { key: 'c', code: 'KeyI' }, 'New issue'],
    ['Dvorak', { key: 'j', code: 'KeyC' }, undefined],
    ['AZERTY', { key: '?', code: 'KeyM', modifiers: 8 }, 'Keyboard'],
    ['Arabic', { key: '؟', code: 'Slash', modifiers: 8 }, 'Keyboard'],
    ['AltGr on Windows', { key: '©', code: 'KeyC', modifiers: 3 }, undefined],
    ['AltGr on Linux', { key: '©', code: 'KeyC' }, undefined],
    ['Alt on macOS', { key: 'ç', code: 'KeyC', modifiers: 1 }, undefined],
    ['a dead key', { key: 'Dead', code: 'KeyC' }, undefined],
    ['French', { key: 'é', code: 'Digit2' }, undefined],
  ])('%s: %j opens %s', async (_layout, key, opens) => {
    const page = await web.openAs(ada, '/issues');
    await page.getByRole('table').waitFor();
    const { press } = await keyboardOf(page);
    await press(key);
    if (opens === undefined) expect(await page.evaluate(isDialogOpen)).toBe(false);
    else await page.getByRole('dialog', { name: opens }).waitFor();
  });

  it('of two capital letters work with Shift pressed for each, and an issue is then found by its number', async () => {
    const { key } = await ada.api.create({ title: 'Twice the same' });
    const other = await ada.api.create({ title: 'Once the same' });
    const page = await web.openAs(ada, `/issues/${key}`);
    await page.getByRole('heading', { name: 'Relations' }).waitFor();
    await page.keyboard.press('Shift+M');
    await page.keyboard.press('Shift+M');
    const dialog = page.getByRole('dialog', { name: `Relate ${key}` });
    await dialog.waitFor();
    await page.keyboard.type(String(other.number));
    expect(await dialog.getByRole('combobox').last().inputValue()).toBe(String(other.number));
    await dialog.getByRole('option', { name: 'Once the same' }).click();
    await dialog.waitFor({ state: 'detached' });
    await page.getByText('Once the same').waitFor();
  });

  it('of two keys work on a Cyrillic layout, and no letter that AltGr types is one', async () => {
    const page = await web.openAs(ada, '/issues');
    await page.getByRole('table').waitFor();
    await page.evaluate(`document.dispatchEvent(new KeyboardEvent('keydown',
      { key: 'с', code: 'KeyC', modifierAltGraph: true, bubbles: true }))`);
    expect(await page.evaluate(isDialogOpen)).toBe(false);
    const { press } = await keyboardOf(page);
    await press({ key: 'п', code: 'KeyG' });
    await press({ key: 'и', code: 'KeyB' });
    await page.getByRole('heading', { level: 1, name: 'Board' }).waitFor();
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
