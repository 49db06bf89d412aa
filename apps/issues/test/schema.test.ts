import { randomBytes } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createServiceDatabase } from '@tessera/stack/postgres';
import { eventIdDrift, findSchemaDrift } from '@tessera/testing/schema-drift';
import pg from 'pg';
import { prismaDir } from '../src/database.ts';
import { createTestDatabase } from './support/test-database.ts';

const only = (index: string) =>
  expect.stringMatching(new RegExp(`^only the migrations make: CREATE INDEX ${index} ON`));

const onlyUnique = (index: string) =>
  expect.stringMatching(new RegExp(`^only the migrations make: CREATE UNIQUE INDEX ${index} ON`));

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
      eventIdDrift.schema,
      only('attachments_expires_idx'),
      only('attachments_store_idx'),
      only('attachments_unbound_idx'),
      only('comments_shown_idx'),
      only('comments_words_idx'),
      only('identity_mirror_email_idx'),
      only('identity_mirror_inactive_idx'),
      only('identity_mirror_inactive_order_idx'),
      only('identity_mirror_order_idx'),
      only('identity_mirror_staff_words_idx'),
      only('identity_mirror_username_idx'),
      only('identity_mirror_words_idx'),
      only('issue_search_words_idx'),
      only('issue_watchers_stopped_idx'),
      only('issue_watchers_user_idx'),
      only('issues_created_idx'),
      only('issues_due_idx'),
      only('issues_labels_idx'),
      only('issues_remind_idx'),
      only('issues_title_idx'),
      only('issues_updated_idx'),
      only('notifications_concerned_idx'),
      only('notifications_inbox_idx'),
      only('notifications_mentioned_idx'),
      only('notifications_snoozed_idx'),
      only('notifications_unread_idx'),
      only('tracker_links_attention_idx'),
      only('tracker_links_conflicts_idx'),
      only('tracker_links_stuck_idx'),
      only('tracker_links_uncertain_idx'),
      only('views_shared_idx'),
      only('web_sessions_pending_idx'),
      only('web_sessions_sso_session_idx'),
      only('webhook_deliveries_actor_idx'),
      only('webhook_deliveries_claim_idx'),
      only('webhook_deliveries_due_idx'),
      onlyUnique('issue_relations_parent_key'),
      onlyUnique('tracker_imports_running_key'),
      eventIdDrift.migrations,
    ]);
  });

  // Migrations redefine functions, so the present source of a function is in the newest of them. A file may begin with a comment.
  it('has the functions and triggers in prisma/functions, each in a file of its own', async () => {
    const { rows } = await client.query<{ name: string; source: string; triggers: string | null }>(`
      SELECT proname AS name, pg_get_functiondef(oid) AS source, (
        SELECT string_agg(pg_get_triggerdef(t.oid, true) || ';', E'\n' ORDER BY tgname)
          FROM pg_trigger t WHERE tgfoid = p.oid AND NOT tgisinternal) AS triggers
        FROM pg_proc p WHERE pronamespace = 'public'::regnamespace
         AND NOT EXISTS (SELECT FROM pg_depend d WHERE d.objid = p.oid AND d.deptype = 'e') ORDER BY proname`);
    const folder = `${prismaDir}/functions`;
    const files = readdirSync(folder).toSorted();
    expect(files).toEqual(rows.map(({ name }) => `${name}.sql`));
    for (const { name, source, triggers } of rows) {
      const written = readFileSync(`${folder}/${name}.sql`, 'utf8').replace(/^(?:--.*\n)+/, '');
      expect(written).toBe(`${source.trim()};\n${triggers === null ? '' : `\n${triggers}\n`}`);
    }
  });

  it('rejects changes of the history, even by the owner', async () => {
    await client.query(
      `INSERT INTO issues (id, title, description, priority, reporter_id)
       VALUES ('01980c5e-0000-7000-8000-000000000001', 'x', '', 'LOW', gen_random_uuid())`,
    );
    await client.query(
      `INSERT INTO activity (issue_id, actor_id, kind) SELECT id, reporter_id, 'created' FROM issues`,
    );
    await client.query(
      `INSERT INTO project_activity (project_id, actor_id, kind) SELECT id, gen_random_uuid(), 'created' FROM projects`,
    );
    for (const statement of [
      `UPDATE activity SET kind = 'y'`,
      'DELETE FROM activity',
      'TRUNCATE activity',
      `UPDATE project_activity SET kind = 'y'`,
      'DELETE FROM project_activity',
      'TRUNCATE project_activity',
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

  it('increases rev with every write to what an issue shows, once in a transaction', async () => {
    const issue = '01980c5e-0000-7000-8000-000000000002';
    await client.query(
      `INSERT INTO issues (id, title, description, priority, reporter_id)
       VALUES ($1, 'x', '', 'LOW', gen_random_uuid())`,
      [issue],
    );
    const revs = async (table: 'issues' | 'tracker_links') => {
      const key = table === 'issues' ? 'id' : 'issue_id';
      return (await client.query(`SELECT rev FROM ${table} WHERE ${key} = $1`, [issue])).rows[0]?.rev;
    };
    const comment = `INSERT INTO comments (id, issue_id, body, origin) VALUES ('${issue}', '${issue}', 'x', 'gitea')`;
    const link = `INSERT INTO issue_links (id, issue_id, type, ref, created_by)
      SELECT gen_random_uuid(), '${issue}', 'entity', n::text, gen_random_uuid() FROM generate_series(1, 3) n`;
    const external = `INSERT INTO tracker_comments (comment_id, issue_id, provider, project, external_created_at)
      VALUES ('${issue}', '${issue}', 'gitea', 'a/b', now())`;
    for (const statement of [
      `UPDATE issues SET title = 'y'`,
      `UPDATE issues SET label_ids = ARRAY['${issue}']::uuid[] WHERE id = '${issue}'`,
      comment,
      external,
      `UPDATE tracker_comments SET external_author = 'eve'`,
      'DELETE FROM tracker_comments',
      `UPDATE comments SET body = 'y'`,
      `UPDATE comments SET attachment_ids = ARRAY['${issue}']::uuid[]`,
      `UPDATE issues SET attachments_count = 1 WHERE id = '${issue}'`,
      'DELETE FROM comments',
      link,
      `UPDATE issue_links SET title = 'y'`,
      'DELETE FROM issue_links',
      `BEGIN; UPDATE issues SET comments_count = 1; ${comment}; ${external}; ${link}; COMMIT`,
    ]) {
      const before = await revs('issues');
      await client.query(statement);
      expect({ statement, rev: await revs('issues') }).toEqual({ statement, rev: before + 1 });
    }
    const unseen = await revs('issues');
    await client.query(
      `INSERT INTO tracker_links (issue_id, provider, project, requested_by) VALUES ($1, 'gitea', 'a/b', $1)`,
      [issue],
    );
    await client.query('UPDATE tracker_links SET next_attempt_at = now()');
    expect([await revs('issues'), await revs('tracker_links')]).toEqual([unseen, 2]);
    await client.query('DELETE FROM tracker_links');
    expect(await revs('issues')).toBe(unseen + 1);
  });

  it('increases the revision of all labels when one changes or is deleted', async () => {
    const rev = async () => (await client.query('SELECT rev FROM label_catalog')).rows[0].rev;
    await client.query(
      `INSERT INTO labels (id, name, key, color) VALUES (gen_random_uuid(), 'a', 'a', '#000000')`,
    );
    expect(await rev()).toBe(1);
    for (const statement of [`UPDATE labels SET name = 'A'`, 'DELETE FROM labels', 'TRUNCATE labels']) {
      const before = await rev();
      await client.query(statement);
      expect({ statement, rev: await rev() }).toEqual({ statement, rev: before + 1 });
    }
    await expect(client.query('INSERT INTO label_catalog VALUES (false)')).rejects.toThrow('one_row_check');
    await expect(client.query('UPDATE issues SET label_ids = NULL')).rejects.toThrow(
      'issues_label_ids_check',
    );
  });

  it('copies the words of an issue to their index, which are no change of the issue', async () => {
    const { rows: created } = await client.query(
      `INSERT INTO issues (id, title, description, priority, reporter_id, search)
       VALUES (gen_random_uuid(), 'ocelot', 'lynx', 'LOW', gen_random_uuid(), 'ocelot') RETURNING id`,
    );
    const read = async () => {
      const { rows } = await client.query(
        'SELECT rev, event_tx, words::text FROM issues JOIN issue_search ON id = issue_id WHERE id = $1',
        [created[0].id],
      );
      return rows[0];
    };
    const before = await read();
    expect(before).toMatchObject({ rev: 1, words: "'ocelot'" });
    await client.query(`UPDATE issues SET search = 'caracal' WHERE id = $1`, [created[0].id]);
    expect(await read()).toEqual({ ...before, words: "'caracal'" });
  });

  it.each([
    ['issues_rev', 'issues', ['event_tx', 'remind_on', 'reminded_on', 'search']],
    ['comments_rev', 'comments', ['words']],
  ])('has a trigger %s for each other column of %s', async (trigger, table, others) => {
    const { rows } = await client.query<{ column: string; isWatched: boolean }>(
      `SELECT attname AS column, attnum = ANY (tgattr::int2[]) AS "isWatched"
         FROM pg_attribute JOIN pg_trigger ON tgrelid = attrelid AND tgname = $1
        WHERE attrelid = $2::regclass AND attnum > 0 AND NOT attisdropped ORDER BY attname`,
      [trigger, table],
    );
    expect(rows.filter(({ isWatched }) => !isWatched).map(({ column }) => column)).toEqual(others);
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
