import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { holdChanges, type Page, type Person, type Route, signIn, startWeb, type Web } from '../src/web.ts';

let web: Web;
let ada: Person;
let page: Page;
let problems: string[];
let close: () => Promise<unknown>;

beforeAll(async () => {
  web = await startWeb();
  ada = await web.createPerson('ada', 'Ada Lovelace');
  ({ page, problems, close } = await web.open());
  await signIn(page, ada);
});

afterAll(async () => {
  await close?.();
  expect(await web?.stop()).toEqual([0, 0]);
  // Chromium reports conflicts, and what the tests refuse and cut.
  expect(problems.filter((problem) => !/409|503|ERR_FAILED/.test(problem))).toEqual([]);
});

/** Answers the next changes instead of the service. Returns their idempotency keys. */
async function answerChanges(answer: (route: Route) => Promise<void>): Promise<(string | undefined)[]> {
  const keys: (string | undefined)[] = [];
  await page.route('**/app/api/v1/issues/**', async (route) => {
    if (route.request().method() === 'GET') return route.continue();
    keys.push(route.request().headers()['idempotency-key']);
    await answer(route);
  });
  return keys;
}

/** The service has handled the request, and its response does not arrive. */
const loseResponse = async (route: Route) => {
  await route.fetch();
  await route.abort();
};

const refuse = (route: Route) =>
  route.fulfill({
    status: 503,
    contentType: 'application/problem+json',
    json: { status: 503, code: 'database_unavailable', detail: 'The database is not available.' },
  });

describe('what is typed while a text is sent', () => {
  it.each([
    ['the comment', 'Comment', undefined],
    ['the title', 'Title', 'Edit title'],
  ])('stays in the field of %s, and is sent next', async (_name, label, button) => {
    const { key } = await ada.api.create({ title: 'Slow train' });
    await page.goto(`/issues/${key}`);
    if (button !== undefined) await page.getByRole('button', { name: button }).click();
    const field = page.getByLabel(label, { exact: true });
    await field.fill('First part');
    const release = await holdChanges(page);
    const saved = page.waitForResponse((response) => response.request().method() !== 'GET');
    await field.press(label === 'Title' ? 'Enter' : 'Control+Enter');
    await field.fill('First part, and more');
    release();
    expect((await saved).ok()).toBe(true);
    await page.unrouteAll();
    const sent =
      label === 'Title'
        ? page.getByRole('heading', { level: 1, name: 'First part', exact: true })
        : page.locator('.comment', { hasText: 'First part' });
    await sent.waitFor();
    expect(await field.inputValue()).toBe('First part, and more');
    await page.reload();
    await page.getByText('Draft restored').waitFor();
    expect(await field.inputValue()).toBe('First part, and more');
    await field.press(label === 'Title' ? 'Enter' : 'Control+Enter');
    const next =
      label === 'Title'
        ? page.getByRole('heading', { level: 1, name: 'First part, and more' })
        : page.locator('.comment', { hasText: 'First part, and more' });
    await next.waitFor();
  });
});

it('labels that are chosen one after the other, also if the issue is read before the first is saved', async () => {
  const staff = await web.createPerson('sue', 'Sue Staff', true);
  for (const name of ['alpha', 'beta']) await staff.api.createLabel({ name, color: '#3b82f6' });
  const { key } = await ada.api.create({ title: 'Labelled twice' });
  await page.goto(`/issues/${key}`);
  await page.getByRole('button', { name: 'Labels: None' }).waitFor();
  const release = await holdChanges(page);
  await page.keyboard.press('l');
  const options = page.getByRole('dialog').getByRole('option');
  await options.nth(1).waitFor();
  await page.keyboard.press('1');
  await page.getByRole('button', { name: 'Labels: alpha' }).waitFor();
  const read = page.waitForResponse((one) => new URL(one.url()).pathname.endsWith(`/api/v1/issues/${key}/`));
  await ada.api.addComment(key, 'Meanwhile');
  await (await read).finished();
  await page.locator('.comment', { hasText: 'Meanwhile' }).waitFor();
  await page.keyboard.press('2');
  await page.keyboard.press('Escape');
  release();
  await page.getByRole('button', { name: /^Labels: alpha ?beta$/ }).waitFor();
  await page.waitForFunction(`document.querySelectorAll('.properties .label').length === 2`);
  await page.unrouteAll();
  await page.getByText('Undo').first().waitFor();
  expect((await ada.api.get(key)).labels.map(({ name }) => name)).toEqual(['alpha', 'beta']);
});

