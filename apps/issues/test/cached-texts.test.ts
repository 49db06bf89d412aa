import { randomBytes, randomUUID } from 'node:crypto';
import { EventEmitter, once } from 'node:events';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { readsOf } from '@tessera/service-kit';
import { startPostgresProxy } from '@tessera/testing/postgres-proxy';
import type { Transaction } from '../src/database.ts';
import { IssuePresenter } from '../src/issue-core/issue.presenter.ts';
import { IssueUrls } from '../src/issue-core/issue-reference.ts';
import { systemScope } from '../src/issue-core/project-access.ts';
import { IssueListRepository } from '../src/issue-list/issue-list.repository.ts';
import { IssueListService } from '../src/issue-list/issue-list.service.ts';
import { completeOrder, type IssueListRequest } from '../src/issue-list/issue-list.ts';
import { AccessReader } from '../src/issue-store/access-reader.ts';
import { IssueReader } from '../src/issue-store/read.ts';
import { IssueWriter } from '../src/issue-store/write.ts';
import { IssueService } from '../src/issues/issue.service.ts';
import { LabelRepository } from '../src/labels/label.repository.ts';
import { LabelService } from '../src/labels/label.service.ts';
import { ViewRepository } from '../src/views/view.repository.ts';
import { publicBaseUrl } from './support/environment.ts';
import { createIssue, issuePath } from './support/issues.ts';
import { aPerson, type TestPerson } from './support/people.ts';
import { startTestApp, type TestApp } from './support/test-app.ts';
import { openTestDatabase } from './support/test-database.ts';

const query = (filters: IssueListRequest['filters'] = {}) => ({
  request: {
    scope: systemScope,
    filters,
    sort: completeOrder(),
    size: 50,
    offset: 0,
    total: 'capped',
  } as const,
  page: undefined,
  url: 'http://issues.test/',
});

let app: TestApp;
let ann: TestPerson;
let bob: TestPerson;
let lists: IssueListService;
let issues: IssueService;
beforeAll(async () => {
  app = await startTestApp();
  [ann, bob] = [await aPerson(app), await aPerson(app)];
  lists = listsOf(app);
  issues = issuesOf(app);
});
afterAll(() => app.close());

const presenter = new IssuePresenter({ urls: new IssueUrls({ publicBaseUrl, keyPrefix: 'ISS' }) });

/** Creates a list service with an empty cache. */
function listsOf({ database }: Pick<TestApp, 'database'>): IssueListService {
  return new IssueListService({ repository: new IssueListRepository(readsOf(database), 'ISS'), presenter });
}

function issuesOf({ database, dependencies: { mirror: people } }: TestApp): IssueService {
  const [reader, writer] = [new IssueReader(database), new IssueWriter(database)];
  const labels = new LabelService({
    repository: new LabelRepository(database),
    views: new ViewRepository(database),
  });
  const mentions = { resolve: async () => [] };
  return new IssueService({
    reader,
    writer,
    presenter,
    people,
    labels,
    mentions,
    projects: { resolve: () => Promise.reject(new Error('no project is named')) },
    access: new AccessReader(database),
    requirePrecondition: false,
  });
}

/** Creates an issue and returns every kind of change that its text shows, to be made one after the other. */
async function anIssueThatChanges() {
  const issue = await createIssue(ann, { assignee_id: bob.id });
  const { id: labelId } = await app.dependencies.labels.create({ name: randomUUID(), color: '#000000' });
  const changeLabel = (set: string) => app.sql(`UPDATE labels SET ${set} WHERE id = $1`, [labelId]);
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
    () =>
      app.sql('UPDATE issues SET label_ids = ARRAY[$1::uuid], updated_at = now() WHERE id = $2', [
        labelId,
        issue.id,
      ]),
    () => changeLabel(`name = 'Bug'`),
    () => changeLabel(`color = '#ffffff'`),
    () => app.sql('DELETE FROM labels WHERE id = $1', [labelId]),
    () => rename(ann),
  ];
  return { issue, changes };
}

function rename({ id }: TestPerson) {
  const username = `renamed-${randomBytes(5).toString('hex')}`;
  return app.sql('UPDATE identity_mirror SET username = $1 WHERE id = $2', [username, id]);
}

