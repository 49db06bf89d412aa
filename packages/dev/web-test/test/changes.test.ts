// What a change leaves behind: a message with Undo, labels that are made on the way, references and boxes in texts.
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { type Page, type Person, startWeb, type Web } from '../src/web.ts';

let web: Web;
let ada: Person;
let bob: Person;

beforeAll(async () => {
  web = await startWeb();
  ada = await web.createPerson('ada', 'Ada Lovelace', true);
  bob = await web.createPerson('bob', 'Bob Kaplan', true);
  // The service knows a person after a first request.
  await bob.api.create({ title: 'Of Bob' });
});

afterEach(() => web.closePages());

afterAll(async () => {
  expect(await web?.stop()).toEqual([0, 0]);
  expect(web.problems(/409|412|ERR_FAILED/)).toEqual([]);
});

const heading = (page: Page, name: string | RegExp) =>
  page.getByRole('heading', { level: 1, name }).waitFor();
const press = async (page: Page, ...keys: string[]) => {
  for (const key of keys) await page.keyboard.press(key);
};
const undo = (page: Page, text: string) =>
  page.locator('.toast', { hasText: text }).getByRole('button', { name: 'Undo' });
/** The page learns of the changes of others only after nine seconds. */
const withoutEvents = (page: Page) => page.route('**/events/**', (route) => route.abort());