it('a conflict of the title leaves the draft of the description', async () => {
  const { key } = await ada.api.create({ title: 'Two drafts' });
  await page.goto(`/issues/${key}`);
  await page.getByRole('button', { name: 'Edit description' }).click();
  const description = page.getByRole('textbox', { name: 'Description' });
  await description.fill('A long text');
  await page.getByRole('button', { name: 'Edit title' }).click();
  await page.getByLabel('Title', { exact: true }).fill('Mine');
  await ada.api.update(key, { title: 'Theirs' });
  await page.getByLabel('Title', { exact: true }).press('Enter');
  await page.getByRole('button', { name: 'Take theirs' }).click();
  await page.getByLabel('Title', { exact: true }).waitFor({ state: 'detached' });
  expect(await description.inputValue()).toBe('A long text');
  await page.reload();
  await page.getByText('Draft restored').waitFor();
  expect(await description.inputValue()).toBe('A long text');
});

it('"Save mine" saves what was typed after the conflict was shown', async () => {
  const { key } = await ada.api.create({ title: 'Before' });
  await page.goto(`/issues/${key}`);
  await page.getByRole('button', { name: 'Edit title' }).click();
  const title = page.getByLabel('Title', { exact: true });
  await title.fill('Mine');
  await ada.api.update(key, { title: 'Theirs' });
  await title.press('Enter');
  const panel = page.getByRole('region', { name: 'Another person has changed the title' });
  await panel.waitFor();
  await panel.getByRole('button', { name: 'Edit mine' }).click();
  await page.locator('input:focus').waitFor();
  await title.press('Enter');
  await panel.waitFor();
  await title.fill('Mine, and more');
  await panel.getByText('Mine, and more').waitFor();
  await panel.getByRole('button', { name: 'Save mine' }).click();
  // The editor closes after the response.
  await page.locator('[aria-label="Edit title"]:focus').waitFor();
  expect((await ada.api.get(key)).title).toBe('Mine, and more');
});

it('a crash of the tab leaves the text for the next tab', async () => {
  const { key } = await ada.api.create({ title: 'Crash' });
  const tab = await page.context().newPage();
  await tab.goto(`/issues/${key}`);
  await tab.getByLabel('Comment', { exact: true }).fill('Typed before the crash');
  await tab.getByText('Draft saved').waitFor();
  const devtools = await page.context().newCDPSession(tab);
  const crashed = tab.waitForEvent('crash');
  devtools.send('Page.crash').catch(() => undefined);
  await crashed;
  await page.goto(`/issues/${key}`);
  await page.getByText('Draft restored').waitFor();
  expect(await page.getByLabel('Comment', { exact: true }).inputValue()).toBe('Typed before the crash');
  await tab.close();
});

it('two tabs keep their own texts', async () => {
  const { key } = await ada.api.create({ title: 'Two tabs' });
  const other = await page.context().newPage();
  const comment = (tab: Page) => tab.getByLabel('Comment', { exact: true });
  for (const tab of [page, other]) {
    await tab.goto(`/issues/${key}`);
    await comment(tab).fill(tab === page ? 'Of the first tab' : 'Of the second tab');
    await tab.getByText('Draft saved').waitFor();
  }
  await comment(other).press('Control+Enter');
  await other.locator('.comment', { hasText: 'Of the second tab' }).waitFor();
  await page.reload();
  await page.getByText('Draft restored').waitFor();
  expect(await comment(page).inputValue()).toBe('Of the first tab');
  await other.reload();
  await other.locator('.comment', { hasText: 'Of the second tab' }).waitFor();
  expect(await comment(other).inputValue()).toBe('');
  // A closed tab leaves its text to the next one.
  await page.goto('/board');
  await page.goto(`/issues/${key}`);
  await page.getByText('Draft restored').waitFor();
  await comment(other).fill('Closed');
  await other.getByText('Draft saved').waitFor();
  await other.close();
  await comment(page).press('Control+Enter');
  await page.locator('.comment', { hasText: 'Of the first tab' }).waitFor();
  await page.reload();
  await page.getByText('Draft restored').waitFor();
  expect(await comment(page).inputValue()).toBe('Closed');
});