describe('a page of cached summaries', () => {
  it('equals the response of a process with an empty cache after every kind of change', async () => {
    const { changes } = await anIssueThatChanges();
    for (let count = 0; count < 4; count += 1) await createIssue(bob);
    changes.push(() => createIssue(ann));
    const pages = new Set<string>();
    const etags = new Set<string>();
    for (const change of changes) {
      await change();
      const page = await lists.find(query());
      expect(page).toEqual(await listsOf(app).find(query()));
      expect(await lists.find(query())).toEqual(page);
      pages.add(page.items);
      etags.add(page.etag);
    }
    expect([pages.size, etags.size]).toEqual([changes.length, changes.length]);
  });

  it('is complete for a name with control characters and quotes', async () => {
    const eve = await aPerson(app, { username: `eve\u001e\u001f",null ${randomUUID()}` });
    await app.sql('UPDATE identity_mirror SET username = $1 WHERE id = $2', [eve.username, eve.id]);
    const issue = await createIssue(eve, { assignee_id: eve.id });
    expect(await lists.find(query())).toEqual(await listsOf(app).find(query()));
    expect(await issues.find({ id: issue.id, scope: systemScope })).toEqual(
      await issuesOf(app).find({ id: issue.id, scope: systemScope }),
    );
    expect((await issues.find({ id: issue.id, scope: systemScope })).text).toContain(
      JSON.stringify(eve.username),
    );
  });

  it('keeps what is newer than the answer of a server that is behind', async () => {
    const issue = await createIssue(ann);
    const mine = query({ id: { ids: [issue.id], numbers: [] } });
    let behind: Transaction | undefined;
    const repository = new IssueListRepository({ read: (run) => run(behind ?? app.database) }, 'ISS');
    const readIssues = jest.spyOn(repository, 'findIssues');
    const behindOrNot = new IssueListService({ repository, presenter });
    await app.database.$transaction(
      async (snapshot) => {
        await snapshot.$queryRaw`SELECT FROM issues LIMIT 1`;
        await ann.patch(issuePath(issue), { title: 'Newer' }).expect(200);
        const newer = await behindOrNot.find(mine);
        behind = snapshot;
        expect((await behindOrNot.find(mine)).items).toContain(issue.title);
        behind = undefined;
        expect(readIssues).toHaveBeenCalledTimes(2);
        expect(await behindOrNot.find(mine)).toEqual(newer);
        expect(readIssues).toHaveBeenCalledTimes(2);
      },
      { isolationLevel: 'RepeatableRead', timeout: 240_000 },
    );
  });

  it('is empty and has a total if no issue matches', async () => {
    const nothing = query({ assignee: ['00000000-0000-4000-8000-000000000000'] });
    expect(await lists.find(nothing)).toEqual({
      etag: expect.stringMatching(/^W\/"[\w-]{16}"$/),
      items: '[]',
      end: undefined,
      isWhole: true,
      total: 0,
    });
  });

  it('omits an issue that left the list before it was read', async () => {
    const held = await startHeldApp('no_issue');
    const person = await aPerson(held.app);
    const [open, closed] = [await createIssue(person), await createIssue(person)];
    const page = held.lists.find(query({ status: ['OPEN'] }));
    await held.reached;
    await person.post(issuePath(closed, 'status/'), { status: 'CLOSED' }).expect(200);
    held.release();
    const shown: { id: string; status: string }[] = JSON.parse((await page).items);
    expect(shown.map(({ id, status }) => ({ id, status }))).toEqual([{ id: open.id, status: 'OPEN' }]);
    await held.close();
  });
});

describe('a cached issue', () => {
  it('equals the response of a process with an empty cache after every kind of change', async () => {
    const { issue, changes } = await anIssueThatChanges();
    changes.push(() => rename(bob));
    const { id } = issue;
    const texts = new Set<string>();
    for (const change of changes) {
      await change();
      const fresh = await issuesOf(app).find({ id, scope: systemScope });
      expect(await issues.find({ id, scope: systemScope })).toEqual(fresh);
      expect(await issues.find({ id, scope: systemScope })).toEqual(fresh);
      expect(await issues.find({ number: issue.number, scope: systemScope })).toEqual(fresh);
      texts.add(fresh.text);
    }
    expect(texts.size).toBe(changes.length);
  });

  it('is undefined if the issue does not exist', async () => {
    await expect(issues.find({ id: randomUUID(), scope: systemScope })).rejects.toMatchObject({
      code: 'issue_not_found',
    });
  });
});

// Starts an app and a list service whose connection stops before it parses a statement with the given text, until it is
// released.
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
    lists: listsOf(through),
    reached,
    release: () => gate.emit('released'),
    close: async () => {
      await through.close();
      await app.close();
      await proxy.close();
    },
  };
}