describe('Undo', () => {
  it('takes back each change of an issue, by the button and by Ctrl Z', async () => {
    const { key } = await ada.api.create({ title: 'Undone', description: 'Before', priority: 'LOW' });
    const page = await web.openAs(ada, `/issues/${key}`);
    await heading(page, 'Undone');
    await press(page, 'p', '1');
    await undo(page, `Priority of ${key} changed`).click();
    await page.getByRole('button', { name: 'Priority: Low' }).waitFor();
    await press(page, 's', '2');
    await page.getByRole('button', { name: 'Status: In progress' }).waitFor();
    await press(page, 'Control+z');
    await page.getByText('changed the status from In progress to Open').waitFor();
    await press(page, 'i', 'Control+z');
    await page.getByText('changed the assignee from Ada Lovelace to no one').waitFor();
    await press(page, 'l');
    await page.keyboard.type('made here');
    await page.getByRole('option', { name: /^Create/ }).waitFor();
    await press(page, 'Enter', 'Escape');
    await page.getByRole('button', { name: 'Labels: made here' }).waitFor();
    await undo(page, `Labels of ${key} changed`).click();
    await page.getByRole('button', { name: 'Labels: None' }).waitFor();
    await press(page, 'e');
    await page.getByRole('textbox', { name: 'Description' }).fill('After');
    await press(page, 'Control+Enter');
    await undo(page, `Description of ${key} changed`).click();
    await page.locator('.markdown', { hasText: 'Before' }).waitFor();
    await press(page, 'm');
    await page.keyboard.type('Sent too early');
    await press(page, 'Control+Enter');
    await undo(page, 'Comment added').click();
    await page.locator('.comment').waitFor({ state: 'detached' });
    await page.getByText('Draft saved').waitFor();
    expect(await page.getByLabel('Comment', { exact: true }).inputValue()).toBe('Sent too early');
    expect(await ada.api.get(key)).toMatchObject({
      priority: 'LOW',
      status: 'OPEN',
      assignee: null,
      labels: [],
      description: 'Before',
      comments_count: 0,
    });
  });

  it('takes back a due date, which the keys, the field and the list show', async () => {
    const { key } = await ada.api.create({ title: 'Due once', due_on: '2020-01-31' });
    const page = await web.openAs(ada, `/issues/${key}`);
    await heading(page, 'Due once');
    const field = page.getByLabel('Due date', { exact: true });
    await page.locator('.due-field.overdue').waitFor();
    await press(page, 'd');
    await page.getByRole('dialog').getByRole('option', { name: 'No due date' }).click();
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    await page.getByText('changed the due date from Jan 31, 2020 to none').waitFor();
    await field.fill('2999-12-31');
    await press(page, 'Enter');
    await undo(page, `Due date of ${key} changed`).first().waitFor();
    await page.getByText('changed the due date from none to Dec 31, 2999').waitFor();
    await press(page, 'Escape', 'Control+z');
    await page.getByText('changed the due date from Dec 31, 2999 to none').waitFor();
    expect((await ada.api.get(key)).due_on).toBeNull();
    await ada.api.update(key, { due_on: '2020-01-31' });
    const { key: other } = await ada.api.create({ title: 'Due later', due_on: '2999-12-31' });
    await page.goto('/issues?q=due&order=created_at');
    await page.getByRole('link', { name: 'Due once' }).waitFor();
    await press(page, 'j');
    // Digits and words choose a day.
    const dayIn = (days: number) => new Date(Date.now() + days * 86_400_000).toISOString().slice(0, 10);
    const weekday = (day: string) => new Date(day).getUTCDay();
    for (const [words, isRight] of [
      ['1', (day: string) => day === dayIn(0)],
      ['tom', (day: string) => day === dayIn(1)],
      ['+3', (day: string) => day === dayIn(3)],
      ['in 2 weeks', (day: string) => day === dayIn(14)],
      ['mon', (day: string) => weekday(day) === 1 && day > dayIn(0) && day <= dayIn(7)],
      ['dec 24', (day: string) => day.endsWith('-12-24') && day >= dayIn(0)],
    ] as const) {
      const saved = page.waitForResponse((one) => one.request().method() === 'PATCH');
      await press(page, 'd');
      await page.getByRole('dialog').getByRole('option', { selected: true }).waitFor();
      await page.keyboard.type(words);
      if (words !== '1') await press(page, 'Enter');
      await saved;
      const { due_on: day } = await ada.api.get(key);
      expect([words, day, isRight(day ?? '')]).toEqual([words, day, true]);
    }
    await press(page, 'd');
    await page.getByRole('dialog').getByLabel('Another day').fill('2020-01-31');
    const late = page.waitForResponse((one) => one.request().method() === 'PATCH');
    await press(page, 'Enter');
    await late;
    await page.goto('/issues?due=overdue');
    await page.getByRole('row', { name: key }).getByText('Overdue since Jan 31, 2020').waitFor();
    expect(await page.getByRole('row', { name: other }).count()).toBe(0);
  });

  it('brings back a draft that was discarded', async () => {
    const { key } = await ada.api.create({ title: 'With a draft' });
    const page = await web.openAs(ada, `/issues/${key}`);
    await heading(page, 'With a draft');
    await press(page, 'e');
    const field = page.getByRole('textbox', { name: 'Description' });
    await field.fill('Sixty kilobytes');
    await page.getByRole('button', { name: 'Discard' }).click();
    await undo(page, 'Draft discarded').click();
    await field.waitFor();
    expect(await field.inputValue()).toBe('Sixty kilobytes');
    await page.getByRole('button', { name: 'Discard' }).click();
    await press(page, 'c');
    await page.getByRole('dialog').getByLabel('Title').fill('A new one');
    await page.getByRole('dialog').getByRole('button', { name: 'Discard' }).click();
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    await press(page, 'Control+z');
    await page.getByRole('dialog').getByText('Draft restored').waitFor();
    expect(await page.getByRole('dialog').getByLabel('Title').inputValue()).toBe('A new one');
  });

  it('takes back a change of many, and leaves what another person has changed since', async () => {
    const keys: string[] = [];
    for (const title of ['Many one', 'Many two', 'Many three'])
      keys.push((await ada.api.create({ title, priority: 'LOW' })).key);
    const [first = '', second = '', third = ''] = keys;
    const page = await web.openAs(ada, '/issues?priority=LOW&q=Many', withoutEvents);
    await page.getByRole('link', { name: 'Many one' }).waitFor();
    await press(page, 'Control+a', 'p', '2');
    await undo(page, 'Priority of 3 issues changed').waitFor();
    await bob.api.update(second, { priority: 'HIGH' });
    await bob.api.update(third, { title: 'Many four' });
    await press(page, 'Control+z');
    await page.getByText(`Not undone: another person has changed ${second} since.`).waitFor();
    await page.getByText('Undone', { exact: true }).waitFor();
    const found = await Promise.all([first, second, third].map((key) => ada.api.get(key)));
    expect(found.map(({ priority }) => priority)).toEqual(['LOW', 'HIGH', 'LOW']);
    expect(found[2]?.title).toBe('Many four');
  });

  it('does not overwrite a status, and its message goes after ten seconds', async () => {
    const { key } = await ada.api.create({ title: 'Moved on' });
    const page = await web.openAs(ada, `/issues?q=${key}&state=all`, async (opened) => {
      await withoutEvents(opened);
      await opened.clock.install();
    });
    await page.getByRole('link', { name: 'Moved on' }).waitFor();
    await press(page, 'j', 's', '2');
    await undo(page, `Status of ${key} changed`).waitFor();
    await bob.api.changeStatus(key, { status: 'RESOLVED' });
    await press(page, 'Control+z');
    await page.clock.runFor(100);
    await page.getByText(`Not undone: another person has changed ${key} since.`).waitFor();
    expect((await ada.api.get(key)).status).toBe('RESOLVED');
    await press(page, 'i');
    await undo(page, `Assignee of ${key} changed`).waitFor();
    await page.clock.runFor(11_000);
    await undo(page, `Assignee of ${key} changed`).waitFor({ state: 'detached' });
    await press(page, 'Control+z');
    await page.clock.runFor(100);
    await page.getByText('Nothing to undo.').waitFor();
    // Times go on while the page is open.
    const row = page.getByRole('row', { name: key });
    await row.getByText('just now').waitFor();
    await page.clock.runFor(200_000);
    await row.getByText('just now').waitFor({ state: 'detached' });
  });
});

