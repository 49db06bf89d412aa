import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type Page, type Person, signIn, startWeb, type Web } from '../src/web.ts';

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
}, 60_000);

afterAll(async () => {
  await close?.();
  expect(await web?.stop()).toEqual([0, 0]);
  expect(problems.filter((problem) => !/409/.test(problem))).toEqual([]);
}, 30_000);

/** Holds the next changes until the returned function is called. */
async function holdChanges(): Promise<() => void> {
  let release = () => {};
  const released = new Promise<void>((resolve) => {
    release = resolve;
  });
  await page.route('**/app/api/v1/issues/**', async (route) => {
    if (route.request().method() !== 'GET') await released;
    await route.continue();
  });
  return release;
}

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
    const release = await holdChanges();
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
  await page.getByRole('heading', { level: 1, name: 'Theirs' }).waitFor();
  expect(await description.inputValue()).toBe('A long text');
  await page.reload();
  await page.getByText('Draft restored').waitFor();
  expect(await description.inputValue()).toBe('A long text');
});
