import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import './support/response-guard.ts';
import { createLogger, type Metrics } from '@tessera/service-kit';
import { eventually } from '@tessera/stack/eventually';
import { expectInvalidFields } from '@tessera/testing/problems';
import { loadConfig } from '../src/config.ts';
import { createListReads } from '../src/database.ts';
import type { IssueSnapshot } from '../src/issue-core/issue.ts';
import { isOlder, revisionOf } from '../src/issue-list/listed-revision.ts';
import { Browser } from './support/browser.ts';
import { testEnvironment } from './support/environment.ts';
import { openReady, type ReceivedEvent } from './support/event-stream.ts';
import { createIssue, issuePath, issuesPath } from './support/issues.ts';
import { aPerson, type TestPerson } from './support/people.ts';
import { startTestApp, type TestApp } from './support/test-app.ts';
import { createTestDatabase, openTestDatabase } from './support/test-database.ts';

const header = 'x-data-position';
const load = (url: string) =>
  loadConfig(testEnvironment('postgresql://localhost/issues', 'https://id.test', { READ_DATABASE_URL: url }));

describe('READ_DATABASE_URL', () => {
  it.each([
    'https://user:p@ss@db/issues',
    'postgresql://user:p%@[db/issues',
    'postgresql://user:secret@db/issues?sslmode=always',
    'secret',
  ])('is refused by its name alone: %s', (url) => {
    let problem = '';
    try {
      load(url);
    } catch (error) {
      problem = String(error);
    }
    expect(problem).toMatch(/^ConfigError: The configuration is invalid:\n {2}READ_DATABASE_URL: [^\n]+$/);
    for (const secret of ['p@ss', 'p%', 'secret']) expect(problem).not.toContain(secret);
  });

  it('is optional', () => {
    expect(load('').readDatabaseUrl).toBeUndefined();
    expect(load('postgresql://db-ro/issues').readDatabaseUrl).toBe('postgresql://db-ro/issues');
  });
});

describe('without READ_DATABASE_URL', () => {
  let app: TestApp;
  let ann: TestPerson;
  beforeAll(async () => {
    app = await startTestApp();
    ann = await aPerson(app);
  });
  afterAll(() => app.close());

  it('no response has a position, and one in a request has no effect', async () => {
    const created = await ann.post(issuesPath, { title: 'One' }).expect(201);
    expect(created.headers[header]).toBeUndefined();
    for (const value of ['0'.repeat(24), 'F'.repeat(24)]) {
      const { body, headers } = await ann.get(issuesPath).set(header, value).expect(200);
      expect([body.length, headers[header]]).toEqual([1, undefined]);
    }
    expect((await ann.get('/api/v1/events/').expect(200)).headers[header]).toBeUndefined();
    const stream = await openReady(app.url, ann);
    expect(stream.text()).not.toContain('position');
    stream.close();
    expect(await app.dependencies.metrics.registry.metrics()).not.toContain('issues_list_');
  });

  it.each(['', '1', 'G'.repeat(24), 'f'.repeat(24), 'F'.repeat(25), `${'0'.repeat(24)}, ${'0'.repeat(24)}`])(
    'a malformed position is refused: %s',
    async (value) => {
      for (const path of [issuesPath, '/api/v1/issue-pages/', `${issuesPath}counts/?by=status`])
        expectInvalidFields(await ann.get(path).set(header, value), ['X-Data-Position']);
    },
  );

  it('lists are read as if there were no standbys: the source is the database, and nothing else runs', async () => {
    const url = await createTestDatabase();
    const { database, close } = openTestDatabase(url);
    const nothing = new Proxy(
      {},
      {
        get: (_target, name) => {
          throw new Error(`${String(name)} is used`);
        },
      },
    );
    const reads = createListReads(
      { database: { url, poolMax: 1, statementTimeoutMs: 1_000 }, readDatabaseUrl: undefined },
      { database },
      { logger: createLogger({ service: 'issues', level: 'silent' }), metrics: nothing as Metrics },
    );
    expect(await reads.source.read(async (within) => within)).toBe(database);
    await close();
  });
});

