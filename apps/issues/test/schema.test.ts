import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { findSchemaDrift } from '@tessera/service-kit/schema-drift';
import { createServiceDatabase } from '@tessera/stack/postgres';
import pg from 'pg';
import { prismaDir } from '../src/database.ts';
import { createTestDatabase } from './support/test-database.ts';

const only = (index: string) =>
  expect.stringMatching(new RegExp(`^only the migrations make: CREATE INDEX ${index} ON`));

describe('the database schema', () => {
  let client: pg.Client;
  let url: string;
  beforeAll(async () => {
    url = await createTestDatabase();
    client = new pg.Client({ connectionString: url });
    await client.connect();
  });
  afterAll(() => client.end());

  it('matches schema.prisma, plus the indexes that Prisma cannot express', async () => {
    const emptyUrl = await createServiceDatabase(process.env.TEST_ADMIN_URL ?? '', {
      database: `empty_${randomBytes(6).toString('hex')}`,
      role: 'issues',
      password: 'issues',
    });
    expect((await findSchemaDrift({ migratedUrl: url, emptyUrl, prismaDir })).sort()).toEqual([
      only('identity_mirror_email_idx'),
      only('identity_mirror_username_idx'),
      only('issues_search_idx'),
      only('issues_title_idx'),
      only('tracker_links_stuck_idx'),
      only('tracker_links_uncertain_idx'),
    ]);
  });

  it('rejects changes of the history, even by the owner', async () => {
    await client.query(
      `INSERT INTO issues (id, title, description, priority, reporter_id)
       VALUES ('01980c5e-0000-7000-8000-000000000001', 'x', '', 'LOW', gen_random_uuid())`,
    );
    await client.query(
      `INSERT INTO activity (issue_id, actor_id, kind) SELECT id, reporter_id, 'created' FROM issues`,
    );
    for (const statement of [
      `UPDATE activity SET kind = 'y'`,
      'DELETE FROM activity',
      'TRUNCATE activity',
      'TRUNCATE issues CASCADE',
    ]) {
      await expect(client.query(statement)).rejects.toThrow('append-only');
    }
  });

  it('rejects a second link to the same target and texts beyond the limits', async () => {
    const link = `INSERT INTO issue_links (id, issue_id, type, ref, created_by)
      SELECT gen_random_uuid(), id, 'invoice', '1', reporter_id FROM issues`;
    await client.query(link);
    await expect(client.query(link)).rejects.toThrow('issue_links_target_key');
    await expect(client.query(`UPDATE issues SET title = ''`)).rejects.toThrow('issues_title_check');
    await expect(client.query(`UPDATE issues SET description = repeat('x', 65001)`)).rejects.toThrow(
      'issues_description_check',
    );
  });

  it('ignores accents in searches', async () => {
    const { rows } = await client.query(
      `SELECT to_tsvector('issue_text', 'Crème') @@ websearch_to_tsquery('issue_text', 'creme') AS found`,
    );
    expect(rows).toEqual([{ found: true }]);
  });

  it('has no constraint on the identity mirror except its primary key', async () => {
    const { rows } = await client.query(
      `SELECT conname FROM pg_constraint WHERE conrelid = 'identity_mirror'::regclass AND contype IN ('u', 'p', 'f')`,
    );
    expect(rows).toEqual([{ conname: 'identity_mirror_pkey' }]);
  });
});

describe('schema.prisma', () => {
  it('contains no credentials', () => {
    expect(readFileSync(`${prismaDir}/schema.prisma`, 'utf8')).not.toMatch(/^\s*url\s*=/m);
  });
});
