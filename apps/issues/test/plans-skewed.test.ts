import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import pg from 'pg';
import { createIssue, issuePath, issuesPath } from './support/issues.ts';
import { aPerson, type TestPerson } from './support/people.ts';
import { explain } from './support/plans.ts';
import { startTestApp, type TestApp } from './support/test-app.ts';

const people = 30_000;
const issues = 2_000;
/** Blocks of 8 kB. The tables have more than a thousand, so that no statement may read one of them whole. */
const buffersMax = 700;

interface Statement {
  text: string;
  values: unknown[];
}

// The early people have the lowest ids, as the first team has. By the statistics, every reporter, author and actor is one of them, so
// that PostgreSQL would expect a merge join with the people to end early.
const early = `('00000000-0000-7000-8000-' || lpad(to_hex(n % 20), 12, '0'))::uuid`;
const fill = [
  `INSERT INTO identity_mirror (id, username, email, as_of, source)
   SELECT ${early}, 'early' || n, 'early' || n || '@example.com', now(), 'token' FROM generate_series(0, 19) n`,
  `INSERT INTO identity_mirror (id, username, email, as_of, source)
   SELECT ('01000000-0000-7000-8000-' || lpad(to_hex(n), 12, '0'))::uuid, 'late' || n, 'late' || n || '@example.com', now(), 'token'
     FROM generate_series(1, ${people}) n`,
  `INSERT INTO issues (id, title, description, priority, reporter_id, assignee_id, comments_count, created_at, updated_at)
   SELECT ('01000000-0000-7000-9000-' || lpad(to_hex(n), 12, '0'))::uuid, 'Issue ' || n, '', 'LOW', ${early}, ${early}, 1,
          now() - n * interval '1 minute', now() - n * interval '1 minute' FROM generate_series(1, ${issues}) n`,
  `INSERT INTO comments (id, issue_id, body, author_id) SELECT id, id, 'x', reporter_id FROM issues`,
  `INSERT INTO activity (issue_id, actor_id, kind) SELECT id, reporter_id, 'created' FROM issues`,
  `INSERT INTO notifications (identity_id, place, event_id, reason, type, issue_id, actor_id, created_at, expires_at)
   SELECT ${early}, n, -n, 'watching', 'issue.updated', i.id, ${early}, now(), now() + interval '1 day'
     FROM (SELECT *, row_number() OVER (ORDER BY id) AS n FROM issues) i`,
];

let app: TestApp;
let client: pg.Client;
let late: TestPerson;
let key: string;
let isRecording = false;
const statements = new Map<string, Statement>();
const { query } = pg.Client.prototype;

beforeAll(async () => {
  app = await startTestApp();
  client = new pg.Client({ connectionString: app.databaseUrl });
  await client.connect();
  for (const text of fill) await client.query(text);
  await client.query('VACUUM ANALYZE');
  // Ids that are made now are higher than all others.
  late = await aPerson(app);
  const watcher = await aPerson(app);
  const issue = await createIssue(late, { title: 'Of a late person', assignee_id: watcher.id });
  key = issue.key;
  await late.post(`${issuePath(issue)}comments/`, { body: `@${watcher.username} look` }).expect(201);
  pg.Client.prototype.query = function record(this: pg.Client, ...parts: unknown[]) {
    const [given] = parts;
    if (isRecording && typeof given === 'object' && given !== null && 'text' in given) {
      const { text, values = [] } = given as Statement;
      if (/^\s*(SELECT|WITH)/i.test(text)) statements.set(text, { text, values });
    }
    return Reflect.apply(query, this, parts);
  } as typeof query;
});
afterAll(async () => {
  pg.Client.prototype.query = query;
  await client.end();
  await app.close();
});

describe('a person whose id is beyond the statistics', () => {
  it.each<[string, () => string]>([
    ['the list', () => issuesPath],
    ['the list by status', () => `${issuesPath}?status=OPEN&limit=200`],
    ['the list by reporter and priority', () => `${issuesPath}?priority=LOW&ordering=-updated_at`],
    ['the pages', () => '/api/v1/issue-pages/?page_size=100'],
    ['the counts by assignee', () => `${issuesPath}counts/?by=assignee`],
    ['an issue', () => issuePath({ id: key })],
    ['the comments', () => `${issuePath({ id: key })}comments/`],
    ['the history', () => `${issuePath({ id: key })}activity/`],
    ['the watched issues', () => '/api/v1/users/me/watching/'],
    ['the notifications', () => '/api/v1/notifications/'],
    ['the people of an issue', () => `/api/v1/users/?issue=${key}`],
    ['the people', () => '/api/v1/users/?limit=200'],
  ])('makes %s read no table whole', async (_name, path) => {
    statements.clear();
    isRecording = true;
    await late.get(path()).expect(200);
    isRecording = false;
    expect(statements.size).toBeGreaterThan(0);
    for (const { text, values } of statements.values()) {
      const { buffers } = await explain(client, { text, values });
      expect({ text, isBounded: buffers <= buffersMax, buffers }).toMatchObject({ isBounded: true });
    }
  });
});
