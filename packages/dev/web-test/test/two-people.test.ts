import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import {
  type Page,
  type Person,
  password,
  signIn,
  signInByForm,
  startWeb,
  type WatchedPage,
  type Web,
} from '../src/web.ts';

let web: Web;
let ada: Person;
let bob: Person;

beforeAll(async () => {
  web = await startWeb();
  ada = await web.createPerson('ada', 'Ada Lovelace', true);
  bob = await web.createPerson('bob', 'Bob Kaplan', true);
});

afterAll(async () => {
  expect(await web?.stop()).toEqual([0, 0]);
});

const other = (tab: Page) => tab.getByRole('dialog', { name: 'Another person has signed in' });
const comment = (tab: Page) => tab.getByLabel('Comment', { exact: true });

/** Signs a person in by a new tab of the same browser. The session of the person before is not ended. */
async function signInBeside({ page }: WatchedPage, person: Person, path = '/issues'): Promise<Page> {
  await page.context().clearCookies();
  const tab = await page.context().newPage();
  await signInByForm(tab, person, path);
  await tab.getByLabel(`Account of ${person === ada ? 'Ada Lovelace' : 'Bob Kaplan'}`).waitFor();
  return tab;
}

/** The main writes of the app: the page, what is prepared while the person is signed in, and the write. */
const writes: Record<
  string,
  [path: string, prepare: (tab: Page) => Promise<unknown>, write: (tab: Page) => Promise<unknown>]
> = {
  'a comment': [
    '/issues/',
    (tab) => comment(tab).fill('Of Ada'),
    (tab) => tab.getByRole('button', { name: 'Comment', exact: true }).dispatchEvent('click'),
  ],
  'a status': [
    '/issues/',
    (tab) => tab.getByRole('button', { name: 'Status: Open' }).click(),
    (tab) => tab.getByRole('option', { name: 'In progress' }).dispatchEvent('click'),
  ],
  'a title': [
    '/issues/',
    async (tab) => {
      await tab.getByRole('button', { name: 'Edit title' }).click();
      await tab.getByRole('textbox', { name: 'Title' }).fill('Of Ada, changed');
    },
    (tab) => tab.getByRole('button', { name: 'Save title' }).dispatchEvent('click'),
  ],
  'a new issue': [
    '/issues',
    async (tab) => {
      await tab.getByRole('button', { name: 'New issue' }).click();
      await tab.getByRole('textbox', { name: 'Title' }).fill('Begun by Ada');
    },
    (tab) => tab.getByRole('button', { name: 'Create issue' }).dispatchEvent('click'),
  ],
  'a card': [
    '/board',
    (tab) => tab.getByRole('button', { name: 'Move ISS-1 to…' }).click(),
    (tab) => tab.getByRole('option', { name: 'In progress' }).dispatchEvent('click'),
  ],
  'a name': [
    '/settings/account',
    (tab) => tab.getByLabel('Display name').fill('Changed by Ada'),
    (tab) => tab.getByRole('button', { name: 'Save', exact: true }).dispatchEvent('click'),
  ],
  'a sign-out': [
    '/issues',
    (tab) => tab.getByLabel('Account of Ada Lovelace').click(),
    (tab) => tab.getByRole('button', { name: 'Sign out' }).dispatchEvent('click'),
  ],
};

describe('a tab of one person, after another has signed in in the same browser', () => {
  it('writes nothing as the other, and says so, also if it has not heard of the sign-in', async () => {
    const { key } = await ada.api.create({ title: 'Of Ada' });
    const opened = await web.open({ viewport: { width: 1440, height: 900 } });
    await opened.page.context().addInitScript('BroadcastChannel.prototype.postMessage = () => {}');
    await signIn(opened.page, ada);
    const tabs: [string, Page][] = [];
    for (const [name, [path, prepare]] of Object.entries(writes)) {
      const tab = await opened.page.context().newPage();
      await tab.goto(path === '/issues/' ? `${path}${key}` : path);
      await prepare(tab);
      tabs.push([name, tab]);
    }
    const ofBob = await signInBeside(opened, bob);
    for (const [name, tab] of tabs) {
      await writes[name]?.[2](tab);
      await other(tab).getByText('This page belongs to Ada Lovelace').waitFor();
    }
    expect(await ada.api.get(key)).toMatchObject({
      status: 'OPEN',
      title: 'Of Ada',
      version: 1,
      comments_count: 0,
    });
    const { rows } = await web.sql('issues', 'SELECT count(*)::int AS issues FROM issues');
    expect(rows).toEqual([{ issues: 1 }]);
    await ofBob.reload();
    await ofBob.getByLabel('Account of Bob Kaplan').waitFor();
    await opened.close();
  });

  it('keeps the drafts of its person, who finds them in any tab', async () => {
    const { key } = await ada.api.create({ title: 'With a draft of Ada' });
    const opened = await web.open();
    const { page } = opened;
    await signIn(page, ada, `/issues/${key}`);
    await comment(page).fill('A draft of Ada');
    await page.getByText('Draft saved').waitFor();
    const beside = await signInBeside(opened, bob);
    await other(page).getByRole('button', { name: 'Continue as the other person' }).click();
    await page.getByLabel('Account of Bob Kaplan').waitFor();
    expect(await comment(page).inputValue()).toBe('');
    await comment(page).fill('A draft of Bob');
    await page.getByText('Draft saved').waitFor();
    // The first tab stays with Bob.
    await beside.close();
    const ofAda = await signInBeside(opened, ada, `/issues/${key}`);
    await ofAda.getByText('Draft restored').waitFor();
    expect(await comment(ofAda).inputValue()).toBe('A draft of Ada');
    await other(page).getByText('This page belongs to Bob Kaplan').waitFor();
    expect(await comment(page).inputValue()).toBe('A draft of Bob');
    await opened.close();
  });

  it('goes on when its person signs in, here or in another tab, and repeats what waits', async () => {
    const { key } = await ada.api.create({ title: 'Goes on' });
    const opened = await web.open();
    const { page } = opened;
    await signIn(page, ada, `/issues/${key}`);
    await comment(page).fill('Sent once, as Ada');
    await page.getByText('Draft saved').waitFor();
    const ofBob = await signInBeside(opened, bob);
    await other(page).waitFor();
    await page.getByRole('button', { name: 'Comment', exact: true }).dispatchEvent('click');
    await other(page).getByLabel('Password').fill(password);
    await other(page).getByRole('button', { name: 'Sign in' }).click();
    await page.locator('.comment', { hasText: 'Sent once, as Ada' }).waitFor();
    await other(page).waitFor({ state: 'detached' });
    await other(ofBob).waitFor();
    const beside = await signInBeside(opened, bob);
    await other(ofBob).waitFor({ state: 'detached' });
    await other(page).waitFor();
    await beside.close();
    await signInBeside(opened, ada);
    await other(page).waitFor({ state: 'detached' });
    const { rows } = await web.sql('issues', 'SELECT author_id FROM comments');
    expect(rows).toEqual([{ author_id: ada.id }]);
    await opened.close();
  });
});
