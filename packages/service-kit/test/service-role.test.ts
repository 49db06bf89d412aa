import { randomBytes } from 'node:crypto';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { createServiceDatabase, withRole } from '@tessera/stack/postgres';
import { MigrationError, migrate } from '../src/database/migrate.ts';
import { startChild } from './support/child-process.ts';
import { createPrismaFolder, type PrismaFolder } from './support/prisma-folder.ts';
import { adminUrl, adoptDatabase, dropDatabases, run } from './support/test-database.ts';

let folder: PrismaFolder;
let ownerUrl: string;
let serviceUrl: string;
let role: string;

async function prepare(): Promise<void> {
  const name = adoptDatabase(`kit_role_${randomBytes(6).toString('hex')}`);
  role = `${name}_service`;
  const owner = { role: `${name}_owner`, password: 'owner' };
  serviceUrl = await createServiceDatabase(adminUrl(), { database: name, role, password: 'service', owner });
  ownerUrl = withRole(serviceUrl, owner);
  folder = createPrismaFolder();
  folder.write(
    '20260101000000_first',
    `CREATE TABLE things (id serial PRIMARY KEY, name text);
     CREATE TABLE history (id bigserial PRIMARY KEY, what text);
     CREATE TABLE kept (id int);
     CREATE FUNCTION forget() RETURNS int LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog
       AS 'DELETE FROM public.history; SELECT 1';
     REVOKE ALL ON FUNCTION forget() FROM PUBLIC;`,
  );
}

const apply = (name = role) =>
  migrate({
    connectionString: ownerUrl,
    prismaDir: folder.path,
    serviceRole: { name, tableRights: { history: ['INSERT'], kept: ['INSERT', 'UPDATE'] } },
  });
const asService = (sql: string) => run(serviceUrl, sql);
const denied = { code: '42501' };

afterAll(dropDatabases);

