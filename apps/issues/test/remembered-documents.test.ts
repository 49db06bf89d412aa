import { randomBytes, randomUUID } from 'node:crypto';
import { EventEmitter, once } from 'node:events';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { startPostgresProxy } from '@tessera/testing/postgres-proxy';
import { IssueListRepository } from '../src/issue-list/issue-list.repository.ts';
import { completeOrder, type IssueListRequest } from '../src/issue-list/issue-list.ts';
import { IssueRepository } from '../src/issues/issue.repository.ts';
import { IssueDocument } from '../src/issues/issue-document.repository.ts';
import { createIssue, issuePath } from './support/issues.ts';
import { aPerson, type TestPerson } from './support/people.ts';
import { startTestApp, type TestApp } from './support/test-app.ts';
import { openTestDatabase } from './support/test-database.ts';

const request = (filters: IssueListRequest['filters'] = {}): IssueListRequest => ({
  filters,
  sort: completeOrder(),
  size: 50,
  offset: 0,
  total: 'capped',
});

let app: TestApp;
let ann: TestPerson;
let bob: TestPerson;
let lists: IssueListRepository;
let issues: IssueRepository;
beforeAll(async () => {
  app = await startTestApp();
  [ann, bob] = [await aPerson(app), await aPerson(app)];
  lists = new IssueListRepository(app.database, new IssueDocument('ISS'));
  issues = new IssueRepository(app.database, new IssueDocument('ISS'));
});
afterAll(() => app.close());

/** An issue, and every kind of change that its document shows, one after the other. */
async function anIssueThatChanges() {
  const issue = await createIssue(ann, { assignee_id: bob.id });
  let linkId = '';
  const changes: (() => Promise<unknown>)[] = [
    async () => undefined,
    () => ann.patch(issuePath(issue), { title: 'Printer prints' }).expect(200),
    () => ann.patch(issuePath(issue), { description: 'Since noon', priority: 'LOW' }).expect(200),
    () => ann.patch(issuePath(issue), { assignee_id: null }).expect(200),
    () => ann.patch(issuePath(issue), { assignee_id: ann.id }).expect(200),
    () => bob.post(issuePath(issue, 'comments/'), { body: 'Still broken' }).expect(201),
    async () => {
      const link = { type: 'invoice', ref: '1' };
      linkId = (await ann.post(issuePath(issue, 'links/'), link).expect(201)).body.id;
    },
    () => ann.delete(issuePath(issue, `links/${linkId}/`)).expect(204),
    () => ann.post(issuePath(issue, 'status/'), { status: 'CLOSED' }).expect(200),
    () => rename(ann),
  ];
  return { issue, changes };
}

function rename({ id }: TestPerson) {
  const username = `renamed-${randomBytes(5).toString('hex')}`;
  return app.sql('UPDATE identity_mirror SET username = $1 WHERE id = $2', [username, id]);
}

describe('a page of remembered summaries', () => {
  it('is what one statement makes, after every kind of change', async () => {
    const { changes } = await anIssueThatChanges();
    for (let count = 0; count < 4; count += 1) await createIssue(bob);
    changes.push(() => createIssue(ann));
    const pages = new Set<string>();
    for (const change of changes) {
      await change();
      const page = await lists.findPage(request());
      expect(page).toEqual(await lists.findWholePage(request()));
      expect(await lists.findPage(request())).toEqual(page);
      pages.add(page.items);
    }
    expect(pages.size).toBe(changes.length);
  });

  it('is whole whatever characters a name has', async () => {
    const eve = await aPerson(app, { username: `eve\u001e\u001f",null ${randomUUID()}` });
    await app.sql('UPDATE identity_mirror SET username = $1 WHERE id = $2', [eve.username, eve.id]);
    const issue = await createIssue(eve, { assignee_id: eve.id });
    expect(await lists.findPage(request())).toEqual(await lists.findWholePage(request()));
    expect(await issues.read({ id: issue.id })).toEqual(await issues.find({ id: issue.id }));
  });

  it('is empty where one statement finds nothing', async () => {
    const nothing = request({ assigneeId: '00000000-0000-4000-8000-000000000000' });
    expect(await lists.findPage(nothing)).toEqual({ items: '[]', end: undefined, total: 0 });
    expect(await lists.findWholePage(nothing)).toEqual({ items: '[]', end: undefined, total: 0 });
  });

  it('shows no issue that left the list before its summary was made', async () => {
    const held = await startHeldApp('AS summary');
    const person = await aPerson(held.app);
    const [open, closed] = [await createIssue(person), await createIssue(person)];
    const page = held.lists.findPage(request({ statuses: ['OPEN'] }));
    await held.reached;
    await person.post(issuePath(closed, 'status/'), { status: 'CLOSED' }).expect(200);
    held.release();
    const shown: { id: string; status: string }[] = JSON.parse((await page).items);
    expect(shown.map(({ id, status }) => ({ id, status }))).toEqual([{ id: open.id, status: 'OPEN' }]);
    await held.close();
  });
});

describe('a remembered document', () => {
  it('is what the database makes, after every kind of change', async () => {
    const { issue, changes } = await anIssueThatChanges();
    changes.push(() => rename(bob));
    const { id } = issue;
    const documents = new Set<string>();
    for (const change of changes) {
      await change();
      const made = await issues.find({ id });
      expect(await issues.read({ id })).toEqual(made);
      expect(await issues.read({ id })).toEqual(made);
      expect(await issues.read({ number: issue.number })).toEqual(made);
      documents.add(made?.document ?? '');
    }
    expect(documents.size).toBe(changes.length);
  });

  it('is not there where the issue is not', async () => {
    expect(await issues.read({ id: randomUUID() })).toBeUndefined();
  });
});

// An app, and lists over a connection that stops where a statement with a text is to be parsed, until it is released.
async function startHeldApp(text: string) {
  const app = await startTestApp();
  const gate = new EventEmitter();
  const reached = once(gate, 'reached');
  let isOpen: Promise<unknown> = Promise.resolve();
  const proxy = await startPostgresProxy(app.databaseUrl, (forward) => ({ type, texts, bytes }) => {
    if (type === 'P' && texts[1]?.includes(text)) {
      isOpen = once(gate, 'released');
      gate.emit('reached');
    }
    void isOpen.then(() => forward(bytes));
  });
  const url = new URL(app.databaseUrl);
  url.port = String(proxy.port);
  const through = openTestDatabase(url.href);
  return {
    app,
    lists: new IssueListRepository(through.database, new IssueDocument('ISS')),
    reached,
    release: () => gate.emit('released'),
    close: async () => {
      await through.close();
      await app.close();
      await proxy.close();
    },
  };
}