it('a tab that is reloaded has its text, also if another has taken it over meanwhile', async () => {
  const { key } = await ada.api.create({ title: 'Both have it' });
  const comment = (tab: Page) => tab.getByLabel('Comment', { exact: true });
  await page.goto(`/issues/${key}`);
  await comment(page).fill('Half a thought');
  await page.getByText('Draft saved').waitFor();
  // As long as the reload of a slow browser.
  await page.goto('about:blank');
  const other = await page.context().newPage();
  await other.goto(`/issues/${key}`);
  await other.getByText('Draft restored').waitFor();
  await page.goto(`/issues/${key}`);
  await page.getByText('Draft restored').waitFor();
  for (const tab of [page, other]) expect(await comment(tab).inputValue()).toBe('Half a thought');
  await other.close();
});

it('the text of a comment that another person deletes stays, and becomes a new comment', async () => {
  const { key } = await ada.api.create({ title: 'Deleted' });
  const comment = await ada.api.addComment(key, 'At first');
  await page.goto(`/issues/${key}`);
  await page.getByRole('button', { name: /^Edit the entry/ }).click();
  await page.getByLabel('Edited text').pressSequentially(', and more');
  await ada.api.deleteComment(key, comment.id);
  await page.getByText('The comment was deleted by another person.').waitFor();
  await page.getByRole('button', { name: 'Add as a new comment' }).click();
  await page.locator('.comment .markdown', { hasText: 'At first, and more' }).waitFor();
  await page.getByLabel('Edited text').waitFor({ state: 'detached' });
});

it('keys that are pressed before the palette is loaded are typed into it', async () => {
  const { key, version } = await ada.api.create({ title: 'Typed early' });
  let release = () => {};
  const released = new Promise<void>((resolve) => {
    release = resolve;
  });
  await page.route('**/assets/palette-*.js', (route) => released.then(() => route.continue()));
  await page.goto(`/issues/${key}`);
  await page.getByRole('heading', { level: 1, name: 'Typed early' }).waitFor();
  await page.keyboard.press('Control+k');
  await page.keyboard.type('is');
  release();
  await page.getByRole('option').first().waitFor();
  await page.keyboard.type('sue');
  expect(await page.getByPlaceholder('Find a command or an issue').inputValue()).toBe('issue');
  await page.keyboard.press('Escape');
  expect((await ada.api.get(key)).version).toBe(version);
});

describe('a service that is not available', () => {
  it('leaves the texts in their fields, and says why', async () => {
    const { key } = await ada.api.create({ title: 'Unavailable' });
    await page.goto(`/issues/${key}`);
    const keys = await answerChanges(refuse);
    const comment = page.getByLabel('Comment', { exact: true });
    await comment.fill('Sent twice');
    await comment.press('Control+Enter');
    await page.getByText('The comment was not added. The database is not available.').waitFor();
    await comment.and(page.locator(':focus')).waitFor();
    expect(await comment.inputValue()).toBe('Sent twice');
    await page.getByRole('button', { name: 'Edit title' }).click();
    const title = page.getByLabel('Title', { exact: true });
    await title.fill('Available');
    await title.press('Enter');
    await page.getByText('Not saved: The database is not available.').waitFor();
    expect(await title.inputValue()).toBe('Available');
    await page.unrouteAll();
    await title.press('Enter');
    await page.getByRole('heading', { level: 1, name: 'Available' }).waitFor();
    const again = page.waitForRequest((request) => request.method() === 'POST');
    await comment.press('Control+Enter');
    expect((await again).headers()['idempotency-key']).toBe(keys[0]);
    await page.locator('.comment', { hasText: 'Sent twice' }).waitFor();
  });
});