describe('labels', () => {
  it('are made, renamed and deleted in the settings', async () => {
    const page = await web.openAs(ada, '/settings/labels');
    await heading(page, 'Labels');
    await page.getByRole('button', { name: 'New label' }).click();
    const form = page.getByRole('dialog');
    await form.getByLabel('Name').fill('urgent');
    await form.getByLabel('Colour').fill('#ff0000');
    await form.getByRole('button', { name: 'Create the label' }).click();
    await page.getByRole('button', { name: 'Edit the label urgent' }).click();
    await form.getByLabel('Name').fill('soon');
    await form.getByRole('button', { name: 'Save' }).click();
    await page.getByRole('button', { name: 'Edit the label soon' }).waitFor();
    await undo(page, 'Label soon changed').click();
    await page.getByRole('button', { name: 'Delete the label urgent' }).click();
    await form.getByRole('button', { name: 'Delete' }).click();
    await page.getByRole('button', { name: 'Edit the label urgent' }).waitFor({ state: 'detached' });
  });
});

it('labels that only some of the chosen issues have are shown so, and can be given to all', async () => {
  for (const name of ['on one', 'on both']) await ada.api.createLabel({ name, color: '#3b82f6' });
  const keys = [
    (await ada.api.create({ title: 'Mixed one', labels: ['on one', 'on both'] })).key,
    (await ada.api.create({ title: 'Mixed two', labels: ['on both'] })).key,
  ];
  const page = await web.openAs(ada, '/issues?q=mixed');
  await page.getByRole('link', { name: 'Mixed two' }).waitFor();
  await press(page, 'Control+a', 'l');
  const option = (name: string) => page.getByRole('dialog').getByRole('option', { name, exact: false });
  const states = async () => [
    await option('on one').getAttribute('aria-checked'),
    await option('on both').getAttribute('aria-checked'),
    await option('on one').locator('.option-check').textContent(),
  ];
  await option('on one').waitFor();
  expect(await states()).toEqual(['mixed', 'true', '–']);
  await option('on one').click();
  expect(await states()).toEqual(['true', 'true', '✓']);
  await undo(page, 'Labels of 1 issue')
    .or(undo(page, `Labels of ${keys[1]} changed`))
    .waitFor();
  expect((await ada.api.get(keys[1] ?? '')).labels.map(({ name }) => name).sort()).toEqual([
    'on both',
    'on one',
  ]);
});

describe('a text', () => {
  it('links known people and issues, and shows a card of them', async () => {
    const { key: other } = await ada.api.create({ title: 'Mentioned issue' });
    const number = other.replace(/\D/g, '');
    const { key } = await ada.api.create({
      title: 'References',
      description: `@bob and @unknown, see ${other}, #${number} and UTF-8, not \`@bob\` or \`${other}\``,
    });
    await ada.api.addComment(key, `**@bob**, again: ${other.toLowerCase()}`);
    const page = await web.openAs(ada, `/issues/${key}`);
    const text = page.locator('.description .markdown');
    await text.getByRole('link', { name: '@bob', exact: true }).waitFor();
    expect(await text.getByRole('link').allTextContents()).toEqual(['@bob', other, `#${number}`]);
    await page.locator('.comment').getByRole('link', { name: '@bob', exact: true }).waitFor();
    await text.getByRole('link', { name: '@bob', exact: true }).hover();
    await page.locator('.reference-card').getByText('Bob Kaplan').waitFor();
    await text.getByRole('link', { name: other, exact: true }).hover();
    await page.locator('.reference-card').getByText('Mentioned issue').waitFor();
    await text.getByRole('link', { name: `#${number}` }).click();
    await heading(page, 'Mentioned issue');
  });

  it('has boxes that can be ticked', async () => {
    const description = 'First\r\n\r\n- [ ] one [ ]\r\n- [x] two\r\n\r\n> - [ ] quoted';
    const { key } = await ada.api.create({ title: 'Boxes', description });
    const { id } = await ada.api.addComment(key, '1. [ ] in a comment');
    const page = await web.openAs(ada, `/issues/${key}`);
    const box = (name: string) => page.getByRole('checkbox', { name });
    await box('quoted').check();
    await page.getByText('changed the description').first().waitFor();
    await box('one').check();
    await page.getByText('changed the description').nth(1).waitFor();
    await box('two').uncheck();
    await page.getByText('changed the description').nth(2).waitFor();
    await box('in a comment').check();
    await page.getByText('changed a comment').waitFor();
    const issue = await ada.api.get(key);
    expect(issue.description.replaceAll('\r\n', '\n')).toBe(
      'First\n\n- [x] one [ ]\n- [ ] two\n\n> - [x] quoted',
    );
    expect(issue.comments?.find((comment) => comment.id === id)?.body).toBe('1. [x] in a comment');
  });
});

