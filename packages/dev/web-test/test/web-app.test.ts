import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { fillExamples } from '../src/examples.ts';
import { type Person, password, signIn, signInByForm, startWeb, type Web } from '../src/web.ts';

let web: Web;
let ada: Person;
let bob: Person;
let key: string;

beforeAll(async () => {
  web = await startWeb();
  ({ ada, bob, key } = await fillExamples(web, 12));
});

afterAll(async () => {
  expect(await web?.stop()).toEqual([0, 0]);
  expect(web.problems()).toEqual([]);
});

afterEach(() => web.closePages());

const createIssue = (title: string) => ada.api.create({ title, description: 'Since **Monday**.' });

describe('sign-in', () => {
  it('refuses a wrong password, then opens the requested page', async () => {
    const { page, problems, close } = await web.open();
    await page.goto(`/issues/${key}?from=mail`);
    await page.getByLabel('E-mail').fill(ada.email);
    await page.getByLabel('Password').fill('wrong');
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByText('The e-mail address or the password is wrong.').waitFor();
    await page.getByLabel('Password').fill(password);
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { level: 1, name: key }).waitFor();
    expect(new URL(page.url()).pathname).toBe(`/issues/${key}`);
    // Chromium reports the 401 of the wrong password.
    expect(problems).toEqual([expect.stringContaining('401')]);
    await close();
  });

  it('does not follow a target on another site', async () => {
    for (const next of ['//evil.example/issues', '/issues/..//evil.example', 'https://[/issues']) {
      const { page, close } = await web.open();
      await signInByForm(page, ada, `/sign-in?next=${encodeURIComponent(next)}`);
      expect(page.url()).toBe(`${web.url}/issues`);
      await close();
    }
  });

  it('signs out in all tabs', async () => {
    const { page, problems, close } = await web.open();
    await signIn(page, ada);
    const other = await page.context().newPage();
    await other.goto('/issues');
    await other.getByRole('table').waitFor();
    await page.getByLabel('Account of Ada Lovelace').click();
    await page.getByRole('button', { name: 'Sign out' }).click();
    await Promise.all([page, other].map((tab) => tab.getByLabel('Password').waitFor()));
    await page.goto('/issues');
    await page.getByLabel('Password').waitFor();
    // A request that was on its way at the sign-out is refused.
    expect(problems.filter((problem) => !problem.includes('401'))).toEqual([]);
    await close();
  });

  it('forgets the drafts of the person at the sign-out, unless they are to be kept', async () => {
    const { key: own } = await createIssue('With drafts of a shared computer');
    const { page, close } = await web.open();
    const field = page.getByLabel('Comment');
    const leave = async () => {
      await page.getByLabel('Account of Ada Lovelace').click();
      await page.getByRole('button', { name: 'Sign out' }).click();
      await page.getByRole('heading', { name: 'Sign in to Tessera' }).waitFor();
    };
    const draft = async (text: string) => {
      await signInByForm(page, ada, `/issues/${own}`);
      expect(await field.inputValue()).toBe('');
      await field.fill(text);
      await page.getByText('Draft saved').waitFor();
    };
    await draft('Not for the next person');
    await leave();
    await draft('Kept on purpose');
    await page.goto('/settings/account');
    await page.getByLabel('Keep drafts on this computer').check();
    await leave();
    await signInByForm(page, ada, `/issues/${own}`);
    await page.getByText('Draft restored').waitFor();
    expect(await field.inputValue()).toBe('Kept on purpose');
    await close();
  });

  it('asks for the password again over the page, and then repeats the refused request', async () => {
    const { page, problems, close } = await web.open();
    await signIn(page, ada, `/issues/${key}`);
    await page.locator('.comment').nth(1).waitFor();
    await page.getByLabel('Comment').fill('Typed before the session ended');
    await page.context().clearCookies();
    // Another request of the page can be refused first, and its dialog then covers the button.
    await page.getByRole('button', { name: 'Comment', exact: true }).dispatchEvent('click');
    const dialog = page.getByRole('dialog', { name: 'Your session has ended' });
    await dialog.getByLabel('Password').fill(password);
    await dialog.getByRole('button', { name: 'Sign in' }).click();
    await page.locator('.comment', { hasText: 'Typed before the session ended' }).waitFor();
    await dialog.waitFor({ state: 'detached' });
    expect(problems.filter((problem) => !problem.includes('401'))).toEqual([]);
    await close();
  });
});

