import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { CountedField } from '@tessera/contracts';
import { eventPageStatement, readsOf } from '@tessera/service-kit';
import pg from 'pg';
import { ActivityRepository } from '../src/activity/activity.repository.ts';
import type { Database } from '../src/database.ts';
import { Prisma } from '../src/generated/prisma/client.ts';
import { IssuePresenter } from '../src/issue-core/issue.presenter.ts';
import { IssueUrls } from '../src/issue-core/issue-reference.ts';
import { systemScope } from '../src/issue-core/project-access.ts';
import { filterConditions, orderBy } from '../src/issue-list/issue-conditions.sql.ts';
import { countStatement } from '../src/issue-list/issue-counts.sql.ts';
import { IssueListRepository } from '../src/issue-list/issue-list.repository.ts';
import { IssueListService } from '../src/issue-list/issue-list.service.ts';
import { pageStatement } from '../src/issue-list/issue-list.sql.ts';
import { completeOrder, type IssueListPage, type IssueListRequest } from '../src/issue-list/issue-list.ts';
import { IssueReader } from '../src/issue-store/read.ts';
import { notifyOfDeferred, notifyOfEvents } from '../src/notifications/fan-out.sql.ts';
import { selectNotifications } from '../src/notifications/notification.sql.ts';
import { selectWatched } from '../src/watching/watching.repository.ts';
import { publicBaseUrl } from './support/environment.ts';
import { busyPerson, fillWithIssues, oldProject, syncedWith } from './support/many-issues.ts';
import { explain, type Plan, planCases, readers, readFilters } from './support/plans.ts';
import { startTestApp, type TestApp } from './support/test-app.ts';

const count = 100_000;
/** The newest 15,000 issues that a reader sees, and the words and comments of 10,000 of these to count the matches. */
const searchBuffers = 65_000;
let app: TestApp;
let client: pg.Client;
let lists: IssueListService;

beforeAll(async () => {
  app = await startTestApp();
  // The test reads the events itself.
  await app.dependencies.eventSignal.stop();
  client = new pg.Client({ connectionString: app.databaseUrl });
  await client.connect();
  await fillWithIssues(client, count);
  lists = new IssueListService({
    repository: new IssueListRepository(readsOf(app.database), 'ISS', syncedWith),
    presenter: new IssuePresenter({ urls: new IssueUrls({ publicBaseUrl, keyPrefix: 'ISS' }) }),
  });
});
afterAll(async () => {
  await client.end();
  await app.close();
});

