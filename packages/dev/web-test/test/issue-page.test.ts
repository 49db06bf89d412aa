import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { eventually } from '@tessera/stack/eventually';
import { type FakeTracker, startGitea } from '@tessera/trackers/fakes';
import { pageProblems } from '../src/page-problems.ts';
import { type Page, type Person, signIn, startWeb, type Web } from '../src/web.ts';

let web: Web;
let tracker: FakeTracker;
let ada: Person;
let bob: Person;

beforeAll(async () => {
  tracker = await startGitea({ project: 'tessera/issues' });
  web = await startWeb({
    issues: {
      TRACKER_PROVIDER: 'gitea',
      TRACKER_URL: tracker.url,
      TRACKER_PROJECT: 'tessera/issues',
      TRACKER_TOKEN: tracker.token,
      TRACKER_ALLOW_HTTP: 'on',
      TRACKER_WRITE_INTERVAL_MS: '0',
      SYNC_WORKERS: '0',
    },
  });
  ada = await web.createPerson('ada', 'Ada Lovelace', true);
  bob = await web.createPerson('bob', 'Bob Kaplan');
});

afterEach(() => web.closePages());

afterAll(async () => {
  const exitCodes = await web?.stop();
  await tracker?.close();
  expect(exitCodes).toEqual([0, 0]);
  expect(web.problems(/status of (?:409|422|502)/)).toEqual([]);
});