describe('a network that is cut in the middle of a save', () => {
  it('leaves one comment and one change', async () => {
    const { key } = await ada.api.create({ title: 'Cut' });
    await page.goto(`/issues/${key}`);
    await answerChanges(loseResponse);
    await page.getByLabel('Comment', { exact: true }).fill('Only once');
    await page.getByLabel('Comment', { exact: true }).press('Control+Enter');
    await page.getByText(/^The comment may have been added/).waitFor();
    await page.getByRole('button', { name: 'Edit title' }).click();
    await page.getByLabel('Title', { exact: true }).fill('Cut once');
    await page.getByLabel('Title', { exact: true }).press('Enter');
    await page.getByText(/^Not saved/).waitFor();
    await page.unrouteAll();
    await page.reload();
    await page.getByText('Draft restored').nth(1).waitFor();
    await page.getByLabel('Title', { exact: true }).press('Enter');
    await page.getByLabel('Title', { exact: true }).waitFor({ state: 'detached' });
    await page.getByLabel('Comment', { exact: true }).press('Control+Enter');
    await page.getByText('Draft restored').waitFor({ state: 'detached' });
    const { title, version, comments_count } = await ada.api.get(key);
    expect({ title, version, comments_count }).toEqual({ title: 'Cut once', version: 2, comments_count: 1 });
  });

  it('leaves one issue', async () => {
    await page.goto('/board');
    await page.getByRole('heading', { level: 1, name: 'Board' }).waitFor();
    await page.keyboard.press('c');
    await answerChanges(loseResponse);
    const dialog = page.getByRole('dialog', { name: 'New issue' });
    await dialog.getByLabel('Title').fill('Created in a tunnel');
    await dialog.getByRole('button', { name: 'Create issue' }).click();
    await dialog.getByText(/^The issue may have been created/).waitFor();
    await page.unrouteAll();
    await page.reload();
    await page.getByRole('heading', { level: 1, name: 'Board' }).waitFor();
    await page.keyboard.press('c');
    await dialog.getByText('Draft restored').waitFor();
    await dialog.getByRole('button', { name: 'Create issue' }).click();
    await page.getByRole('heading', { level: 1, name: 'Created in a tunnel' }).waitFor();
    const created = await web.sql('issues', `SELECT FROM issues WHERE title = 'Created in a tunnel'`);
    expect(created.rowCount).toBe(1);
  });
});

it('a title that is too long stays as it was pasted, and the page says what is too much', async () => {
  const title = page.getByRole('textbox', { name: 'Title' });
  await page.goto('/issues');
  await page.getByRole('button', { name: 'New issue' }).click();
  const paste = (text: string) => title.fill(text);
  // Emoji count once, as in the service.
  await paste(`${'😀'.repeat(255)}`);
  expect(await title.getAttribute('aria-invalid')).toBe('false');
  await paste(`${'😀'.repeat(255)}the rest`);
  await page.getByText('8 characters too many: “the rest”.').waitFor();
  await page.getByRole('button', { name: 'Create issue' }).click();
  expect(await title.inputValue()).toBe(`${'😀'.repeat(255)}the rest`);
  await paste('Column\tby\tcolumn');
  expect(await title.inputValue()).toBe('Column by column');
  await paste(' '.repeat(20) + 'x'.repeat(255));
  await page.keyboard.press('Control+Enter');
  await page.getByRole('heading', { level: 1, name: 'x'.repeat(255) }).waitFor();
  await page.getByRole('button', { name: 'Edit title' }).click();
  await title.fill('y'.repeat(256));
  await page.getByText('1 character too many: “y”.').waitFor();
  await page.keyboard.press('Enter');
  expect(await title.inputValue()).toBe('y'.repeat(256));
});
