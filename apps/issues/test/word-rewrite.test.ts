import { randomBytes } from 'node:crypto';
import { cpSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { IssueSummary } from '@tessera/contracts';
import { migrate } from '@tessera/service-kit/migrate';
import pg from 'pg';
import { FakeIdentity } from './support/fake-identity.ts';
import { issuesPath } from './support/issues.ts';
import { aPerson, type TestPerson } from './support/people.ts';
import { startTestApp, type TestApp } from './support/test-app.ts';

const prismaDir = join(import.meta.dirname, '../prisma');
const count = 180;
let app: TestApp;
let other: TestApp;
let ann: TestPerson;
let client: pg.Client;
let identity: FakeIdentity;
let earlier: { rev: number; event_tx: string }[];

const states = () => client.query('SELECT rev, event_tx FROM issues ORDER BY id').then(({ rows }) => rows);

beforeAll(async () => {
  const url = new URL(process.env.TEST_ADMIN_URL ?? '');
  const name = `issues_${randomBytes(6).toString('hex')}`;
  const admin = new pg.Client({ connectionString: url.href });
  await admin.connect();
  await admin.query(`CREATE DATABASE ${name} OWNER issues`);
  await admin.end();
  [url.username, url.password, url.pathname] = ['issues', 'issues', `/${name}`];
  // The schema of the release before this module, whose triggers made the words.
  const folder = mkdtempSync(join(tmpdir(), 'tessera-words-'));
  const isEarlier = (path: string) => (/\/migrations\/(\d{8})/.exec(path)?.[1] ?? '') < '20261126';
  cpSync(prismaDir, folder, { recursive: true, filter: isEarlier });
  await migrate({ connectionString: url.href, prismaDir: folder });
  rmSync(folder, { recursive: true });
  client = new pg.Client({ connectionString: url.href });
  await client.connect();
  await client.query(`
    INSERT INTO identity_mirror (id, username, display_name, email, as_of, source)
    VALUES ('01980c5e-0000-7000-8000-000000000001', 'conan', 'Conan O’Brien', 'conan@example.com', now(), 'lookup');
    INSERT INTO issues (id, title, description, priority, comments_count, reporter_id)
    SELECT gen_random_uuid(), 'Klick auf «Drucken» ' || n, '登录页面无法打开 unverändert', 'LOW', 1, '01980c5e-0000-7000-8000-000000000001'
      FROM generate_series(1, ${count}) n;
    INSERT INTO comments (id, issue_id, body, author_id)
    SELECT gen_random_uuid(), id, 'Liste “Export” in comment', reporter_id FROM issues`);
  earlier = await states();
  await migrate({ connectionString: url.href, prismaDir });
  // Holds what is to be rewritten, so that the search of earlier words is seen.
  await client.query(`BEGIN; SELECT FROM word_rewrites WHERE name IN ('issues', 'people') FOR UPDATE`);
  identity = await FakeIdentity.start();
  app = await startTestApp({}, { databaseUrl: url.href, identity });
  other = await startTestApp({}, { databaseUrl: url.href, identity });
  ann = await aPerson(other);
});
afterAll(async () => {
  await client.end();
  await Promise.all([app.close(), other.close()]);
  await identity.stop();
});

async function found(search: string): Promise<number> {
  const { body } = await ann.get(`${issuesPath}?limit=200&search=${encodeURIComponent(search)}`).expect(200);
  return (body as IssueSummary[]).length;
}
const users = async (search: string) =>
  (await ann.get(`/api/v1/users/?search=${encodeURIComponent(search)}`).expect(200)).body.map(
    ({ username }: { username: string }) => username,
  );

describe('words of an earlier release', () => {
  it('are searched until they are rewritten', async () => {
    expect(await found('登录页面无法打开')).toBe(count);
    expect(await found('unverandert')).toBe(count);
    expect(await found('页面')).toBe(0);
    expect(await users('conan')).toEqual(['conan']);
    expect(await users('brien')).toEqual([]);
  });

  it('are not searched where a text has changed', async () => {
    const [issue] = (await ann.get(`${issuesPath}?limit=1&ordering=number`).expect(200)).body;
    await ann.patch(`${issuesPath}${issue.id}/`, { title: 'Neuer „Titel“' }).expect(403);
    const staff = await aPerson(other, { is_staff: true });
    await staff.patch(`${issuesPath}${issue.id}/`, { title: 'Neuer „Titel“' }).expect(200);
    expect([await found('Titel'), await found('klick')]).toEqual([1, count - 1]);
    expect(await found('unverandert titel')).toBe(1);
    earlier = await states().then((rows) => rows.map((row, place) => (row.rev > 1 ? row : earlier[place])));
  });

  it('are rewritten while both replicas serve, and again after an interruption', async () => {
    await client.query('COMMIT');
    await progress(({ name, after }) => name === 'issues' && after !== null);
    await app.close();
    app = await startTestApp({}, { databaseUrl: app.databaseUrl, identity });
    await progress(undefined);
    for (const search of ['Drucken', '页面', '登录页面无法打开', 'Export', 'unverandert'])
      expect({ search, found: await found(search) }).toEqual({
        search,
        found: search === 'Drucken' ? count - 1 : count,
      });
    expect(await users('brien')).toEqual(['conan']);
    expect(await states()).toEqual(earlier);
  });

  /** Waits for a row in a state, or until all are finished. */
  async function progress(isThere: ((row: { name: string; after: string | null }) => boolean) | undefined) {
    for (;;) {
      const { rows } = await client.query('SELECT name, after, finished_at FROM word_rewrites');
      if (rows.every(({ finished_at }) => finished_at !== null)) return;
      if (isThere !== undefined && rows.some(isThere)) return;
      await pause(5);
    }
  }
});
