import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import pg from 'pg';
import { Prisma } from '../src/generated/prisma/client.ts';
import { rankedStatement } from '../src/identity-mirror/people-list.sql.ts';
import type { PeopleFilter } from '../src/identity-mirror/people-list.ts';
import { IssueListRepository } from '../src/issue-list/issue-list.repository.ts';
import { IssueListService } from '../src/issue-list/issue-list.service.ts';
import { pageStatement } from '../src/issue-list/issue-list.sql.ts';
import { completeOrder, type IssueListPage, type IssueListRequest } from '../src/issue-list/issue-list.ts';
import { IssuePresenter } from '../src/issues/issue.presenter.ts';
import { IssueUrls } from '../src/issues/issue-urls.ts';
import { publicBaseUrl } from './support/environment.ts';
import { busyPerson, fillWithIssues, fillWithPeople, syncedWith } from './support/many-issues.ts';
import { explain, planCases } from './support/plans.ts';
import { startTestApp, type TestApp } from './support/test-app.ts';

const count = 100_000;
let app: TestApp;
let client: pg.Client;
let lists: IssueListService;

beforeAll(async () => {
  app = await startTestApp();
  client = new pg.Client({ connectionString: app.databaseUrl });
  await client.connect();
  await fillWithIssues(client, count);
  lists = new IssueListService({
    repository: new IssueListRepository(app.database),
    presenter: new IssuePresenter({ urls: new IssueUrls({ publicBaseUrl, keyPrefix: 'ISS' }) }),
  });
}, 60_000);
afterAll(async () => {
  await client.end();
  await app.close();
});

describe(`among ${count} issues`, () => {
  it.each(planCases(count))('$name is found by an index', async ({ request, indexes, visited }) => {
    const plan = await explain(client, pageStatement(request, syncedWith));
    expect(plan.tableScans).toBe(0);
    expect(indexes).toContain(plan.indexes.find((index) => indexes.includes(index)));
    expect(plan.visited).toBeLessThanOrEqual(visited);
  });

  // All search strategies (near, rare and walk) and their mixtures must find the same issues.
  it.each([
    'zebrafish',
    'formerly',
    'recently',
    'seldom',
    'w17',
    'w17 -printer',
    'printer',
    'everywhere',
    'nosuchword',
  ])('a search for "%s" returns the same issues as a full scan, page by page', async (search) => {
    const { rows } = await client.query<{ id: string }>(
      `SELECT id FROM issues JOIN issue_search ON issue_id = id WHERE words @@ websearch_to_tsquery('issue_text', $1)
          ORDER BY created_at DESC, id DESC LIMIT 350`,
      [search],
    );
    const expected = rows.map(({ id }) => id);
    const request = {
      filters: { search },
      sort: completeOrder(),
      size: 100,
      offset: 0,
      total: 'none' as const,
    };
    const read: string[] = [];
    let end: IssueListPage['end'];
    do {
      const page = await find({ ...request, after: end });
      read.push(...idsOf(page));
      end = page.end;
    } while (end !== undefined && read.length < 350);
    expect(read.slice(0, 350)).toEqual(expected);
    expect(idsOf(await find({ ...request, offset: 100 }))).toEqual(expected.slice(100, 200));
  });

  it.each([
    ['zebrafish', 4],
    ['formerly', 1000],
    ['nosuchword', 0],
    ['w17', undefined],
    ['everywhere', undefined],
  ])('the total of "%s" is %s', async (search, total) => {
    const request = {
      filters: { search },
      sort: completeOrder(),
      size: 10,
      offset: 0,
      total: 'capped' as const,
    };
    expect((await find(request)).total).toBe(total);
  });
});

describe('among 30,000 people', () => {
  // Runs after the lists of issues, whose plans depend on the number of people.
  beforeAll(() => fillWithPeople(client, 30_000), 60_000);

  it.each([
    ['a search', { search: 'na', searchEmails: false }, 'identity_mirror_words_idx'],
    ['a search by staff', { search: 'na x7', searchEmails: true }, 'identity_mirror_staff_words_idx'],
    [
      'a search with an issue',
      { search: 'na', searchEmails: false, issue: { number: 1 } },
      'identity_mirror_words_idx',
    ],
    ['an issue', { searchEmails: false, issue: { number: 1 } }, 'identity_mirror_order_idx'],
  ])('%s finds them by an index', async (_name, filter: PeopleFilter, index) => {
    for (const after of [undefined, { tier: 1, seenOrder: -100, sortName: 'name', id: busyPerson }]) {
      const { text, values } = rankedStatement(Prisma.sql`m.username`, filter, { after, limit: 101 });
      const plan = await explain(client, { text, values });
      expect(plan.indexes).toContain(index);
      expect(plan.scanned).not.toContain('identity_mirror');
    }
  });
});

function find(request: IssueListRequest): Promise<IssueListPage> {
  return lists.find({ request, page: undefined, url: 'http://issues.test/' });
}

function idsOf({ items }: IssueListPage): string[] {
  return JSON.parse(items).map(({ id }: { id: string }) => id);
}