describe('comments', () => {
  it('are edited and deleted by their author, and not by others', async () => {
    const { key } = await ada.api.create({ title: 'With comments' });
    await ada.api.addComment(key, 'Of Ada');
    await bob.api.addComment(key, 'Of Bob');
    const page = await web.openAs(bob, `/issues/${key}`);
    const [adas, bobs] = ['Of Ada', 'Of Bob'].map((hasText) => page.locator('.comment', { hasText }));
    await adas?.waitFor();
    expect(await adas?.getByRole('button').count()).toBe(0);
    await bobs?.getByRole('button', { name: 'Edit the entry' }).click();
    const field = page.getByLabel('Edited text');
    await field.fill('Of Bob, better');
    await page.getByText('Draft saved').waitFor();
    await field.press('Control+Enter');
    const edited = page.locator('.comment', { hasText: 'Of Bob, better' });
    await edited.getByText('edited').waitFor();
    await edited.getByRole('button', { name: 'Delete the entry' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click();
    await edited.waitFor({ state: 'detached' });
    await page.getByText('deleted a comment').waitFor();
    expect((await ada.api.get(key)).comments_count).toBe(1);
  });

  it('mention people, who are completed while typing', async () => {
    const { key } = await ada.api.create({ title: 'With mentions' });
    const page = await web.openAs(ada, `/issues/${key}`);
    const field = page.getByLabel('Comment');
    await field.pressSequentially('Please ask @bo');
    const list = page.getByRole('listbox', { name: 'People to mention' });
    await list.getByRole('option', { name: 'Bob Kaplan' }).waitFor();
    await field.press('Enter');
    await list.waitFor({ state: 'detached' });
    expect(await field.inputValue()).toBe('Please ask @bob ');
    // The next key comes before another frame: it meets the people of the text with the last letter, or none.
    await field.press('@');
    await list.getByRole('option', { name: 'Ada Lovelace' }).waitFor();
    await page.evaluate(`(async () => {
      document.execCommand('insertText', false, 'b');
      await Promise.resolve();
      const event = new KeyboardEvent('keydown', { key: 'Enter', bubbles: true, cancelable: true });
      document.activeElement.dispatchEvent(event);
    })()`);
    expect((await field.inputValue()).trimEnd()).toBe('Please ask @bob @bob');
    await field.fill('Please ask @bob ');
    await field.pressSequentially('today. mail@example');
    expect(await list.count()).toBe(0);
    await field.press('Control+Enter');
    await page.locator('.comment', { hasText: 'Please ask @bob today.' }).waitFor();
    const [comment] = (await ada.api.get(key)).comments ?? [];
    expect(comment?.mentions.map(({ username }) => username)).toEqual(['bob']);
  });
});

describe('a text', () => {
  it('gets bold, italic and linked words and the next items of lists by keys, and the numbers of issues after #', async () => {
    const { key } = await ada.api.create({ title: 'Written by keys' });
    const named = await ada.api.create({ title: 'Nightingale sings' });
    const page = await web.openAs(ada, `/issues/${key}`);
    const field = page.getByLabel('Comment');
    const type = (one: string) => field.press(one);
    await field.pressSequentially('old');
    for (const one of ['Control+a', 'Control+b', 'Control+i']) await type(one);
    expect(await field.inputValue()).toBe('**_old_**');
    for (const one of ['Control+i', 'Control+b']) await type(one);
    expect(await field.inputValue()).toBe('old');
    await type('Control+k');
    await field.pressSequentially('https://example.com/a');
    expect(await field.inputValue()).toBe('[old](https://example.com/a)');
    // It is undone as typing is.
    await field.fill('');
    await field.pressSequentially('- [x] one');
    await type('Enter');
    await field.pressSequentially('two');
    await type('Enter');
    await type('Enter');
    await field.pressSequentially('9. nine');
    await type('Enter');
    expect(await field.inputValue()).toBe('- [x] one\n- [ ] two\n9. nine\n10. ');
    await type('Control+z');
    expect(await field.inputValue()).toBe('- [x] one\n- [ ] two\n9. nine');
    await field.fill('');
    await field.pressSequentially('See #nighting');
    const list = page.getByRole('listbox', { name: 'Issues to name' });
    await list.getByRole('option', { name: named.key }).waitFor();
    await type('Enter');
    await list.waitFor({ state: 'detached' });
    expect(await field.inputValue()).toBe(`See #${named.number} `);
    await type('Control+Enter');
    await page
      .locator('.comment')
      .getByRole('link', { name: `#${named.number}` })
      .waitFor();
    // The newest comment, then what is selected.
    await page.keyboard.press('r');
    expect(await field.inputValue()).toBe(`> See #${named.number}\n\n`);
    await page.keyboard.type('Yes');
    await page.keyboard.press('Control+Enter');
    await page.locator('.comment blockquote').waitFor();
    await page.evaluate(`getSelection().selectAllChildren(document.querySelector('.comment blockquote'))`);
    await page.keyboard.press('r');
    expect(await field.inputValue()).toBe(`> See #${named.number}\n\n`);
  });
});

describe('an issue', () => {
  it('shows what changed in a text, line by line', async () => {
    const { key } = await ada.api.create({ title: 'Texts', description: 'First\nSecond\nThird' });
    await ada.api.update(key, { description: 'First\nAnother\nThird' });
    const page = await web.openAs(bob, `/issues/${key}`);
    await page.getByText('Show the texts').click();
    expect(await page.locator('.diff del').allTextContents()).toEqual([expect.stringContaining('Second')]);
    expect(await page.locator('.diff ins').allTextContents()).toEqual([expect.stringContaining('Another')]);
    expect(await page.locator('.diff .diff-same').count()).toBe(2);
  });

  it('is watched and no longer watched', async () => {
    const { key } = await ada.api.create({ title: 'Watched' });
    const page = await web.openAs(bob, `/issues/${key}`);
    await page.getByRole('button', { name: 'Watch', exact: true }).click();
    await page.getByRole('button', { name: 'Stop watching' }).waitFor();
    await page.reload();
    await page.getByRole('button', { name: 'Stop watching' }).click();
    await page.getByRole('button', { name: 'Watch', exact: true }).waitFor();
  });

  it('moves to another project, which further filters find, and whose former key leads to it', async () => {
    const page = await web.openAs(bob, '/issues');
    await ada.api.createProject({ key: 'APP', name: 'Mobile app', visibility: 'everyone' });
    await ada.api.createProject({ key: 'OLD', name: 'Archived', visibility: 'everyone' });
    await ada.api.updateProject('OLD', { is_archived: true });
    const { key, number } = await bob.api.create({ title: 'Belongs to the app' });
    await page.goto(`${new URL(page.url()).origin}/issues/${key}`);
    await page.getByRole('button', { name: 'Move to project…' }).click();
    const dialog = page.getByRole('dialog', { name: `Move ${key} to a project` });
    expect(await dialog.getByRole('option').allTextContents()).toEqual(['APP Mobile app']);
    await dialog.getByRole('option').click();
    await page.waitForURL(`**/issues/APP-${number}`);
    await page.getByText(`Moved to APP-${number}`).waitFor();
    await page.getByText('changed the project from ISS to APP').waitFor();
    await page.goBack();
    await page.goto(`${new URL(page.url()).origin}/issues/${key}`);
    await page.waitForURL(`**/issues/APP-${number}`);

    const list = await web.openAs(ada, '/issues');
    await list.getByRole('button', { name: 'More' }).click();
    await list.getByRole('dialog').getByRole('button', { name: 'Project' }).click();
    await list.getByRole('option', { name: 'APP Mobile app' }).click();
    await list.waitForURL('**/issues?project=APP');
    await list.keyboard.press('Escape');
    // The whole list is shown until the filtered one arrives.
    const rows = (name: string) => list.getByRole('row', { name }).count();
    await eventually(
      async () => [await rows('ISS-'), await rows(`APP-${number}`)],
      ([others, own]) => others === 0 && own === 1,
    );
  });

  it('is edited by a click on its texts', async () => {
    const { key } = await ada.api.create({
      title: 'Clicked',
      description: 'See [the page](https://example.com/page).',
    });
    const page = await web.openAs(ada, `/issues/${key}`);
    const description = page.locator('.description');
    await description.getByText('See').click();
    await page.getByRole('textbox', { name: 'Description' }).waitFor();
    await page.keyboard.press('Escape');
    await page.getByRole('button', { name: 'Edit description' }).waitFor();
    await page.getByRole('heading', { level: 1 }).click();
    await page.getByLabel('Title').fill('Clicked twice');
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { level: 1, name: 'Clicked twice' }).waitFor();
  });

  it('shows changes of a person in a row as one, with the newest as it is', async () => {
    const { key } = await ada.api.create({ title: 'Run' });
    for (const title of ['Run 1', 'Run 2']) await ada.api.update(key, { title });
    await ada.api.update(key, { priority: 'HIGH' });
    await ada.api.update(key, { title: 'Run 3' });
    const page = await web.openAs(ada, `/issues/${key}`);
    await page.getByText('changed the title and priority').click();
    await page.getByText('changed the title from “Run 1” to “Run 2”').waitFor();
    await page.getByText('changed the title from “Run 2” to “Run 3”').waitFor();
  });

  it('gets and loses links, and refuses a URL that is none', async () => {
    const { key } = await ada.api.create({ title: 'Linked' });
    const page = await web.openAs(ada, `/issues/${key}`);
    await page.getByRole('button', { name: 'Add a link' }).click();
    const form = page.getByRole('dialog', { name: 'New link' });
    await form.getByLabel('Type').selectOption('Invoice');
    await form.getByLabel('Number or URL').fill('ftp://example.com/17');
    await form.getByRole('button', { name: 'Add the link' }).click();
    await form.getByText('Only http and https URLs can be opened.').waitFor();
    await form.getByLabel('Number or URL').fill('https://example.com/17');
    await form.getByText('Relation and title').click();
    await form.getByLabel('Title').fill('The invoice');
    await form.getByRole('button', { name: 'Add the link' }).click();
    const link = page.getByRole('link', { name: 'The invoice' });
    await link.waitFor();
    expect(await link.getAttribute('href')).toBe('https://example.com/17');
    expect((await ada.api.get(key)).links).toMatchObject([{ type: 'invoice', ref: '17' }]);
    await page.getByRole('button', { name: 'Remove the link The invoice' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Remove' }).click();
    await link.waitFor({ state: 'detached' });
    expect((await ada.api.get(key)).links).toEqual([]);
  });
});

describe('relations', () => {
  const panel = (page: Page) => page.getByRole('region', { name: 'Relations', exact: true });
  const openDialog = async (page: Page, name: string, ...keys: string[]) => {
    await panel(page).getByRole('button', { name: 'Add a relation' }).waitFor();
    for (const key of keys) await page.keyboard.press(key);
    const dialog = page.getByRole('dialog', { name });
    await dialog.getByRole('combobox', { name: 'Search: Issue' }).waitFor();
    return dialog;
  };

  it('are added by keys, found by words or number, undone, and seen at once in another browser', async () => {
    const [own, other] = [
      await ada.api.create({ title: 'The wagon is stuck' }),
      await ada.api.create({ title: 'The locomotive is missing' }),
    ];
    const page = await web.openAs(ada, `/issues/${own.key}`);
    const reader = await web.openAs(bob, `/issues/${other.key}`);
    await panel(reader).getByText('None', { exact: true }).waitFor();
    await page.bringToFront();
    let dialog = await openDialog(page, `Relate ${own.key}`, 'M', 'M');
    await page.keyboard.type('locomotive');
    await dialog.getByRole('option', { name: other.key }).waitFor();
    await page.keyboard.press('Enter');
    await dialog.waitFor({ state: 'detached' });
    const duplicate = panel(page).getByRole('link', { name: other.key });
    await duplicate.waitFor();
    await page.getByText(`${own.key} is a duplicate of ${other.key}`, { exact: true }).waitFor();
    await panel(reader).getByRole('heading', { name: 'Duplicates' }).waitFor();
    await panel(reader).getByRole('link', { name: own.key }).waitFor();
    // Bob may not change the issue.
    expect(await panel(reader).getByRole('button').count()).toBe(0);
    await page.bringToFront();
    await page.keyboard.press('Control+z');
    await duplicate.waitFor({ state: 'detached' });
    await panel(reader).getByText('None', { exact: true }).waitFor();
    expect(await ada.api.relations(own.key)).toEqual([]);

    // By its number; the list waits for what was typed.
    await page.bringToFront();
    dialog = await openDialog(page, `Relate ${own.key}`, 'M', 'B');
    await page.keyboard.type(`${other.number}`);
    await page.keyboard.press('Enter');
    await dialog.waitFor({ state: 'detached' });
    await panel(page).getByRole('heading', { name: 'Blocked by' }).waitFor();
    // The status of the other issue is that of the moment.
    await ada.api.changeStatus(other.key, { status: 'RESOLVED' });
    await panel(page)
      .getByRole('link', { name: `Resolved ${other.key}` })
      .waitFor();
    await panel(page)
      .getByRole('button', { name: `Remove: is blocked by ${other.key}` })
      .click();
    await panel(page).getByText('None', { exact: true }).waitFor();
    await page.getByText(`Relation to ${other.key} removed`, { exact: true }).waitFor();
    await page.keyboard.press('Control+z');
    await panel(page).getByRole('link', { name: other.key }).click();
    await page.getByRole('heading', { level: 1, name: 'The locomotive is missing' }).waitFor();
    await panel(page).getByRole('heading', { name: 'Blocks' }).waitFor();
  });

  it('show the progress of sub-issues, and say in the dialog why one is refused', async () => {
    const own = await ada.api.create({ title: 'The whole train' });
    const parts: string[] = [];
    for (const title of ['Wheel one', 'Wheel two', 'Wheel three']) {
      const { key } = await ada.api.create({ title });
      await ada.api.putRelation(own.key, { kind: 'parent', issue: key });
      parts.push(key);
    }
    await ada.api.changeStatus(parts[1] ?? '', { status: 'RESOLVED' });
    const page = await web.openAs(ada, `/issues/${parts[0]}`);
    await panel(page).getByRole('heading', { name: 'Parent' }).waitFor();
    const dialog = await openDialog(page, `Relate ${parts[0]}`, 'M', 'S');
    await page.keyboard.type('whole train');
    await dialog.getByRole('option', { name: own.key }).click();
    await dialog.getByText(`${own.key} was not added. The relation would lead back`).waitFor();
    await dialog.getByLabel(/is to the other issue$/).selectOption('is related to');
    await dialog.getByRole('option', { name: own.key }).click();
    await dialog.waitFor({ state: 'detached' });
    await panel(page).getByRole('heading', { name: 'Related to' }).waitFor();
    await panel(page).getByRole('link', { name: own.key }).first().click();
    await panel(page).getByText('1 of 3 done', { exact: true }).waitFor();
    expect(await panel(page).getByRole('link').count()).toBe(4);
  });

  it('to a parent replace another one after a question, and give it back', async () => {
    const keys: string[] = [];
    for (const title of ['The first whole', 'The second whole', 'The only part'])
      keys.push((await ada.api.create({ title })).key);
    const [first = '', second = '', part = ''] = keys;
    await ada.api.putRelation(first, { kind: 'parent', issue: part });
    const page = await web.openAs(ada, `/issues/${part}`);
    await panel(page).getByRole('link', { name: first }).waitFor();
    const parents = async () => (await ada.api.relations(part)).map(({ issue }) => issue.key);
    const ask = async (shown: string, key: string, words: string) => {
      const dialog = await openDialog(page, `Relate ${shown}`, 'M', key);
      await page.keyboard.type(words);
      await dialog.getByRole('listbox').getByRole('option').first().waitFor();
      await page.keyboard.press('Enter');
      const question = page.getByRole('dialog', { name: 'Another parent' });
      await question.getByText(`${part} is a part of ${first} “The first whole”`).waitFor();
      expect(await pageProblems(page)).toEqual([]);
      return question;
    };
    const refused = await ask(part, 'P', 'second whole');
    await refused.getByRole('button', { name: `Keep ${first}` }).click();
    await page.keyboard.press('Escape');
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    expect(await parents()).toEqual([first]);
    await ask(part, 'P', 'second whole');
    await page.keyboard.press('Enter');
    await panel(page).getByRole('link', { name: second }).waitFor();
    expect(await parents()).toEqual([second]);
    await page.keyboard.press('Control+z');
    await panel(page).getByRole('link', { name: first }).waitFor();
    expect(await parents()).toEqual([first]);
    // From the page of the new parent.
    await page.goto(`/issues/${second}`);
    await panel(page).getByText('None', { exact: true }).waitFor();
    await ask(second, 'S', 'only part');
    await page.keyboard.press('Enter');
    await panel(page).getByRole('link', { name: part }).waitFor();
    expect(await parents()).toEqual([second]);
  });
});

describe('an issue of others', () => {
  it('is read-only but for comments and links, until the user takes it', async () => {
    const { key } = await ada.api.create({ title: 'Of Ada', description: 'Text' });
    await ada.api.putLink(key, { type: 'invoice', ref: '1', title: 'Of her' });
    const page = await web.openAs(bob, `/issues/${key}`);
    await page.getByText('The reporter, the assignee and staff change this issue.').waitFor();
    await page.getByRole('heading', { name: 'Links' }).waitFor();
    expect(await page.getByRole('button', { name: 'Priority: Medium' }).isDisabled()).toBe(true);
    expect(await page.getByRole('button', { name: /^(?:Edit|Remove|Sync now)/ }).count()).toBe(0);
    await page.getByRole('button', { name: 'Add a link' }).click();
    const form = page.getByRole('dialog', { name: 'New link' });
    expect(await form.getByLabel('Type').locator('option').allTextContents()).toEqual([
      'Helpdesk ticket',
      'Entity',
      'Invoice',
    ]);
    await form.getByLabel('Number or URL').fill('T-1');
    await form.getByRole('button', { name: 'Add the link' }).click();
    await page.getByRole('button', { name: 'Remove the link T-1' }).waitFor();
    // The link is there before the dialog is closed, which returns the focus.
    await form.waitFor({ state: 'hidden' });
    expect(await page.getByRole('button', { name: 'Remove the link Of her' }).count()).toBe(0);
    await page.getByLabel('Comment').fill('Readers comment.');
    await page.getByLabel('Comment').press('Control+Enter');
    await page.locator('.comment', { hasText: 'Readers comment.' }).waitFor();
    const saved = page.waitForResponse((response) => response.request().method() === 'PATCH');
    await page.getByRole('button', { name: 'Assign to me' }).click();
    await page.getByRole('button', { name: 'Edit title' }).waitFor();
    await saved;
    expect((await ada.api.get(key)).assignee?.id).toBe(bob.id);
  });
});

describe('the sync panel', () => {
  const panel = (page: Page) => page.getByRole('region', { name: 'Tracker', exact: true });

  it('syncs, shows a failure with its next attempt, and detaches and attaches', async () => {
    const { key } = await ada.api.create({ title: 'To the tracker' });
    const page = await web.openAs(ada, `/issues/${key}`);
    await panel(page).getByText('Not synced').waitFor();
    await panel(page).getByRole('button', { name: 'Sync now' }).click();
    await panel(page).getByText('Synced', { exact: true }).waitFor();
    const [remote] = tracker.issues();
    expect(remote?.title).toBe('To the tracker');
    tracker.fail({ kind: 'status', status: 503, times: 20 });
    await ada.api.update(key, { title: 'Changed here' });
    await panel(page).getByRole('button', { name: 'Sync now' }).click();
    await panel(page).getByText('Next attempt').waitFor();
    await panel(page).getByText('tracker_unavailable', { exact: true }).waitFor();
    tracker.clearFaults();
    await panel(page).getByRole('button', { name: 'Detach' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Detach' }).click();
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    await panel(page).getByLabel('Number in the tracker').fill('99999');
    await panel(page).getByRole('button', { name: 'Attach', exact: true }).click();
    await panel(page).locator('form .form-problem').filter({ hasText: /\w/ }).first().waitFor();
    await panel(page).getByLabel('Number in the tracker').fill(`${remote?.number}`);
    await panel(page).getByRole('button', { name: 'Attach', exact: true }).click();
    await panel(page).getByRole('button', { name: 'Detach' }).waitFor();
    expect((await ada.api.get(key)).external?.id).toBe(`${remote?.number}`);
  });

  it('shows a conflict to all, and lets staff decide', async () => {
    const { key } = await ada.api.create({ title: 'In conflict' });
    await ada.api.sync(key);
    const number = tracker.issues().find(({ title }) => title === 'In conflict')?.number ?? 0;
    tracker.editIssue(number, { title: 'Changed there' });
    await ada.api.update(key, { title: 'Changed here' });
    await ada.api.sync(key);
    const reader = await web.openAs(bob, `/issues/${key}`);
    const conflict = (page: Page) => page.getByRole('region', { name: 'Conflict of the title' });
    await conflict(reader).getByText('Staff decide which value is kept.').waitFor();
    const page = await web.openAs(ada, `/issues/${key}`);
    await conflict(page).waitFor();
    expect(await conflict(page).locator('pre').allTextContents()).toEqual([
      'In conflict',
      'Changed here',
      'Changed there',
    ]);
    await conflict(page).getByRole('button', { name: 'Take theirs' }).click();
    await page.getByRole('heading', { level: 1, name: 'Changed there' }).waitFor();
    await conflict(page).waitFor({ state: 'detached' });
  });
});

it.each([1280, 320])('the issue page is accessible in both themes, %i pixels wide', async (width) => {
  const { key } = await ada.api.create({ title: 'Accessible', description: 'One' });
  await ada.api.sync(key);
  const number = tracker.issues().at(-1)?.number ?? 0;
  tracker.editIssue(number, { title: 'There' });
  await ada.api.update(key, { title: 'Here', description: 'Two' });
  await ada.api.sync(key);
  await ada.api.addComment(key, 'A comment');
  await ada.api.putLink(key, { type: 'invoice', ref: '2024-17', url: 'https://example.com/17' });
  for (const kind of ['parent', 'blocks', 'duplicate'] as const)
    for (const direction of ['outgoing', 'incoming'] as const) {
      const issue = (await ada.api.create({ title: `It is ${direction} by ${kind}, and has a long title` }))
        .key;
      await ada.api.putRelation(key, { kind, direction, issue });
    }
  const { page, close } = await web.open({ bypassCSP: true, viewport: { width, height: 800 } });
  const check = async (state: string) =>
    expect({ state, problems: await pageProblems(page) }).toEqual({ state, problems: [] });
  await signIn(page, ada, `/issues/${key}`);
  await page.getByRole('region', { name: 'Conflict of the title' }).waitFor();
  await page.getByText('Show the texts').first().click();
  await check('conflict');
  await page.getByLabel('Comment').pressSequentially('@bo');
  await page.getByRole('listbox', { name: 'People to mention' }).waitFor();
  await check('mentions');
  await page.getByRole('button', { name: 'Edit the entry' }).click();
  await page.getByLabel('Edited text').waitFor();
  await check('edited comment');
  await page.getByRole('button', { name: 'Add a link' }).click();
  await page.getByRole('dialog', { name: 'New link' }).waitFor();
  await check('new link');
  await page.keyboard.press('Escape');
  await page.getByRole('button', { name: 'Add a relation' }).click();
  await page.getByRole('combobox', { name: 'Search: Issue' }).fill('outgoing');
  await page.getByRole('listbox', { name: 'Issue' }).getByRole('option').first().waitFor();
  await check('new relation');
  await close();
});

describe('the texts and fields', () => {
  it('sends a change after the response to the one before, whose version it carries', async () => {
    const { key: own } = await ada.api.create({ title: 'Two quick changes' });
    const page = await web.openAs(ada, `/issues/${own}`);
    const versions: number[] = [];
    let release = () => {};
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    await page.route('**/app/api/v1/issues/*/', async (route) => {
      if (route.request().method() === 'PATCH') {
        versions.push(route.request().postDataJSON().version);
        await held;
      }
      await route.continue();
    });
    await page.getByRole('button', { name: 'Priority: Medium' }).click();
    await page.getByRole('option', { name: 'High' }).click();
    await page.getByRole('button', { name: 'Assignee: No one' }).click();
    await page.getByRole('option', { name: 'Ada Lovelace' }).click();
    await page.getByRole('button', { name: 'Assignee: Ada Lovelace' }).waitFor();
    await page.getByRole('button', { name: 'Priority: High' }).waitFor();
    expect(versions).toEqual([1]);
    release();
    await page.getByText('changed the assignee from no one to Ada Lovelace').waitFor();
    expect(versions).toEqual([1, 2]);
    await page.getByRole('button', { name: 'Priority: High' }).waitFor();
  });

  it('is changed after a change in the list whose response is late, without a conflict', async () => {
    const { key: own } = await ada.api.create({ title: 'Late response' });
    const page = await web.openAs(ada, `/issues?q=${own}`);
    let release = () => {};
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    await page.route('**/app/api/v1/issues/*/', async (route) => {
      if (route.request().method() === 'PATCH') await held;
      await route.continue();
    });
    await page.getByRole('link', { name: 'Late response' }).waitFor();
    await page.keyboard.press('j');
    await page.keyboard.press('i');
    await page.keyboard.press('o');
    await page.getByRole('button', { name: 'Assignee:' }).click();
    await page.getByRole('option', { name: 'Bob Kaplan' }).click();
    await page.getByRole('button', { name: 'Assignee: Bob Kaplan' }).waitFor();
    release();
    await page.getByText('changed the assignee from Ada Lovelace to Bob Kaplan').waitFor();
    expect(await page.getByRole('region', { name: /^Another person/ }).count()).toBe(0);
  });

  it('shows lists of tasks and the alignment of tables', async () => {
    const description = '- [x] done\n- [ ] open\n\n3. third\n\n| a | b |\n|---|--:|\n| 1 | 2 |';
    const { key: own } = await ada.api.create({ title: 'Tasks', description });
    const page = await web.openAs(ada, `/issues/${own}`);
    const tasks = page.locator('.markdown').getByRole('checkbox', { disabled: false });
    await tasks.nth(1).waitFor();
    expect([await tasks.first().isChecked(), await tasks.nth(1).isChecked()]).toEqual([true, false]);
    await page.locator('.markdown ol[start="3"]').waitFor();
    await page.locator('.markdown td[align=right]').waitFor();
  });
});