// The server at the URL is no standby, so the primary serves the lists; with standbys, see the tests of both services.
describe('with READ_DATABASE_URL', () => {
  let app: TestApp;
  let ann: TestPerson;
  beforeAll(async () => {
    const databaseUrl = await createTestDatabase();
    const more = { READ_DATABASE_URL: databaseUrl, CORS_ORIGINS: 'https://app.test', WEB_APP: 'on' };
    app = await startTestApp(more, { databaseUrl });
    ann = await aPerson(app);
  });
  afterAll(() => app.close());

  it('lists are of the primary while the server is no standby, which the log says once', async () => {
    await createIssue(ann);
    for (let count = 0; count < 3; count += 1)
      expect((await ann.get(issuesPath).expect(200)).body.length).toBeGreaterThan(0);
    const lines = app.log.filter((line) => line.includes('lists are read from the'));
    expect(lines.map((line) => JSON.parse(line))).toMatchObject([
      { level: 'warn', msg: 'lists are read from the primary', reason: expect.any(String) },
    ]);
    const metrics = await app.dependencies.metrics.registry.metrics();
    expect(metrics).toContain('issues_list_standby_usable{service="issues"} 0');
    expect(metrics).toMatch(/issues_list_reads_total\{server="primary",service="issues"\} \d/);
    expect(metrics).toContain('pool="standby lists"');
    await app.http.get('/readyz').expect(200);
  });

  it('writes tell a position that never decreases; reads and refusals tell none', async () => {
    const issue = await createIssue(ann);
    const positions: (string | undefined)[] = [];
    for (const request of [
      ann.patch(issuePath(issue), { title: 'Two' }).expect(200),
      ann.post(issuePath(issue, 'comments/'), { body: 'x' }).expect(201),
      ann.put(issuePath(issue, 'watch/')).expect(200),
      ann.post(issuePath(issue, 'status/'), { status: 'CLOSED' }).set('Idempotency-Key', 'k').expect(200),
      ann.post(issuePath(issue, 'status/'), { status: 'CLOSED' }).set('Idempotency-Key', 'k').expect(200),
    ])
      positions.push((await request).headers[header]);
    for (const position of positions) expect(position).toMatch(/^[\dA-F]{24}$/);
    expect(positions.toSorted()).toEqual(positions);
    for (const request of [
      ann.get(issuePath(issue)).expect(200),
      ann.get(issuesPath).expect(200),
      ann.patch(issuePath(issue), { title: '' }).expect(422),
    ])
      expect((await request).headers[header]).toBeUndefined();
    const { headers } = await ann
      .patch(issuePath(issue), { title: 'Three' })
      .set('Origin', 'https://app.test');
    expect(headers['access-control-expose-headers']).toContain('X-Data-Position');
  });

  it('the feed, a stream and the session of the web app tell one with which their events are in lists', async () => {
    const { headers } = await ann.get('/api/v1/events/').expect(200);
    expect(headers[header]).toMatch(/^[\dA-F]{24}$/);
    const stream = await openReady(app.url, ann);
    const issue = await createIssue(ann);
    const { events } = stream;
    const isOwn = ({ type, data }: ReceivedEvent) =>
      type === 'issue.created' && JSON.stringify(data).includes(issue.id);
    await eventually(() => events.some(isOwn));
    const created = events.findIndex(isOwn);
    const [told] = events
      .slice(0, created)
      .filter(({ type }) => type === 'position')
      .slice(-1);
    expect(told?.data).toEqual({ position: expect.stringMatching(/^[\dA-F]{24}$/) });
    // A position is no event: a client does not resume from it.
    expect(stream.text()).not.toMatch(/id: [^\n]*\nevent: position/);
    stream.close();
    const session = await new Browser(app.http).get('/app/session').expect(200);
    expect(session.headers[header]).toMatch(/^[\dA-F]{24}$/);
  });
});

describe('a cached text', () => {
  const revision = (more: Partial<IssueSnapshot>) =>
    revisionOf({ branch: 2, rev: 5, labelRev: 7, trackerRev: 1, ...more } as IssueSnapshot);

  it.each<[string, Partial<IssueSnapshot>, boolean]>([
    ['an older issue', { rev: 4, labelRev: 9 }, true],
    ['older labels', { labelRev: 6 }, true],
    ['the same', {}, false],
    ['a newer issue', { rev: 6, labelRev: 1 }, false],
    ['newer labels', { labelRev: 8 }, false],
    ['an issue of another branch', { branch: 1, rev: 1 }, false],
  ])('is or is not kept before %s', (_what, other, isKept) => {
    expect(isOlder(revision(other), revision({}))).toBe(isKept);
  });
});
