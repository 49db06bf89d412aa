import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { eventually } from '@tessera/stack/eventually';
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
  expect(web.problems(/status of (?:404|409)/)).toEqual([]);
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

  it('leads to the issues of a label, and shows its new name a minute later, as the rows do', async () => {
    const { id } = await ada.api.createLabel({ name: 'billing', color: '#3b82f6' });
    await ada.api.create({ title: 'With a label', labels: ['billing'] });
    const page = await web.openAs(ada, '/board', (one) => one.clock.install());
    const labels = page.getByRole('navigation', { name: 'Labels' });
    await labels.getByRole('link', { name: 'billing' }).click();
    await page.getByRole('row', { name: 'With a label' }).waitFor();
    expect(new URL(page.url()).search).toBe('?label=billing');
    expect(await labels.getByRole('link', { name: 'billing' }).getAttribute('aria-current')).toBe('page');
    await page.getByRole('link', { name: 'All issues' }).click();
    await page.getByRole('row', { name: 'With a label' }).getByText('billing').waitFor();
    await ada.api.updateLabel(id, { name: 'invoices' });
    await page.clock.fastForward(61_000);
    await labels.getByRole('link', { name: 'invoices' }).waitFor();
    await page.getByRole('row', { name: 'With a label' }).getByText('invoices').waitFor();
  });

  it('is a sheet on a phone', async () => {
    const person = await aReader(web);
    await mention(ada, person, ['On the train']);
    const { page, problems, close } = await web.open({
      bypassCSP: true,
      viewport: { width: 375, height: 700 },
    });
    await signIn(page, person);
    // It has no sidebar that a key could collapse.
    await press(page, '?');
    const help = page.getByRole('dialog', { name: 'Keyboard' });
    await help.getByText('New issue', { exact: true }).waitFor();
    expect(await help.getByText('Collapse or open the sidebar').count()).toBe(0);
    await press(page, 'Escape');
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

describe('projects', () => {
  const members = (page: Page) => page.getByRole('list', { name: 'Members' }).getByRole('listitem');
  // The service hears of it a moment after the person.
  const named = (person: Person) => eventually(async () => (await person.api.me()).name ?? '');
  const project = async (key: string, name: string, ...people: Person[]) => {
    await ada.api.createProject({ key, name, visibility: 'members' });
    for (const { id } of people) await ada.api.putProjectMember(key, id, 'member');
  };
  /** Chooses in the open list by typing. */
  const choose = async (page: Page, text: string) => {
    await page.getByRole('dialog').getByRole('combobox').fill(text);
    await page.getByRole('dialog').getByRole('option').first().waitFor();
    await press(page, 'Enter');
  };

  it('are made by staff; members come and go, with reasons why not', async () => {
    const person = await aReader(web);
    const name = await named(person);
    const page = await web.openAs(ada, '/settings/projects');
    await page.getByText('There is one project so far.').waitFor();
    await page.getByRole('button', { name: 'New project' }).click();
    const dialog = page.getByRole('dialog', { name: 'New project' });
    await dialog.getByLabel('Name').fill('Mobile app');
    await dialog.getByLabel('Key').fill('iss');
    await dialog.getByRole('button', { name: 'Create the project' }).click();
    await dialog.locator('input[name=key][aria-invalid=true]:focus').waitFor();
    await dialog.getByText('belongs to a project, or belonged to one').waitFor();
    await dialog.getByLabel('Key').fill('app');
    await press(page, 'Enter');
    await heading(page, 'Mobile app');
    expect(new URL(page.url()).search).toBe('?project=APP');

    await page.getByLabel('Role of the new member').selectOption('viewer');
    await page.getByRole('button', { name: 'Add a person' }).click();
    await page.getByRole('combobox', { name: 'Search: Add a person' }).fill(name);
    await page.getByRole('option', { name }).click();
    const entry = members(page).filter({ hasText: name });
    await entry.waitFor();
    await page.getByLabel(`Role of ${name}`).selectOption('manager');
    await page.getByText(`changed ${name} from viewer to manager`).waitFor();
    await page.getByText(`added ${name} as viewer`).waitFor();
    await page.getByRole('button', { name: 'Leave the project' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Leave' }).click();
    await page.getByText('left the project').waitFor();
    await page.getByLabel(`Role of ${name}`).selectOption('viewer');
    await page.getByRole('alert').filter({ hasText: 'Make another person a manager first.' }).waitFor();
    await eventually(async () => (await page.getByLabel(`Role of ${name}`).inputValue()) === 'manager');

    // Another browser is faster.
    await page.getByRole('radio', { name: 'Members only' }).check();
    await ada.api.updateProject('APP', { name: 'Apps' });
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByRole('alert').filter({ hasText: 'Another person has changed the project' }).waitFor();
    expect(await page.getByLabel('Name').inputValue()).toBe('Apps');
    await page.getByRole('button', { name: 'Save' }).click();
    // Staff do not see what members alone read.
    await heading(page, 'There is no project APP');
    expect(await person.api.project('APP')).toMatchObject({ name: 'Apps', visibility: 'sealed' });
  });

  it('are chosen by keys, for the list, a new issue and a move that says who will see it', async () => {
    const person = await aReader(web);
    await project('OPS', 'Operations', person);
    const page = await web.openAs(person, '/issues');
    await page
      .getByRole('navigation', { name: 'Projects' })
      .getByRole('link', { name: 'Operations' })
      .waitFor();
    await press(page, 'g', 'p');
    await choose(page, 'ops');
    await page.waitForURL('**/issues?project=OPS');
    await press(page, 'c');
    await page.getByRole('button', { name: 'Project: OPS Operations' }).waitFor();
    await page.getByText('Only members and staff read its issues.').waitFor();
    await page.getByRole('textbox', { name: 'Title' }).fill('The pager is silent');
    await press(page, 'Control+Enter');
    await page.waitForURL(/OPS-\d+$/);
    const number = page.url().split('-').at(-1);
    const path = page.getByRole('navigation', { name: 'Path' });
    await path.getByText('not everyone reads this').waitFor({ state: 'attached' });
    const move = page.getByRole('dialog', { name: /^Move / });
    await page.getByRole('button', { name: 'Move to project…' }).waitFor();
    await press(page, 'M', 'T');
    await choose(page, 'iss');
    await move.getByText('Everyone who can sign in.').waitFor();
    await press(page, 'Enter');
    await page.waitForURL(`**/issues/ISS-${number}`);
    await path.getByText('not everyone reads this').waitFor({ state: 'detached' });
    await press(page, 'M', 'T');
    await choose(page, 'operations');
    await move.getByText(/^Everyone but the members of .Operations. and staff\.$/).waitFor();
    await press(page, 'Escape');
    await move.waitFor({ state: 'detached' });
    await press(page, 'M', 'T');
    await choose(page, 'operations');
    await move.getByRole('button', { name: 'Move to OPS' }).click();
    await page.waitForURL(`**/issues/OPS-${number}`);
    await press(page, 'Escape');
    await page.getByRole('row', { name: `OPS-${number} (not everyone reads this)` }).waitFor();
    await page.goto(page.url().replace(/\/issues.*/, '/board'));
    const card = page.locator('.card', { hasText: 'The pager is silent' });
    await card.getByText('not everyone reads this').waitFor({ state: 'attached' });
  });

  it('disappear with their issues and drafts for a member who is removed meanwhile', async () => {
    const person = await aReader(web);
    await project('SEC', 'Security', person);
    const { key } = await ada.api.create({ title: 'A secret leak', project: 'SEC' });
    const page = await web.openAs(person, `/issues/${key}`);
    await page.getByLabel('Comment', { exact: true }).fill('A draft about the leak');
    await page.getByText('Draft saved').waitFor();
    const beside = await page.context().newPage();
    await beside.goto('/issues');
    const row = beside.getByRole('row', { name: 'A secret leak' });
    await row.waitFor();
    await page
      .getByRole('navigation', { name: 'Projects' })
      .getByRole('link', { name: 'Security' })
      .waitFor();

    const other = await web.openAs(ada, '/settings/projects?project=SEC');
    await other.getByRole('button', { name: `Remove ${await named(person)}` }).click();
    await other.getByRole('dialog').getByRole('button', { name: 'Remove' }).click();
    await heading(page, `There is no issue ${key}`);
    await row.waitFor({ state: 'detached' });
    for (const one of [page, beside]) {
      await eventually(async () => !/A secret leak|Security/.test(await one.content()));
      expect(await one.title()).not.toContain('A secret leak');
    }
    const drafts = `new Promise((resolve, reject) => {
      const opening = indexedDB.open('tessera', 1);
      opening.onerror = reject;
      opening.onsuccess = () => {
        const reading = opening.result.transaction('drafts').objectStore('drafts').getAll();
        reading.onsuccess = () => resolve(reading.result.length);
      };
    })`;
    await eventually(async () => (await page.evaluate(drafts)) === 0);
    await page.getByRole('link', { name: 'All issues' }).click();
    await page.getByRole('heading', { level: 1, name: 'Issues' }).waitFor();
    await page.keyboard.press('Control+k');
    await page.getByRole('option', { name: 'Go to a project' }).waitFor();
    expect(await page.content()).not.toContain('A secret leak');

    await ada.api.putProjectMember('SEC', person.id, 'viewer');
    await beside.getByRole('link', { name: 'Security' }).waitFor();
    await page.keyboard.press('Escape');
    await page.goto(page.url().replace(/\/issues.*/, `/issues/${key}`));
    await heading(page, 'A secret leak');
    // A viewer comments, and changes nothing.
    await page.getByText('members of the project change this issue').waitFor();
    await page.getByRole('button', { name: 'Priority: Medium', disabled: true }).waitFor();
  });

  it.each([1280, 320])('have accessible pages, %i pixels wide', async (width) => {
    const person = await aReader(web);
    const key = `W${width}`;
    await project(key, 'A name that is long enough to need a second line on a phone', person);
    const { key: issue } = await person.api.create({ title: 'Moves', project: key });
    const { page, close } = await web.open({ bypassCSP: true, viewport: { width, height: 800 } });
    const check = async (state: string) =>
      expect({ state, problems: await pageProblems(page) }).toEqual({ state, problems: [] });
    await signIn(page, ada, '/settings/projects');
    await page.getByText('Default', { exact: true }).waitFor();
    await check('the projects');
    await page.getByRole('button', { name: 'New project' }).click();
    await check('a new project');
    await press(page, 'Escape');
    await page.goto(`/settings/projects?project=${key}`);
    await members(page).nth(1).waitFor();
    await page.getByText('created the project').waitFor();
    await check('a project');
    await page.goto('/settings/projects?project=NONE');
    await heading(page, 'There is no project NONE');
    await check('no project');
    await page.goto(`/issues/${issue}`);
    await page.getByRole('button', { name: 'Move to project…' }).click();
    await check('the dialog of a move');
    await choose(page, 'iss');
    await page.getByRole('button', { name: 'Move to ISS' }).waitFor();
    await check('who will see a moved issue');
    await close();
  });
});
