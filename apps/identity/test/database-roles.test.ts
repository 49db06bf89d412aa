import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createServiceDatabase, withDatabase } from '@tessera/stack/postgres';
import pg from 'pg';
import { signedIn } from './support/identities.ts';
import { startTestApp, type TestApp } from './support/test-app.ts';

describe('the database role of the service', () => {
  let app: TestApp;
  let service: pg.Client;
  beforeAll(async () => {
    app = await startTestApp();
    await signedIn(app);
    await app.sql(
      `INSERT INTO audit_events (type, outcome, actor, at) VALUES ('x', 'success', 'system', now() - interval '50 days')`,
    );
    service = new pg.Client({ connectionString: app.databaseUrl });
    await service.connect();
  });
  afterAll(async () => {
    await service.end();
    await app.close();
  });

  const trail = () => app.sql('SELECT * FROM audit_events ORDER BY id');
  const denied = { code: '42501' };

  it('is the role of all connections of the service and owns nothing', async () => {
    const [row] = await app.dependencies.database.$queryRaw<{ user: string; owned: number }[]>`
      SELECT current_user::text AS user,
        (SELECT count(*)::int FROM pg_class WHERE pg_get_userbyid(relowner) = current_user) AS owned`;
    expect(row).toEqual({ user: 'identity', owned: 0 });
  });

  it.each([
    'DELETE FROM identities',
    `UPDATE audit_events SET type = 'y'`,
    'DELETE FROM audit_events',
    `DELETE FROM audit_events WHERE at < now() - interval '49 days'`,
    'TRUNCATE audit_events',
    'TRUNCATE audit_events, identities CASCADE',
    `INSERT INTO audit_events (id, type, outcome, actor) VALUES (1, 'x', 'success', 'system')
       ON CONFLICT (id) DO UPDATE SET type = 'y'`,
    'ALTER TABLE audit_events DISABLE TRIGGER ALL',
    'DROP TRIGGER audit_events_kept ON audit_events',
    'DROP TABLE audit_events',
    'DROP FUNCTION delete_expired_audit_events(integer, integer)',
    `CREATE OR REPLACE FUNCTION refuse_early_audit_delete() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN OLD; END'`,
    'ALTER TABLE identities DROP CONSTRAINT identities_sso_pair_check',
    'DROP INDEX identities_live_email_key',
    'CREATE TABLE mine (id int)',
    'DELETE FROM _prisma_migrations',
    'SET ROLE identity_owner',
    `SET session_replication_role = replica`,
    `COPY audit_events TO PROGRAM 'cat'`,
  ])('is not allowed to %s', async (statement) => {
    const before = await trail();
    await expect(service.query(statement)).rejects.toMatchObject(denied);
    expect(await trail()).toEqual(before);
  });

  it('deletes audit events only through their retention of at least 30 days', async () => {
    const before = await trail();
    for (const [days, batch] of [
      ['29', '10'],
      ['NULL', '10'],
      ['-2147483648', '10'],
      ['400', 'NULL'],
    ]) {
      const call = service.query(`SELECT delete_expired_audit_events(${days}, ${batch})`);
      await expect(call).rejects.toThrow('append-only');
    }
    expect(await trail()).toEqual(before);
    const { rows } = await service.query('SELECT delete_expired_audit_events(49, 10) AS deleted');
    expect(rows).toEqual([{ deleted: 1 }]);
    expect(await trail()).toEqual(before.filter(({ type }) => type !== 'x'));
  });

  it('cannot redirect the retention function with objects in its search path', async () => {
    const before = await trail();
    await expect(service.query('CREATE SCHEMA mine')).rejects.toMatchObject(denied);
    await expect(service.query('CREATE TEMPORARY TABLE audit_events (at timestamptz)')).rejects.toMatchObject(
      denied,
    );
    expect(await trail()).toEqual(before);
  });

  it('cannot connect to the database of another service, and the other service cannot connect to this one', async () => {
    const other = await createServiceDatabase(process.env.TEST_ADMIN_URL ?? '', {
      database: `other_of_${new URL(app.databaseUrl).pathname.slice(1)}`,
      role: 'other_service',
      password: 'other',
      owner: { role: 'other_owner', password: 'other' },
    });
    const names = [other, app.databaseUrl].map((url) => new URL(url).pathname.slice(1));
    for (const url of [withDatabase(app.databaseUrl, names[0] ?? ''), withDatabase(other, names[1] ?? '')]) {
      await expect(new pg.Client({ connectionString: url }).connect()).rejects.toMatchObject(denied);
    }
  });
});