describe('a phone', () => {
  it('has large targets and fields, and opens no keyboard for a short list', async () => {
    const { key } = await ada.api.create({ title: 'On a train' });
    const { page, close } = await web.open({
      viewport: { width: 375, height: 700 },
      hasTouch: true,
      isMobile: true,
    });
    await page.goto(`/issues/${key}`);
    await page.getByLabel('E-mail').fill(ada.email);
    await page.getByLabel('Password').fill('a password of the web tests');
    await page.getByRole('button', { name: 'Sign in' }).tap();
    await heading(page, 'On a train');
    await page.getByRole('heading', { name: 'Links' }).waitFor();
    const small =
      await page.evaluate(`[...document.querySelectorAll('button, select, input, textarea, summary')]
      .filter((one) => one.getClientRects().length > 0)
      .map((one) => [one.getBoundingClientRect().height, parseFloat(getComputedStyle(one).fontSize), one])
      .filter(([height, size, one]) => height < 40 || (one.matches('input, select, textarea') && size < 16))
      .map(([height, size, one]) => one.outerHTML.slice(0, 80) + height + ' ' + size)`);
    expect(small).toEqual([]);
    await page.getByRole('button', { name: 'Priority: Medium' }).tap();
    await page.getByRole('option', { name: 'High' }).waitFor();
    expect(await page.evaluate('document.activeElement.tagName')).toBe('DIV');
    await page.getByRole('option', { name: 'High' }).tap();
    await page.getByRole('button', { name: 'Priority: High' }).waitFor();
    await close();
  });
});

it('forced colours and paper say the priority, the status and what is blocked; reduced motion moves nothing', async () => {
  const [blocker = '', blocked = ''] = await Promise.all(
    ['Media one', 'Media two'].map(async (title) => (await ada.api.create({ title, priority: 'LOW' })).key),
  );
  await ada.api.putRelation(blocked, { kind: 'blocks', direction: 'incoming', issue: blocker });
  const page = await web.openAs(ada, '/issues?q=media&priority=LOW');
  const peek = async () => {
    await page.locator('.title-link', { hasText: 'Media two' }).focus();
    await page.keyboard.press('Space');
    await page.getByRole('dialog').waitFor();
  };
  const places: [path: string, item: string, open?: () => Promise<void>][] = [
    ['/issues?q=media&priority=LOW', '.table-body .row'],
    ['/board?q=media', '[data-card]'],
    ['/issues?q=media', '.peek', peek],
  ];
  for (const [path, item, open] of places) {
    await page.emulateMedia({ forcedColors: 'none', media: 'screen', reducedMotion: 'reduce' });
    await page.goto(path);
    await page.locator('.title-link', { hasText: 'Media two' }).waitFor();
    await open?.();
    const shown = page.locator(item, { hasText: 'Media two' });
    const moving = `[...document.querySelectorAll('*')].filter((one) => {
      const { transitionDuration, animationName } = getComputedStyle(one);
      return animationName !== 'none' || parseFloat(transitionDuration) > 0;
    }).map((one) => one.className)`;
    expect([path, await page.evaluate(moving)]).toEqual([path, []]);
    for (const media of [{ forcedColors: 'active' }, { forcedColors: 'none', media: 'print' }] as const) {
      await page.emulateMedia(media);
      const box = await shown.locator('.priority > span').boundingBox();
      expect([path, media, (box?.width ?? 0) > 20]).toEqual([path, media, true]);
      expect(await shown.getByText('Blocked', { exact: true }).isVisible()).toBe(true);
    }
  }
  await page.emulateMedia({ forcedColors: 'active', media: 'screen' });
  await page.goto(`/issues/${blocked}`);
  const side = page.locator('.relation-side', { hasText: 'Blocked by' });
  await side.getByRole('link', { name: blocker }).waitFor();
  expect((await side.locator('.status').boundingBox())?.width).toBeGreaterThan(10);
});
