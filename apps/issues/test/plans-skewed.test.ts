import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { isInBackground } from '@tessera/testing/round-trips';
import { type SentStatement, StatementPlans } from '@tessera/testing/statement-plans';
import pg from 'pg';
import { Prisma } from '../src/generated/prisma/client.ts';
import { createIssue, issuePath } from './support/issues.ts';
import { aPerson, type TestPerson } from './support/people.ts';
import { notCovered, requests, type TourOf } from './support/plan-tour.ts';
import { startTestApp, type TestApp } from './support/test-app.ts';

const sizes = [1_000, 4_000, 16_000];
/** The maximum number of blocks of 8 kB that a statement reads, and how many more of them an index with one more level costs. */
const [buffersMax, slack] = [2_000, 100];

// The early people have the lowest ids, as the first team has. By the statistics, every reporter, author and actor is one of them, so
// that PostgreSQL would expect a merge join with the people to end early. Nearly all issues are closed, of one priority, and seldom
// changed.
const early = `('00000000-0000-7000-8000-' || lpad(to_hex(n % 20), 12, '0'))::uuid`;
const fill = (size: number) => [
  `INSERT INTO identity_mirror (id, username, email, as_of, source, words)
   SELECT ${early}, 'early' || n, 'early' || n || '@example.com', now(), 'token', 'early' FROM generate_series(0, 19) n`,
  `INSERT INTO identity_mirror (id, username, email, as_of, source, words)
   SELECT ('01000000-0000-7000-8000-' || lpad(to_hex(n), 12, '0'))::uuid, 'late' || n, 'late' || n || '@example.com', now(), 'token',
          'late'::tsvector FROM generate_series(1, ${2 * size}) n`,
  `INSERT INTO issues (id, title, description, priority, status, reporter_id, assignee_id, comments_count, created_at, updated_at)
   SELECT ('01000000-0000-7000-9000-' || lpad(to_hex(n), 12, '0'))::uuid, 'Issue ' || n, '', 'LOW',
          (CASE WHEN n <= 300 THEN 'OPEN' ELSE 'CLOSED' END)::issue_status, ${early}, ${early}, 1,
          now() - n * interval '1 minute', now() - n * interval '1 minute' FROM generate_series(1, ${size}) n`,
  `INSERT INTO comments (id, issue_id, body, author_id) SELECT id, id, 'x', reporter_id FROM issues`,
  `INSERT INTO activity (issue_id, actor_id, kind) SELECT id, reporter_id, 'created' FROM issues`,
  `INSERT INTO issue_links (id, issue_id, type, ref, created_by) SELECT id, id, 'invoice', '1', reporter_id FROM issues`,
  `INSERT INTO issue_watchers (issue_id, user_id) SELECT id, ${early} FROM issues, generate_series(0, 1) n`,
  `INSERT INTO notifications (identity_id, place, event_id, reason, type, issue_id, actor_id, created_at, expires_at)
   SELECT ${early}, n, -n, 'watching', 'issue.updated', i.id, ${early}, now(), now() + interval '1 day'
     FROM (SELECT *, row_number() OVER (ORDER BY id) AS n FROM issues) i`,
  'VACUUM ANALYZE',
];

const plans = new StatementPlans(fileURLToPath(new URL('../src', import.meta.url)), Prisma.sql);
const apps: TestApp[] = [];
const tours: TourOf[] = [];

beforeAll(async () => {
  for (const size of sizes) {
    const app = await startTestApp();
    apps.push(app);
    const client = new pg.Client({ connectionString: app.databaseUrl });
    await client.connect();
    for (const text of fill(size)) await client.query(text);
    await client.end();
    // Ids that are made now are higher than all others.
    const [late, staff]: [TestPerson, TestPerson] = [
      await aPerson(app),
      await aPerson(app, { is_staff: true }),
    ];
    const watcher = await aPerson(app);
    const issue = await createIssue(late, { title: 'Of a late person', assignee_id: watcher.id });
    await late.post(issuePath(issue, 'comments/'), { body: `@${watcher.username} look` }).expect(201);
    tours.push({ late, staff, issue, made: {} });
  }
});
afterAll(async () => {
  plans.stop();
  await Promise.all(apps.map((app) => app.close()));
});

describe(`among ${sizes.join(', ')} issues and twice as many people, one of them new`, () => {
  it.each(requests)('%s reads as much', async (_name, send, max) => {
    const sent: SentStatement[][] = [];
    for (const tour of tours) {
      sent.push(
        await plans.during(async () => {
          expect((await send(tour)).status).toBeLessThan(500);
        }),
      );
    }
    const [few = [], ...more] = sent.map((statements) => largest(statements));
    const exceeding = more.flat().flatMap((one) => {
      const among = few.find(({ place }) => place === one.place)?.buffers ?? 0;
      return one.buffers <= (max ?? Math.min(buffersMax, 2 * among + slack)) ? [] : [{ ...one, among }];
    });
    expect(exceeding).toEqual([]);
  });

  it('has every statement of the service, except those that are counted', () => {
    expect(plans.seen.size).toBeGreaterThan(50);
    const files = plans.unseen.map((place) => place.slice(0, place.indexOf(':')));
    const uncovered = [...new Set(files)].map(
      (file) => [file, files.filter((one) => one === file).length] as const,
    );
    expect(uncovered.filter(([file, statements]) => statements > (notCovered[file] ?? 0))).toEqual([]);
  });
});

/** The statement of each place that reads most, without those that process events at random times. */
function largest(statements: readonly SentStatement[]): SentStatement[] {
  const byPlace = new Map<string, SentStatement>();
  for (const one of statements.filter(({ text }) => !isInBackground('', text)))
    if (one.buffers >= (byPlace.get(one.place)?.buffers ?? 0)) byPlace.set(one.place, one);
  return [...byPlace.values()];
}
