import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { prefixQuery } from '@tessera/service-kit';
import pg from 'pg';
import { Prisma } from '../src/generated/prisma/client.ts';
import { IdentityMirrorRepository } from '../src/identity-mirror/identity-mirror.repository.ts';
import { listStatement, rankedStatement } from '../src/identity-mirror/people-list.sql.ts';
import type { PeopleFilter, RankedPlace } from '../src/identity-mirror/people-list.ts';
import { systemScope } from '../src/issue-core/project-access.ts';
import { selectByUsernames } from '../src/mentions/mention.repository.ts';
import { busyPerson, fillWithIssues, fillWithPeople } from './support/many-issues.ts';
import { explain } from './support/plans.ts';
import { startTestApp, type TestApp } from './support/test-app.ts';

describe('among 30,000 people', () => {
  let app: TestApp;
  let client: pg.Client;
  beforeAll(async () => {
    app = await startTestApp();
    client = new pg.Client({ connectionString: app.databaseUrl });
    await client.connect();
    await fillWithIssues(client, 1_000);
    await fillWithPeople(client, 30_000);
  });
  afterAll(async () => {
    await client.end();
    await app.close();
  });

  const places = [undefined, { tier: 1, seenOrder: -100, sortName: 'name', id: busyPerson }];

  it.each<[string, PeopleFilter]>([
    ['a letter', { search: 'a', searchEmails: false }],
    ['a search', { search: 'na', searchEmails: false }],
    ['a search by staff', { search: 'na x7', searchEmails: true }],
    ['a search without a match', { search: 'zzz', searchEmails: true }],
    [
      'a search with an issue',
      { search: 'na', searchEmails: false, issue: { number: 1, scope: systemScope } },
    ],
    ['a search for inactive people', { search: 'na', searchEmails: false, isActive: false }],
    ['an issue', { searchEmails: false, issue: { number: 1, scope: systemScope } }],
    [
      'inactive people with an issue',
      { searchEmails: false, isActive: false, issue: { number: 1, scope: systemScope } },
    ],
  ])('%s reads a limited number of blocks', async (_name, filter) => {
    for (const after of places) {
      const { text, values } = rankedStatement(Prisma.sql`m.username`, filter, { after, limit: 101 });
      const plan = await explain(client, { text, values });
      expect(plan.buffers).toBeLessThanOrEqual(2_000);
      expect(plan.scanned).not.toContain('identity_mirror');
    }
  });

  it('a list of inactive people reads no others', async () => {
    const filter = { searchEmails: false, isActive: false };
    const { text, values } = listStatement(Prisma.sql`m.username`, filter, { after: busyPerson, limit: 101 });
    expect((await explain(client, { text, values })).buffers).toBeLessThanOrEqual(10);
  });

  // 150 people have the first name, 60 the surname, every second one the letter.
  it.each(['eena', 'cax', 'user1', 'eena cax', 'unknown', 'a'])(
    'a search for "%s" finds people in their order',
    async (search) => {
      const { rows: expected } = await client.query<{ id: string }>(
        `SELECT id FROM identity_mirror m WHERE m.words @@ $1::tsquery ORDER BY seen_order, sort_name, id LIMIT 300`,
        [prefixQuery(search)],
      );
      const repository = new IdentityMirrorRepository(app.database);
      const filter = { search, searchEmails: false };
      const found: string[] = [];
      let after: RankedPlace | undefined;
      do {
        const page = await repository.listRanked(filter, { after, limit: 50 });
        found.push(...page.map(({ id }) => id));
        after = page.length < 50 ? undefined : page.at(-1);
      } while (after !== undefined && found.length < 300);
      expect(found).toEqual(expected.map(({ id }) => id));
    },
  );

  it('a text with many names finds them by an index', async () => {
    const { text, values } = selectByUsernames(Array.from({ length: 100 }, (_, index) => `user${index + 1}`));
    const plan = await explain(client, { text, values });
    expect(plan.indexes).toEqual(['identity_mirror_username_idx']);
    expect(plan.scanned).toEqual([]);
  });
});