// Denied statements change nothing, so they share a database.
describe("the service's role after the migrations", () => {
  beforeAll(async () => {
    await prepare();
    await apply();
    await asService(`INSERT INTO history (what) VALUES ('x')`);
  });
  afterAll(() => folder.remove());

  it.each([
    `UPDATE history SET what = 'y'`,
    'DELETE FROM history',
    'TRUNCATE history',
    'TRUNCATE things',
    'SELECT FROM history FOR UPDATE',
    'DELETE FROM kept',
    'DELETE FROM _prisma_migrations',
    `INSERT INTO _prisma_migrations (id, checksum, migration_name) VALUES ('x', 'x', 'x')`,
    'DROP TABLE things',
    'ALTER TABLE history DISABLE TRIGGER ALL',
    'ALTER TABLE things ADD COLUMN more int',
    'CREATE INDEX ON things (name)',
    'CREATE TRIGGER t BEFORE INSERT ON history EXECUTE FUNCTION suppress_redundant_updates_trigger()',
    'CREATE TABLE mine (id int)',
    'CREATE TEMPORARY TABLE mine (id int)',
    'CREATE SCHEMA mine',
    'CREATE FUNCTION mine() RETURNS int LANGUAGE sql RETURN 1',
    'GRANT ALL ON history TO PUBLIC',
    'DROP FUNCTION forget()',
    'CREATE OR REPLACE FUNCTION forget() RETURNS int LANGUAGE sql AS $$ SELECT 2 $$',
  ])('may not %s', async (statement) => {
    const outcome = await asService(statement).catch((error: unknown) => error);
    // PostgreSQL only warns when a GRANT grants nothing.
    if (!statement.startsWith('GRANT')) expect(outcome).toMatchObject(denied);
    expect(await run(ownerUrl, 'SELECT what FROM history')).toEqual([{ what: 'x' }]);
    const [rights] = await run(
      ownerUrl,
      `SELECT relacl::text AS rights FROM pg_class WHERE relname = 'history'`,
    );
    expect(rights?.rights).not.toMatch(/[{,]=/);
  });
});

describe("the service's role", () => {
  beforeEach(prepare);
  afterEach(() => folder.remove());

  it('may read and change rows, use sequences and call functions', async () => {
    await apply();
    await asService(`INSERT INTO things (name) VALUES ('a'); UPDATE things SET name = 'b'`);
    expect(await asService('DELETE FROM things RETURNING id, name')).toEqual([{ id: 1, name: 'b' }]);
    await asService('INSERT INTO kept VALUES (1); UPDATE kept SET id = 2');
    await asService(`INSERT INTO history (what) VALUES ('x')`);
    await asService('SELECT forget()');
    expect(await asService('SELECT * FROM history')).toEqual([]);
    expect(await asService('SELECT migration_name FROM _prisma_migrations')).toHaveLength(1);
  });

  it('cannot assume the rights of the owner', async () => {
    await apply();
    await expect(asService(`SET ROLE ${role.replace(/_service$/, '_owner')}`)).rejects.toMatchObject(denied);
  });

  it('gets the same rights each time, also on new tables, and loses rights that were granted by hand', async () => {
    await apply();
    await run(ownerUrl, `GRANT ALL ON history, things TO ${role}`);
    folder.write('20260102000000_second', 'CREATE TABLE more (id serial PRIMARY KEY);');
    expect(await apply()).toEqual(['20260102000000_second']);
    expect(await apply()).toEqual([]);
    await asService('INSERT INTO more DEFAULT VALUES');
    await expect(asService('DELETE FROM history')).rejects.toMatchObject(denied);
    await expect(asService('TRUNCATE things')).rejects.toMatchObject(denied);
  });

  it('can immediately use tables that the owner creates with another tool', async () => {
    await apply();
    await run(ownerUrl, 'CREATE TABLE later (id serial PRIMARY KEY)');
    await asService('INSERT INTO later DEFAULT VALUES');
  });

  it("must exist and must not have the owner's rights: otherwise the migrations are applied, and the error names the role", async () => {
    for (const [name, reason] of [
      ['nobody_of_that_name', 'does not exist'],
      [new URL(ownerUrl).username, 'has all rights of the role that migrates'],
      [new URL(adminUrl()).username, 'has all rights of the role that migrates'],
    ] as const) {
      const failure = await apply(name).catch((error: unknown) => error);
      expect(failure).toBeInstanceOf(MigrationError);
      expect(String(failure)).toContain(`The rights of ${name} were not granted: `);
      expect(String(failure)).toContain(reason);
    }
    expect(await run(ownerUrl, 'SELECT * FROM things')).toEqual([]);
  });

  it('is set by SERVICE_DATABASE_ROLE, with MIGRATION_DATABASE_URL for the migrator', async () => {
    const environment = {
      DATABASE_URL: serviceUrl,
      MIGRATION_DATABASE_URL: ownerUrl,
      SERVICE_DATABASE_ROLE: role,
    };
    const options = { prismaDir: folder.path, tableRights: { history: ['INSERT'] } };
    const migrator = startChild('run-migrations-process.ts', options, environment);
    expect([await migrator.ended, migrator.errors()]).toEqual([0, '']);
    expect(await asService('INSERT INTO things DEFAULT VALUES RETURNING id')).toEqual([{ id: 1 }]);
    await expect(asService('DELETE FROM history')).rejects.toMatchObject(denied);
  });
});

describe("the migrator's environment", () => {
  it.each([
    [{}, /DATABASE_URL: is required, or MIGRATION_DATABASE_URL/],
    [{ MIGRATION_DATABASE_URL: 'mysql://hunter2@db' }, /MIGRATION_DATABASE_URL: must be a postgresql:/],
    [{ DATABASE_URL: 'mysql://hunter2@db' }, /^(?!.*required).*DATABASE_URL: must be a postgresql:/s],
  ])('refuses %j, and names the variable without its value', async (environment, message) => {
    const migrator = startChild('run-migrations-process.ts', {}, environment);
    expect(await migrator.ended).toBe(1);
    expect(migrator.errors()).toMatch(message);
    expect(migrator.errors()).not.toContain('hunter2');
  });
});