describe('the list', () => {
  it('keeps filters, order and search in the URL', async () => {
    const page = await web.openAs(ada);
    await page.getByRole('button', { name: /^Priority/ }).click();
    await page.getByRole('option', { name: 'Critical' }).click();
    await page.keyboard.press('Escape');
    await page.getByRole('button', { name: 'All', exact: true }).click();
    await page.getByLabel('Order').selectOption('Title');
    await page.getByLabel('Search issues').fill('address');
    await page.getByText('1 issue', { exact: true }).waitFor();
    const { search } = new URL(page.url());
    expect(Object.fromEntries(new URLSearchParams(search))).toEqual({
      q: 'address',
      state: 'all',
      priority: 'CRITICAL',
      order: 'title',
    });
    await page.reload();
    await page.getByText('1 issue', { exact: true }).waitFor();
    expect(await page.getByLabel('Search issues').inputValue()).toBe('address');
    await page.getByRole('button', { name: 'Reset' }).click();
    await page.getByRole('row').nth(3).waitFor();
    expect(new URL(page.url()).search).toBe('');
  });

  it('loads further pages while scrolling, with few elements', async () => {
    await web.sql(
      'issues',
      `INSERT INTO issues (id, title, description, priority, status, reporter_id, created_at, updated_at, search)
       SELECT gen_random_uuid(), 'Many ' || n, '', 'LOW', 'OPEN', $1, now() - n * interval '1 s', now(),
              to_tsvector('simple', 'Many ' || n)
       FROM generate_series(1, 300) n`,
      [ada.id],
    );
    const page = await web.openAs(ada, '/issues?q=many&order=created_at');
    const link = page.getByRole('link', { name: 'Many 300', exact: true });
    await link.waitFor();
    for (const title of ['Many 260', 'Many 210', 'Many 160', 'Many 110', 'Many 60', 'Many 1']) {
      const end = page.getByRole('link', { name: title, exact: true });
      while (!(await end.isVisible())) {
        await page.evaluate('scrollBy(0, innerHeight)');
        await page.evaluate('new Promise(requestAnimationFrame)');
      }
    }
    expect(await page.locator('[role=row]').count()).toBeLessThan(60);
    // The page of an issue and the way back do not read the list again, and its row follows a change.
    const reads: string[] = [];
    page.on('request', (request) => {
      const { pathname, searchParams } = new URL(request.url());
      if (pathname.endsWith('/issues/') && !searchParams.has('id')) reads.push(searchParams.toString());
    });
    await page.getByRole('link', { name: 'Many 1', exact: true }).click();
    await page.getByRole('button', { name: 'Priority: Low' }).click();
    await page.getByRole('option', { name: 'Urgent' }).click();
    await page.getByText('changed the priority from Low to Urgent').waitFor();
    await page.goBack();
    const row = page.getByRole('row').filter({ has: page.getByText('Many 1', { exact: true }) });
    await row.getByText('Urgent').waitFor({ state: 'attached' });
    expect(reads).toEqual([]);
    await page.locator('[role=row] a:focus', { hasText: 'Many 1' }).waitFor();
  });

  it('is usable by the keyboard alone', async () => {
    const page = await web.openAs(ada);
    await page.getByRole('row').nth(3).waitFor();
    await page.keyboard.press('j');
    await page.keyboard.press('j');
    await page.keyboard.press('x');
    await page.getByText('1 selected').waitFor();
    await page.keyboard.press('k');
    const title = await page.evaluate('document.activeElement.textContent');
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { level: 1, name: String(title) }).waitFor();
    await page.goBack();
    await page.getByRole('row').nth(3).waitFor();
    await page.keyboard.press('/');
    await page.keyboard.type(key);
    await page.getByText('1 issue', { exact: true }).waitFor();
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { level: 1, name: key }).waitFor();
    await page.locator('main:focus').waitFor();
    await page.goBack();
    await page.getByRole('row').nth(1).waitFor();
    await page.keyboard.press('?');
    await page.getByRole('dialog', { name: 'Keyboard' }).waitFor();
    await page.keyboard.press('Escape');
    await page.keyboard.press('c');
    const dialog = page.getByRole('dialog', { name: 'New issue' });
    await dialog.waitFor();
    await page.keyboard.type('Created by the keyboard');
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { level: 1, name: 'Created by the keyboard' }).waitFor();
  });
});