describe(`among ${count} issues`, () => {
  it.each(planCases(count))('$name is found by an index', async ({ request, indexes, buffers }) => {
    const plan = await explain(client, pageStatement(request, syncedWith, request.scope));
    expect(plan.tableScans).toBe(0);
    expect(indexes).toContain(plan.indexes.find((index) => indexes.includes(index)));
    expect(plan.buffers).toBeLessThanOrEqual(buffers);
    expect(plan.comments).toBeLessThanOrEqual(14_010);
  });

  it.each<[CountedField, string, IssueListRequest['filters']]>([
    ['status', 'all issues', {}],
    ['priority', 'all issues', {}],
    ['status', 'an assignee', { assignee: [busyPerson] }],
    ['priority', 'a status', { status: ['CLOSED'] }],
    ['status', 'recently changed issues', { updated_after: new Date(Date.now() - count * 1000) }],
    ['status', 'a rare word', { search: 'zebrafish' }],
    ['status', 'a watcher', { watcher: busyPerson }],
    ['priority', 'the issues of other people', { '-assignee': [busyPerson], '-reporter': [busyPerson] }],
    ['assignee', 'all issues', {}],
    ['assignee', 'a status', { status: ['REOPENED'] }],
  ])('counting by %s of %s reads a limited number of blocks', async (by, _name, filters) => {
    const request = {
      scope: systemScope,
      filters,
      sort: completeOrder(),
      size: 0,
      offset: 0,
      total: 'none' as const,
      tracker: syncedWith,
    };
    const plan = await explain(client, countStatement(request, by));
    expect(plan.buffers).toBeLessThanOrEqual(2_000);
    expect(plan.tableScans).toBe(0);
  });

  // The words of 10,000 issues and of their comments, among any number of issues.
  it.each(['printer', 'everywhere'])(
    'counting the issues with "%s" reads a limited number of blocks',
    async (search) => {
      const request = {
        scope: systemScope,
        filters: { search },
        sort: completeOrder(),
        size: 0,
        offset: 0,
        total: 'none' as const,
      };
      const plan = await explain(client, countStatement({ ...request, tracker: syncedWith }, 'priority'));
      expect(plan.buffers).toBeLessThanOrEqual(20_000);
      expect(plan.tableScans).toBe(0);
    },
  );

  // Each filter matches thousands of issues, the first two none together, the last ones some among all.
  it.each<[IssueListRequest['filters'], string[]]>([
    [{ status: ['IN_PROGRESS'], priority: ['HIGH'] }, []],
    [{ status: ['OPEN'], priority: ['LOW'], sync: 'stale' }, []],
    [{ assignee: [null], sync: 'failed' }, []],
    [{ status: ['CLOSED'], assignee: [busyPerson, null], created_before: new Date() }, []],
    [{ status: ['RESOLVED'], sync: 'stale' }, ['created_at']],
  ])(
    'a list of %j ordered by %j has the same issues as a full scan, in pages of a limit',
    async (filters, order) => {
      const sort = completeOrder(
        order.length === 0 ? undefined : [{ field: 'created_at', descending: false }],
      );
      const request = {
        scope: systemScope,
        filters,
        sort,
        size: 200,
        offset: 0,
        tracker: syncedWith,
        total: 'none' as const,
      };
      const conditions = Prisma.join(filterConditions(request), ' AND ');
      const all = Prisma.sql`SELECT i.id FROM issues i WHERE ${conditions} ORDER BY ${orderBy(sort)}`;
      const { rows } = await client.query<{ id: string }>({ text: all.text, values: all.values });
      const read: string[] = [];
      let end: IssueListPage['end'];
      do {
        const page = await find({ ...request, after: end });
        read.push(...idsOf(page));
        end = page.end;
      } while (end !== undefined && read.length < 1_000);
      expect(read).toEqual(rows.slice(0, read.length).map(({ id }) => id));
      expect(end === undefined).toBe(read.length === rows.length);
    },
  );

  describe.each(readers)('for a reader who sees $sees', ({ scope, buffers }) => {
    it.each(readFilters)(
      'a list of %j is that of a full scan, with its counts, and ends early only after many issues',
      async (filters) => {
        const orders = [
          ['created_at', true],
          ['created_at', false],
          ['updated_at', true],
          ['title', false],
        ] as const;
        for (const [field, descending] of Object.keys(filters).length === 1 ? orders.slice(0, 1) : orders) {
          const sort = completeOrder([{ field, descending }]);
          const tracker = syncedWith;
          const request = { scope, filters, sort, size: 50, offset: 0, tracker, total: 'capped' as const };
          const conditions = Prisma.join(filterConditions(request), ' AND ');
          const all = Prisma.sql`SELECT i.id FROM issues i WHERE ${conditions} ORDER BY ${orderBy(sort)}`;
          const { rows } = await client.query<{ id: string }>({ text: all.text, values: all.values });
          const plan = await explain(client, pageStatement(request, syncedWith, request.scope));
          expect([field, plan.tableScans, Math.max(buffers, plan.buffers)]).toEqual([field, 0, buffers]);
          const { total, isWhole } = await find(request);
          if (isWhole) expect([field, total]).toEqual([field, rows.length]);
          const read: string[] = [];
          let end: IssueListPage['end'];
          do {
            const page = await find({ ...request, total: 'none', after: end });
            // Each page has all that its reader may find among as many issues as a page looks at.
            if (page.end !== undefined && Object.keys(filters).length < 2 && field !== 'updated_at')
              expect([field, idsOf(page).length]).toEqual([field, 50]);
            read.push(...idsOf(page));
            end = page.end;
          } while (end !== undefined && read.length < 100);
          expect([field, read]).toEqual([field, rows.slice(0, read.length).map(({ id }) => id)]);
          expect(end === undefined).toBe(read.length === rows.length);
        }
        const counted = { scope, filters, sort: completeOrder(), size: 0, offset: 0, total: 'none' as const };
        const statement = countStatement({ ...counted, tracker: syncedWith }, 'status');
        const { buffers: read, tableScans } = await explain(client, statement);
        expect([tableScans, Math.max(buffers, read)]).toEqual([0, buffers]);
        const conditions = Prisma.join(filterConditions({ ...counted, tracker: syncedWith }), ' AND ');
        const all = Prisma.sql`
          SELECT status AS value, count(*)::int FROM issues i WHERE ${conditions} GROUP BY status`;
        const { rows } = await client.query({ text: all.text, values: all.values });
        const { counts, is_complete } = await lists.count({ filters, scope }, 'status');
        for (const { value, count: found } of counts) {
          const whole = rows.find((row) => row.value === value)?.count ?? 0;
          expect([value, is_complete ? found : Math.min(found, whole)]).toEqual([
            value,
            is_complete ? whole : found,
          ]);
        }
      },
    );
  });

  // One issue in fifty has "w7": too many for the index alone, and far apart for a reader who sees few issues.
  describe.each(readers)('for a reader who sees $sees', ({ scope }) => {
    it.each(['zebrafish', 'w7', 'everywhere'])(
      'a search for "%s" has the issues of a full scan, from a limited number of blocks',
      async (search) => {
        const variants = [
          {},
          {
            filters: { search, status: ['OPEN' as const] },
            sort: completeOrder([{ field: 'title', descending: false }]),
          },
          { filters: { search, project: [oldProject] } },
        ];
        for (const variant of variants) {
          const request = {
            ...{ scope, filters: { search }, sort: completeOrder(), size: 50, offset: 0 },
            ...{ tracker: syncedWith, total: 'capped' as const },
            ...variant,
          };
          const query = Prisma.sql`to_tsquery('simple', ${search})`;
          const found = Prisma.sql`
            (i.search @@ ${query} OR i.id IN (SELECT issue_id FROM comments WHERE words @@ ${query}))`;
          const conditions = Prisma.join([...filterConditions(request), found], ' AND ');
          const all = Prisma.sql`SELECT i.id FROM issues i WHERE ${conditions} ORDER BY ${orderBy(request.sort)}`;
          const { rows: expected } = await client.query<{ id: string }>({
            text: all.text,
            values: all.values,
          });
          const { text, values } = pageStatement(request, syncedWith, scope);
          const { rows } = await client.query({ text, values });
          const ids = rows.flatMap(({ id }) => id ?? []);
          expect([variant, ids]).toEqual([variant, expected.slice(0, 51).map(({ id }) => id)]);
          const { total, isWhole } = rows[0];
          if (isWhole) expect([variant, total]).toEqual([variant, expected.length]);
          const plan = await explain(client, { text, values });
          expect([variant, plan.tableScans, Math.max(searchBuffers, plan.buffers)]).toEqual([
            variant,
            0,
            searchBuffers,
          ]);
        }
      },
    );
  });

  it.each<[IssueListRequest['filters'], boolean]>([
    [{}, true],
    [{ search: 'zebrafish' }, true],
    [{ search: 'formerly' }, true],
    [{ search: '4711', searchedNumber: { number: 4711 } }, true],
    [{ search: 'nosuchword' }, true],
    [{ search: 'recently', priority: ['LOW'] }, true],
    [{ search: 'everywhere' }, false],
    [{ search: 'walrus' }, true],
    [{ search: 'remark' }, false],
    [{ search: 'nosuchword or everywhere', status: ['REOPENED'] }, true],
  ])('the counts of %j are those of a full scan, unless they are incomplete', async (filters, isComplete) => {
    for (const by of ['status', 'priority', 'assignee'] as const) {
      const { counts, is_complete } = await lists.count({ filters, scope: systemScope }, by);
      const column = by === 'assignee' ? 'assignee_id' : by;
      const { rows } = await client.query(
        `SELECT ${column}::text AS value, count(*)::int FROM issues
          WHERE ($1::text IS NULL OR search @@ websearch_to_tsquery('simple', $1) OR number = $2
                 OR id IN (SELECT issue_id FROM comments WHERE words @@ websearch_to_tsquery('simple', $1)))
            AND ($3::text[] IS NULL OR status::text = ANY($3)) AND ($4::text[] IS NULL OR priority::text = ANY($4))
          GROUP BY 1`,
        [filters.search, filters.searchedNumber?.number, filters.status, filters.priority],
      );
      const expected = new Map(rows.map((row) => [row.value, row.count]));
      expect(is_complete).toBe(isComplete && expected.size <= (by === 'assignee' ? 100 : 5));
      for (const { value, count: found, is_capped } of counts) {
        const whole = expected.get(typeof value === 'object' ? (value?.id ?? null) : value) ?? 0;
        if (isComplete) expect([found, is_capped]).toEqual([Math.min(whole, 10_000), whole > 10_000]);
        else expect(found).toBeLessThanOrEqual(whole);
      }
      expect(counts.length).toBe(by === 'assignee' ? Math.min(100, expected.size) : 5);
    }
  });

  // The second oldest issue has 11,001 comments.
  it.each(['oldest', 'newest'] as const)('a page of the %s comments reads no others', async (order) => {
    const after = { createdAt: new Date().toISOString(), id: busyPerson };
    for (const place of [undefined, after]) {
      const page = { limit: 101, after: place, order };
      const plan = await explainRead((database) =>
        new IssueReader(database).listComments({ number: 2, scope: systemScope }, page),
      );
      expect(plan.comments).toBeLessThanOrEqual(101);
      expect(plan.scanned).not.toContain('comments');
    }
  });

  it('a page of the feed of events reads no others, also near its end', async () => {
    await client.query(
      `INSERT INTO events (tx, type, subject_id, data) SELECT 10, 'x', gen_random_uuid(), '{}' FROM generate_series(1, 20000)`,
    );
    await client.query('ANALYZE events');
    for (const id of [0, 19_900]) {
      const plan = await explain(client, { text: eventPageStatement, values: [null, '10', id, 200, null] });
      expect(plan.indexes).toContain('events_pkey');
      expect(plan.scanned).not.toContain('events');
    }
  });

  it.each(['oldest', 'newest'] as const)('a page of the %s history reads no other entries', async (order) => {
    await client.query(
      `INSERT INTO activity (issue_id, actor_id, kind)
       SELECT id, reporter_id, 'created' FROM issues, generate_series(1, CASE number WHEN 3 THEN 500 ELSE 1 END) WHERE number < 20000`,
    );
    await client.query('ANALYZE activity');
    for (const after of [undefined, 500]) {
      const page = { limit: 101, after, order };
      const plan = await explainRead((database) =>
        new ActivityRepository(database).list({ number: 3, scope: systemScope }, page),
      );
      expect(plan.indexes).toContain('activity_issue_idx');
      expect(plan.scanned).not.toContain('activity');
      expect(plan.entries).toBeLessThanOrEqual(101);
    }
  });

  // All search strategies (near, rare and walk) and their mixtures must find the same issues.
  it.each([
    'zebrafish',
    'formerly',
    'recently',
    'seldom',
    'w17',
    'w17 -printer',
    'zebraf',
    'form',
    'w49',
    'printer',
    'everywhere',
    'nosuchword',
    'walrus',
    'remark',
    'remark w17',
    'w17 or walrus',
  ])('a search for "%s" returns the same issues as a full scan, page by page', async (search) => {
    // The last word may be a beginning, unless it is excluded.
    const ending = search.includes('-') ? '' : ':*';
    const { rows } = await client.query<{ id: string }>(
      `WITH query AS (SELECT (websearch_to_tsquery('simple', $1)::text || $2)::tsquery AS words)
       SELECT id FROM issues, query
        WHERE id IN (SELECT issue_id FROM issue_search s WHERE s.words @@ query.words)
           OR id IN (SELECT issue_id FROM comments c WHERE c.words @@ query.words AND $1 NOT LIKE '% -%')
          ORDER BY created_at DESC, id DESC LIMIT 350`,
      [search, ending],
    );
    const expected = rows.map(({ id }) => id);
    const request = {
      scope: systemScope,
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
    ['walrus', 4],
    ['chatter', undefined],
    ['w17', undefined],
    ['everywhere', undefined],
  ])('the total of "%s" is %s', async (search, total) => {
    const request = {
      scope: systemScope,
      filters: { search },
      sort: completeOrder(),
      size: 10,
      offset: 0,
      total: 'capped' as const,
    };
    expect((await find(request)).total).toBe(total);
  });

  it('the watched issues of a person are found by indexes, page by page', async () => {
    await client.query(
      `INSERT INTO issue_watchers (issue_id, user_id, is_watching, since)
       SELECT id, CASE WHEN number % 2 = 0 THEN $1 ELSE gen_random_uuid() END, number % 3 > 0, created_at FROM issues
       ON CONFLICT DO NOTHING`,
      [busyPerson],
    );
    await client.query('ANALYZE issue_watchers');
    const since = new Date(Date.now() - count * 1000).toISOString();
    for (const after of [undefined, { since, id: busyPerson }]) {
      const { text, values } = selectWatched(systemScope, busyPerson, { limit: 101, after });
      const plan = await explain(client, { text, values });
      expect(plan.indexes).toEqual(
        expect.arrayContaining(['issue_watchers_user_idx', 'issues_reporter_idx', 'issues_pkey']),
      );
      expect(plan.scanned).not.toContain('comments');
      // Of those reported and those with a row at most a page each, and the issues of the page.
      expect(plan.visited).toBeLessThanOrEqual(3 * 101);
    }
  });

  it('notifications are made and listed by indexes, also for thousands of watchers', async () => {
    await client.query(
      `INSERT INTO notifications
              (identity_id, place, event_id, reason, type, issue_id, comment_id, actor_id, created_at, expires_at)
       SELECT person, place, -place, 'watching', 'issue.updated', i.id, i.id, $1, now(), now() + interval '1 day'
         FROM (SELECT gen_random_uuid() AS person, number FROM generate_series(1, 3000) number) people
         CROSS JOIN generate_series(1, 20) place JOIN issues i ON i.number = people.number`,
      [busyPerson],
    );
    await client.query(
      `INSERT INTO identity_mirror (id, username, email, as_of, source)
       SELECT DISTINCT identity_id, 'x', 'x', now(), 'token' FROM notifications ON CONFLICT DO NOTHING`,
    );
    const issue = `(SELECT id FROM issues WHERE number = 7)`;
    await client.query(
      `INSERT INTO issue_watchers (issue_id, user_id) SELECT DISTINCT ${issue}, identity_id FROM notifications`,
    );
    await client.query('ANALYZE notifications, identity_mirror, issue_watchers');
    // Before the events of other tests, and after those of the feed.
    await client.query(`UPDATE event_readers SET tx = 11, event_id = 0 WHERE name = 'notifications'`);
    await client.query(
      `INSERT INTO events (tx, type, subject_id, data)
       SELECT 11, 'issue.updated', ${issue}, '{"origin": "local"}' FROM generate_series(1, 10)`,
    );
    // The watchers of one change, and then those of the nine deferred ones.
    for (const [statement, more] of [
      [notifyOfEvents(10, '2026-12-31'), 0],
      [notifyOfDeferred, 8],
    ] as const) {
      const { text, values } = statement;
      const made = await explain(client, { text, values });
      const { rows } = await client.query(
        'SELECT count(*)::int FROM notifications WHERE source_place IS NOT NULL AND more_count = $1',
        [more],
      );
      // The watchers and the reporter.
      expect(rows).toEqual([{ count: 3_001 }]);
      const small = ['event_readers', 'deferred_notifications'];
      expect(made.scanned.filter((name) => !small.includes(name))).toEqual([]);
      expect(made.indexes).toContain('issue_watchers_pkey');
    }

    const { rows: people } = await client.query(
      'SELECT user_id FROM issue_watchers ORDER BY since DESC LIMIT 1',
    );
    const filters = { isUnread: undefined, state: undefined, reasons: undefined, issue: undefined };
    const listed = selectNotifications({ ...systemScope, readerId: people[0]?.user_id }, filters, {
      limit: 51,
      after: { place: '25' },
    });
    const page = await explain(client, { text: listed.text, values: listed.values });
    expect(page.scanned).toEqual([]);
    expect(page.indexes).toContain('notifications_pkey');
    expect(page.visited).toBeLessThanOrEqual(51);
  });
});

/** Explains the statement that a repository sends. */
async function explainRead(read: (database: Database) => Promise<unknown>): Promise<Plan> {
  const statements: Prisma.Sql[] = [];
  const $queryRaw = async (query: TemplateStringsArray | Prisma.Sql, ...values: unknown[]) => {
    statements.push('strings' in query ? query : Prisma.sql(query, ...values));
    return [];
  };
  await read(Object.create(app.database, { $queryRaw: { value: $queryRaw } }));
  const [statement] = statements;
  if (statement === undefined) throw new Error('no statement was sent');
  return explain(client, { text: statement.text, values: statement.values });
}

function find(request: IssueListRequest): Promise<IssueListPage> {
  return lists.find({ request, page: undefined, url: 'http://issues.test/' });
}

function idsOf({ items }: IssueListPage): string[] {
  return JSON.parse(items).map(({ id }: { id: string }) => id);
}
