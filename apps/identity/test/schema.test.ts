import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from '@jest/globals';
import { createServiceDatabase } from '@tessera/stack/postgres';
import { eventIdDrift, findSchemaDrift } from '@tessera/testing/schema-drift';
import pg from 'pg';
import { serviceRole } from './support/database-roles.ts';
import { asOwner, createTestDatabase } from './support/test-app.ts';

const prismaDir = fileURLToPath(new URL('../prisma', import.meta.url));

describe('the database schema', () => {
  it('matches schema.prisma after the migrations', async () => {
    const emptyUrl = await createServiceDatabase(process.env.TEST_ADMIN_URL ?? '', {
      database: `empty_${randomBytes(6).toString('hex')}`,
      ...serviceRole,
    });
    expect(await findSchemaDrift({ migratedUrl: await createTestDatabase(), emptyUrl, prismaDir })).toEqual([
      eventIdDrift.migrations,
      // Prisma has no indexes on expressions.
      'only the migrations make: CREATE INDEX identities_username_idx ON public.identities USING btree (lower(username))',
      'only the migrations make: CREATE INDEX identities_words_idx ON public.identities USING gin (identity_words(username, display_name, email)) WITH (fastupdate=off) WHERE (deleted_at IS NULL)',
      'only the migrations make: CREATE INDEX identities_search_words_idx ON public.identities USING gin (((search_words)::tsvector)) WITH (fastupdate=off) WHERE (deleted_at IS NULL)',
      'only the migrations make: CREATE UNIQUE INDEX identities_live_sso_key ON public.identities USING btree (sso_provider, sso_digest(sso_id)) WHERE ((deleted_at IS NULL) AND (sso_id IS NOT NULL))',
      eventIdDrift.schema,
    ]);
  });

  it('rejects changes of audit events, even by the owner', async () => {
    const client = new pg.Client({ connectionString: asOwner(await createTestDatabase()) });
    await client.connect();
    await client.query(`INSERT INTO audit_events (type, outcome, actor) VALUES ('x', 'success', 'system')`);
    for (const statement of [
      `UPDATE audit_events SET type = 'y'`,
      'DELETE FROM audit_events',
      'TRUNCATE audit_events',
    ]) {
      await expect(client.query(statement)).rejects.toThrow('append-only');
    }
    await client.end();
  });

  it('deletes audit events only after 30 days, for any requested retention, and at most the requested number', async () => {
    const client = new pg.Client({ connectionString: asOwner(await createTestDatabase()) });
    await client.connect();
    await client.query(
      `INSERT INTO audit_events (type, outcome, actor, at)
       SELECT 'x', 'success', 'system', now() - days * interval '1 day' FROM unnest(ARRAY[29.9, 30.1, 35, 40]) AS days`,
    );
    for (const retention of ['29', '0', '-1', 'NULL']) {
      await expect(client.query(`SELECT delete_expired_audit_events(${retention}, 10)`)).rejects.toThrow(
        'append-only',
      );
    }
    const remaining = async (statement: string) => {
      await client.query(statement);
      const { rows } = await client.query('SELECT count(*)::int AS count FROM audit_events');
      return rows[0].count;
    };
    expect(await remaining('SELECT delete_expired_audit_events(36, 10)')).toBe(3);
    expect(await remaining('SELECT delete_expired_audit_events(30, 1)')).toBe(2);
    expect(await remaining('SELECT delete_expired_audit_events(30, 10)')).toBe(1);
    await client.end();
  });

  it('rejects half an SSO pair and an active deleted identity', async () => {
    const client = new pg.Client({ connectionString: asOwner(await createTestDatabase()) });
    await client.connect();
    const insert = (columns: string, values: string) =>
      client.query(
        `INSERT INTO identities (id, email, email_canonical, username, ${columns}) VALUES (gen_random_uuid(), 'a', 'a', 'a', ${values})`,
      );
    await expect(insert('sso_provider', `'google'`)).rejects.toThrow('identities_sso_pair_check');
    await expect(insert('deleted_at', 'now()')).rejects.toThrow('identities_deleted_inactive_check');
    await client.end();
  });
});

describe('schema.prisma', () => {
  it('contains no credentials', () => {
    expect(readFileSync(`${prismaDir}/schema.prisma`, 'utf8')).not.toContain('url');
  });
});