describe('an issue', () => {
  it('shows a change at once and its history', async () => {
    const { key: own } = await createIssue('Printer without paper');
    const page = await web.openAs(ada, `/issues/${own}`);
    await page.getByRole('button', { name: 'Status: Open' }).click();
    await page.getByRole('option', { name: 'In progress' }).click();
    await page.getByText('changed the status from Open to In progress').waitFor();
    await page.getByRole('button', { name: 'Assignee: No one' }).click();
    await page.getByRole('combobox').fill('kap');
    await page.getByRole('option', { name: 'Bob Kaplan' }).click();
    await page.getByText('changed the assignee from no one to Bob Kaplan').waitFor();
    await page.getByRole('button', { name: 'Labels: None' }).click();
    await page.getByRole('option', { name: 'billing' }).click();
    await page.getByText('added the label billing').waitFor();
    await page.getByRole('button', { name: 'Edit title' }).click();
    await page.getByLabel('Title').fill('Printer with paper');
    await page.keyboard.press('Enter');
    await page.getByText('changed the title from').waitFor();
    const { status, assignee, labels, title } = await ada.api.get(own);
    expect([status, assignee?.id, labels[0]?.name, title]).toEqual([
      'IN_PROGRESS',
      bob.id,
      'billing',
      'Printer with paper',
    ]);
  });

  it('undoes a refused change and says why', async () => {
    const { key: own } = await createIssue('Changed by two');
    const { page, problems, close } = await web.open();
    await signIn(page, ada, `/issues/${own}`);
    await page.route('**/app/api/v1/issues/*/', (route) =>
      route.request().method() === 'PATCH' ? route.abort() : route.continue(),
    );
    await page.getByRole('button', { name: 'Priority: Medium' }).click();
    await page.getByRole('option', { name: 'High' }).click();
    await page.getByText('Not saved: The server cannot be reached.').waitFor();
    await page.getByRole('button', { name: 'Priority: Medium' }).waitFor();
    expect(problems).toEqual([expect.stringContaining('ERR_FAILED')]);
    await close();
  });

  it('shows both texts after a conflict and loses neither', async () => {
    const { key: own } = await createIssue('Title at first');
    const { page, problems, close } = await web.open();
    await signIn(page, ada, `/issues/${own}`);
    await page.getByRole('button', { name: 'Edit title' }).click();
    await page.getByLabel('Title').fill('Title of Ada');
    await page.getByText('Draft saved').waitFor();
    await bob.api
      .update(own, { title: 'Title of Bob' })
      .catch(() => ada.api.update(own, { title: 'Title of Bob' }));
    await page.keyboard.press('Enter');
    const panel = page.getByRole('region', { name: 'Another person has changed the title' });
    await panel.waitFor();
    expect(await panel.locator('pre').allTextContents()).toEqual([
      'Title at first',
      'Title of Bob',
      'Title of Ada',
    ]);
    await panel.getByRole('button', { name: 'Save mine' }).click();
    await panel.waitFor({ state: 'detached' });
    await page.getByRole('heading', { level: 1, name: 'Title of Ada' }).waitFor();
    expect((await ada.api.get(own)).title).toBe('Title of Ada');
    expect(problems.filter((problem) => !problem.includes('409'))).toEqual([]);
    await close();
  });

  it('merges changes of different fields without asking', async () => {
    const { key: own } = await createIssue('Two fields');
    const { page, problems, close } = await web.open();
    await signIn(page, ada, `/issues/${own}`);
    await page.getByRole('button', { name: 'Edit description' }).click();
    await page.getByRole('textbox', { name: 'Description' }).fill('Changed by Ada');
    await ada.api.update(own, { priority: 'URGENT' });
    await page.getByRole('button', { name: 'Save description' }).click();
    await page.locator('.markdown', { hasText: 'Changed by Ada' }).waitFor();
    await page.getByRole('button', { name: 'Priority: Urgent' }).waitFor();
    expect(problems.filter((problem) => !problem.includes('409'))).toEqual([]);
    await close();
  });

  it('keeps typed texts over a reload, and forgets them once sent', async () => {
    const { key: own } = await createIssue('With drafts');
    const page = await web.openAs(ada, `/issues/${own}`);
    await page.getByLabel('Comment').fill('A comment that is not sent');
    await page.getByText('Draft saved').waitFor();
    await page.getByRole('button', { name: 'Edit description' }).click();
    await page.getByRole('textbox', { name: 'Description' }).fill('A description that is not saved');
    await page.getByText('Draft saved').nth(1).waitFor();
    await page.reload();
    await page.getByText('Draft restored').nth(1).waitFor();
    expect(await page.getByRole('textbox', { name: 'Description' }).inputValue()).toBe(
      'A description that is not saved',
    );
    expect(await page.getByLabel('Comment').inputValue()).toBe('A comment that is not sent');
    await page.getByLabel('Comment').press('Control+Enter');
    await page.locator('.comment', { hasText: 'A comment that is not sent' }).waitFor();
    await page.reload();
    await page.getByText('Draft restored').waitFor();
    expect(await page.getByLabel('Comment').inputValue()).toBe('');
    expect(await page.getByText('Draft restored').count()).toBe(1);
  });

  it('says that an issue does not exist', async () => {
    const { page, problems, close } = await web.open();
    await signIn(page, ada, '/issues/ISS-999999');
    await page.getByRole('heading', { name: 'There is no issue ISS-999999' }).waitFor();
    expect(problems.filter((problem) => !problem.includes('404'))).toEqual([]);
    await close();
  });
});
