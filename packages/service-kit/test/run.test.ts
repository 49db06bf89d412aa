import { afterAll, afterEach, describe, expect, it } from '@jest/globals';
import { eventually } from '@tessera/stack/eventually';
import { type Child, startChild } from './support/child-process.ts';
import { createPrismaFolder } from './support/prisma-folder.ts';
import { createDatabase, dropDatabases, run } from './support/test-database.ts';

const children: Child[] = [];

function start(file: string, options: object, environment: Record<string, string>): Child {
  const child = startChild(file, options, { NODE_ENV: 'test', HOST: '127.0.0.1', ...environment });
  children.push(child);
  return child;
}

afterEach(() => {
  for (const child of children.splice(0)) child.process.kill('SIGKILL');
});

afterAll(dropDatabases);

const somewhere = 'postgresql://user@127.0.0.1:1/none';

describe('runService', () => {
  it('serves with the configuration of the environment, and exits 0 on SIGTERM', async () => {
    const service = start('run-service-process.ts', {}, { DATABASE_URL: somewhere, SHUTDOWN_DELAY_MS: '0' });
    await eventually(() => service.output().includes('listening'));
    expect(service.lines()[0]).toMatchObject({
      service: 'run-test',
      host: '127.0.0.1',
      port: expect.any(Number),
    });
    service.process.kill('SIGTERM');
    expect(await service.ended).toBe(0);
  });

  it('exits 78 for an invalid configuration, and names every variable without its value', async () => {
    const environment = { DATABASE_URL: 'mysql://hunter2@db', PORT: 'ninety', TRUST_PROXY: 'true' };
    const service = start('run-service-process.ts', {}, environment);
    expect(await service.ended).toBe(78);
    for (const name of Object.keys(environment)) expect(service.errors()).toContain(`${name}: must be`);
    expect(service.errors()).not.toMatch(/hunter2|ninety/);
  });

  it('exits 1 when its dependencies cannot be created, and prints the reason', async () => {
    const service = start('run-service-process.ts', {}, { DATABASE_URL: somewhere, JWT_AUDIENCE: 'fail' });
    expect(await service.ended).toBe(1);
    expect(service.errors()).toBe('run-test could not start: no keys\n');
  });
});

describe('runMigrations', () => {
  it('applies missing migrations and prints them; prints that there are none the second time', async () => {
    const folder = createPrismaFolder();
    folder.write('20260101000000_first', 'CREATE TABLE things (id int PRIMARY KEY);');
    const url = await createDatabase();
    for (const said of ['applied 20260101000000_first', 'no migration to apply']) {
      const migrator = start('run-migrations-process.ts', { prismaDir: folder.path }, { DATABASE_URL: url });
      expect([await migrator.ended, migrator.output()]).toEqual([0, `run-test: ${said}\n`]);
    }
    expect(await run(url, 'SELECT * FROM things')).toEqual([]);
    folder.remove();
  });

  it('exits 1 when a migration fails, and names it', async () => {
    const folder = createPrismaFolder();
    folder.write('20260101000000_wrong', 'SELECT nothing;');
    const options = { prismaDir: folder.path };
    const migrator = start('run-migrations-process.ts', options, { DATABASE_URL: await createDatabase() });
    expect(await migrator.ended).toBe(1);
    expect(migrator.errors()).toMatch(/^run-test: The migration 20260101000000_wrong failed: /);
    folder.remove();
  });

  it.each(['--help', '-h'])('exits 2 for an unknown option beside %s', async (flag) => {
    const migrator = start('run-migrations-process.ts', { args: [flag, '--bogus'] }, { DATABASE_URL: '' });
    expect([await migrator.ended, migrator.output()]).toEqual([2, '']);
    expect(migrator.errors()).toContain("Unknown option '--bogus'");
  });

  it.each(['--help', '-h'])('prints its help for %s without a database', async (flag) => {
    const migrator = start('run-migrations-process.ts', { args: [flag] }, { DATABASE_URL: '' });
    expect([await migrator.ended, migrator.errors()]).toEqual([0, '']);
    expect(migrator.output()).toMatch(/^Usage: node dist\/migrate\.js\n/);
    for (const part of ['Options:', 'MIGRATION_DATABASE_URL', 'SERVICE_DATABASE_ROLE', 'Example:'])
      expect(migrator.output()).toContain(part);
  });

  it.each([
    ['--nonsense', "Unknown option '--nonsense'"],
    ['deploy', "Unexpected argument 'deploy'"],
    ['--wait=soon', "'soon' is not a number of seconds"],
  ])('exits 2 for %s and applies nothing', async (argument, problem) => {
    const folder = createPrismaFolder();
    folder.write('20260101000000_first', 'CREATE TABLE things (id int PRIMARY KEY);');
    const url = await createDatabase();
    const options = { prismaDir: folder.path, args: [argument] };
    const migrator = start('run-migrations-process.ts', options, { DATABASE_URL: url });
    expect([await migrator.ended, migrator.output(), migrator.errors()]).toEqual([
      ...[2, ''],
      `${problem}. See "node dist/migrate.js --help".\n`,
    ]);
    expect(await run(url, "SELECT to_regclass('things') AS things")).toEqual([{ things: null }]);
    folder.remove();
  });
});
