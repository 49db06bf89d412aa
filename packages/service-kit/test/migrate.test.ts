import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { rmSync } from 'node:fs';
import { type AddressInfo, connect, createServer } from 'node:net';
import { join } from 'node:path';
import { pipeline } from 'node:stream';
import { afterAll, afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { eventually } from '@tessera/stack/eventually';
import { MigrationError, migrate } from '../src/database/migrate.ts';
import { listMigrations } from '../src/database/migrations.ts';
import { startChild } from './support/child-process.ts';
import { createPrismaFolder, type PrismaFolder } from './support/prisma-folder.ts';
import { createDatabase, dropDatabases, run } from './support/test-database.ts';

let folder: PrismaFolder;
let url: string;

afterAll(dropDatabases);

beforeEach(async () => {
  folder = createPrismaFolder();
  url = await createDatabase();
});

afterEach(() => folder.remove());

const apply = () => migrate({ connectionString: url, prismaDir: folder.path });
const tables = async () => {
  const rows = await run<{ name: string }>(
    url,
    "SELECT table_name AS name FROM information_schema.tables WHERE table_schema = 'public' ORDER BY 1",
  );
  return rows.map((row) => row.name).filter((name) => name !== '_prisma_migrations');
};

const until = (query: string, rowCount: number) =>
  eventually(
    () => run(url, query),
    (rows) => rows.length === rowCount,
  );

describe('migrate', () => {
  it('applies missing migrations in order, and returns their names', async () => {
    folder.write('20260102000000_second', 'ALTER TABLE things ADD COLUMN title text;');
    folder.write('20260101000000_first', 'CREATE TABLE things (id int PRIMARY KEY);');
    expect(listMigrations(folder.path)).toEqual(['20260101000000_first', '20260102000000_second']);
    expect(await apply()).toEqual(['20260101000000_first', '20260102000000_second']);
    expect(await apply()).toEqual([]);
    folder.write('20260103000000_third', 'CREATE TABLE more (id int PRIMARY KEY);');
    expect(await apply()).toEqual(['20260103000000_third']);
    expect(await tables()).toEqual(['more', 'things']);
  });

  it('changes nothing if a newer release has migrated already, so that a release can be rolled back', async () => {
    folder.write('20260101000000_first', 'CREATE TABLE things (id int PRIMARY KEY);');
    folder.write('20260102000000_second', 'CREATE TABLE more (id int PRIMARY KEY);');
    await apply();
    rmSync(join(folder.path, 'migrations/20260102000000_second'), { recursive: true });
    expect(await apply()).toEqual([]);
    expect(await tables()).toEqual(['more', 'things']);
  });

  it('sends a script as one string: function bodies, quotes and comments may contain semicolons', async () => {
    folder.write(
      '20260101000000_function',
      `CREATE TABLE things (id int PRIMARY KEY, note text DEFAULT 'a;b'); -- one; two
       CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$
       BEGIN
         PERFORM 1; PERFORM 2;
         RAISE EXCEPTION 'no; never';
       END;
       $$;
       CREATE TRIGGER guard BEFORE DELETE ON things FOR EACH STATEMENT EXECUTE FUNCTION refuse();`,
    );
    await apply();
    await expect(run(url, 'DELETE FROM things')).rejects.toThrow('no; never');
  });

  it('lets concurrent processes wait for each other: both succeed, and each migration runs once', async () => {
    folder.write('20260101000000_slow', 'CREATE TABLE things (id int PRIMARY KEY); SELECT pg_sleep(1);');
    folder.write('20260102000000_data', 'INSERT INTO things VALUES (1);');
    const options = { connectionString: url, prismaDir: folder.path };
    const replicas = [1, 2].map(() => startChild('migrate-process.ts', options));
    expect(await Promise.all(replicas.map((replica) => replica.ended))).toEqual([0, 0]);
    const applied = replicas.map((replica) => JSON.parse(replica.output()).length).sort();
    expect(applied).toEqual([0, 2]);
    expect(await run(url, 'SELECT id FROM things')).toEqual([{ id: 1 }]);
  });

  it('fails without changes when the lock is held for too long', async () => {
    folder.write('20260101000000_slow', 'CREATE TABLE things (id int PRIMARY KEY); SELECT pg_sleep(1.5);');
    const first = apply();
    await new Promise((resolve) => setTimeout(resolve, 500));
    const second = migrate({ connectionString: url, prismaDir: folder.path, lockTimeoutMs: 100 });
    await expect(second).rejects.toThrow(/lock timeout/);
    expect(await first).toEqual(['20260101000000_slow']);
  });

  it('stops at a failing migration, names it, reverts it, and applies it after a correction', async () => {
    folder.write('20260101000000_first', 'CREATE TABLE things (id int PRIMARY KEY);');
    folder.write('20260102000000_wrong', 'CREATE TABLE half (id int); INSERT INTO nowhere VALUES (1);');
    folder.write('20260103000000_last', 'CREATE TABLE last (id int);');
    const failure = await apply().catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(MigrationError);
    expect(failure).toMatchObject({
      message: expect.stringMatching(/20260102000000_wrong failed: .*nowhere/s),
    });
    expect(await tables()).toEqual(['things']);

    folder.write('20260102000000_wrong', 'CREATE TABLE half (id int);');
    expect(await apply()).toEqual(['20260102000000_wrong', '20260103000000_last']);
    expect(await tables()).toEqual(['half', 'last', 'things']);
  });

  it('fails in the same way while a migration is not corrected', async () => {
    folder.write('20260101000000_wrong', 'SELECT nothing;');
    for (const _attempt of [1, 2]) await expect(apply()).rejects.toThrow(/20260101000000_wrong failed/);
  });

  describe('says that an interrupted run can be repeated, when it loses its connection', () => {
    const endMigrator = async (state: string) => {
      const migrator = `application_name = 'migrate' AND datname = current_database() AND ${state}`;
      await until(`SELECT 1 FROM pg_stat_activity WHERE ${migrator}`, 1);
      await run(url, `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE ${migrator}`);
    };
    const toldToRepeat = (running: Promise<unknown>) =>
      expect(running).rejects.toThrow(/interrupted; run it again, it continues/);

    it('in a migration', async () => {
      folder.write('20260101000000_slow', 'CREATE TABLE things (id int); SELECT pg_sleep(240);');
      const told = toldToRepeat(apply());
      await endMigrator("query LIKE '%pg_sleep(240)%'");
      await told;
    });

    it('while it waits for another migrator', async () => {
      folder.write('20260101000000_first', 'CREATE TABLE things (id int);');
      folder.write('20260102000000_slow', 'SELECT pg_sleep(240);');
      const first = toldToRepeat(apply());
      await until(
        "SELECT 1 FROM pg_stat_activity WHERE query LIKE '%pg_sleep(240)%' AND datname = current_database() AND pid <> pg_backend_pid()",
        1,
      );
      const second = toldToRepeat(apply());
      await endMigrator("wait_event_type = 'Lock'");
      await second;
      await endMigrator("query LIKE '%pg_sleep(240)%'");
      await first;
    });
  });

  describe('after an interruption', () => {
    const running = "datname = current_database() AND query LIKE '%pg_sleep%' AND pid <> pg_backend_pid()";
    const startSlow = async () => {
      folder.write('20260101000000_first', 'CREATE TABLE first (id int);');
      folder.write('20260102000000_slow', 'CREATE TABLE things (id int PRIMARY KEY); SELECT pg_sleep(1);');
      folder.write('20260103000000_last', 'CREATE TABLE last (id int);');
      const migrator = startChild('migrate-process.ts', { connectionString: url, prismaDir: folder.path });
      await until(`SELECT 1 FROM pg_stat_activity WHERE ${running} AND state = 'active'`, 1);
      return migrator;
    };
    const history = () =>
      run(url, 'SELECT migration_name AS name, finished_at IS NOT NULL AS done FROM _prisma_migrations');

    it('of the migrator, continues after the migration that the server completes', async () => {
      const migrator = await startSlow();
      migrator.process.kill('SIGKILL');
      expect(await migrator.ended).toBe('SIGKILL');
      expect(await apply()).toEqual(['20260103000000_last']);
      expect(await tables()).toEqual(['first', 'last', 'things']);
      expect(await history()).toHaveLength(3);
      expect(await apply()).toEqual([]);
    });

    it.each([
      ['the connection', `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE ${running}`],
      [
        'every connection, as when the server restarts',
        `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
          WHERE datname = current_database() AND application_name = 'migrate'`,
      ],
    ])('of %s, runs the migration again', async (_what, interruption) => {
      const migrator = await startSlow();
      await run(url, interruption);
      expect(await migrator.ended).toBe(1);
      expect(migrator.errors()).not.toContain("Unhandled 'error' event");
      expect(await tables()).toEqual(['first']);
      expect(await apply()).toEqual(['20260102000000_slow', '20260103000000_last']);
      expect(await tables()).toEqual(['first', 'last', 'things']);
    });

    it('at any time, continues', async () => {
      for (let index = 0; index < 8; index += 1)
        folder.write(
          `2026010${index + 1}000000_step`,
          `CREATE TABLE t${index} (id int); SELECT pg_sleep(0.05);`,
        );
      const isConnected =
        "SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'migrate' LIMIT 1";
      for (const delay of [0, 60, 150, 260]) {
        const migrator = startChild('migrate-process.ts', { connectionString: url, prismaDir: folder.path });
        // On a slow machine, a process can have ended before its connection is seen.
        await Promise.race([until(isConnected, 1).catch(() => undefined), migrator.ended]);
        await new Promise((resolve) => setTimeout(resolve, delay));
        migrator.process.kill('SIGKILL');
        await migrator.ended;
      }
      await apply();
      expect(await tables()).toHaveLength(8);
      const rows = await run<{ done: boolean }>(
        url,
        'SELECT rolled_back_at IS NULL AS done FROM _prisma_migrations',
      );
      expect(rows.filter(({ done }) => done)).toHaveLength(8);
    });
  });

  it('refuses to continue after a migration that another tool has not ended', async () => {
    folder.write('20260101000000_first', 'CREATE TABLE first (id int);');
    await apply();
    await run(url, 'UPDATE _prisma_migrations SET finished_at = NULL');
    await expect(apply()).rejects.toThrow('20260101000000_first was started by another tool');
  });

  it('records the checksum of the file, and the reason of a failure, as Prisma does', async () => {
    const script = 'CREATE TABLE first (id int); -- é\n';
    folder.write('20260101000000_first', script);
    folder.write('20260102000000_wrong', 'SELECT nothing;');
    await expect(apply()).rejects.toThrow(MigrationError);
    const checksum = createHash('sha256').update(script).digest('hex');
    expect(
      await run(
        url,
        `SELECT migration_name AS name, checksum, logs, applied_steps_count AS steps, started_at <= finished_at AS finished,
                rolled_back_at IS NOT NULL AS reverted FROM _prisma_migrations ORDER BY 1`,
      ),
    ).toEqual([
      { name: '20260101000000_first', checksum, logs: null, steps: 1, finished: true, reverted: false },
      {
        name: '20260102000000_wrong',
        checksum: expect.stringMatching(/^[0-9a-f]{64}$/),
        logs: expect.stringContaining('nothing'),
        steps: 0,
        finished: null,
        reverted: true,
      },
    ]);
  });

  it('runs scripts with the same text, and one that ends with a comment', async () => {
    for (const day of [1, 2])
      folder.write(`2026010${day}000000_same`, 'CREATE TABLE IF NOT EXISTS a (); -- end');
    expect(await apply()).toHaveLength(2);
    expect(await run(url, 'SELECT 1 FROM _prisma_migrations WHERE applied_steps_count = 1')).toHaveLength(2);
  });

  it('refuses the database of another service, and changes nothing', async () => {
    folder.write('20260101000000_theirs', 'CREATE TABLE theirs (id int);');
    await apply();
    rmSync(join(folder.path, 'migrations/20260101000000_theirs'), { recursive: true });
    folder.write('20260102000000_ours', 'CREATE TABLE ours (id int);');
    const refusal =
      'its first migration is 20260101000000_theirs, that of this service is 20260102000000_ours';
    await expect(apply()).rejects.toThrow(refusal);
    expect(await tables()).toEqual(['theirs']);
  });

  it('reports an unavailable database as such, not as a failed migration', async () => {
    folder.write('20260101000000_first', 'CREATE TABLE things (id int PRIMARY KEY);');
    const gone = migrate({
      connectionString: 'postgresql://user@127.0.0.1:1/none',
      prismaDir: folder.path,
    });
    await expect(gone).rejects.toMatchObject({ code: 'ECONNREFUSED' });
  });

  it('waits for a server that does not accept connections yet, and not for a database that is missing', async () => {
    folder.write('20260101000000_first', 'CREATE TABLE things (id int PRIMARY KEY);');
    const target = new URL(url);
    const reserved = createServer().listen(0, '127.0.0.1');
    await once(reserved, 'listening');
    const { port } = reserved.address() as AddressInfo;
    reserved.close();
    await once(reserved, 'close');
    const [later, wrong] = [new URL(url), new URL(url)];
    later.host = `127.0.0.1:${port}`;
    wrong.pathname = '/no_such_database';
    const options = { prismaDir: folder.path, connectTimeoutMs: 20_000 };
    const applied = migrate({ ...options, connectionString: later.href });
    await expect(migrate({ ...options, connectionString: wrong.href })).rejects.toMatchObject({
      code: '3D000',
    });
    const forwarder = createServer((socket) => {
      const server = connect(Number(target.port), target.hostname);
      pipeline(socket, server, socket, () => undefined);
    }).listen(port, '127.0.0.1');
    expect(await applied).toEqual(['20260101000000_first']);
    forwarder.close();
  });
});
