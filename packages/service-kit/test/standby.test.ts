import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { eventually } from '@tessera/stack/eventually';
import { type ReplicatedPostgres, startReplicatedPostgres } from '@tessera/stack/postgres';
import type pg from 'pg';
import { migrate } from '../src/database/migrate.ts';
import {
  createPool,
  createDatabase as createServiceDatabase,
  EventFeed,
  Health,
  unavailableWhenDatabaseIsDown,
} from '../src/index.ts';
import { keepLogLines } from './support/log-lines.ts';
import { createPrismaFolder, type PrismaFolder } from './support/prisma-folder.ts';
import { run } from './support/test-database.ts';

let postgres: ReplicatedPostgres;
let folder: PrismaFolder;
const pools: pg.Pool[] = [];

function openPool(): pg.Pool {
  const pool = createPool({
    connectionString: postgres.adminUrl,
    max: 2,
    statementTimeoutMs: 5_000,
    applicationName: 'kit-standby',
    onError: () => undefined,
  });
  pools.push(pool);
  return pool;
}

const errorOf = (promise: Promise<unknown>): Promise<unknown> =>
  promise.then(
    () => undefined,
    (error: unknown) => error,
  );

beforeAll(async () => {
  postgres = await startReplicatedPostgres({ isSynchronous: true });
  folder = createPrismaFolder();
  folder.write(
    '20260101000000_first',
    `CREATE TABLE events (id bigserial, tx bigint DEFAULT pg_current_xact_id()::text::bigint, type text DEFAULT 'x',
       subject_id uuid, data jsonb DEFAULT '{}', at timestamptz DEFAULT now());
     INSERT INTO events (id, tx) VALUES (0, 0);
     CREATE UNLOGGED TABLE counters (n int);`,
  );
  await migrate({ connectionString: postgres.adminUrl, prismaDir: folder.path });
});
afterAll(async () => {
  await Promise.all(pools.map((pool) => pool.end()));
  await postgres.stop();
  folder.remove();
});

/** Adds an event and returns when the feed has it. */
const addEvent = () => run(postgres.adminUrl, 'INSERT INTO events DEFAULT VALUES');

describe('a standby', () => {
  const connections = async () => {
    const rows = "SELECT FROM pg_stat_activity WHERE application_name LIKE 'kit-standby%'";
    return (await run(postgres.urls.standby, rows)).length;
  };

  it('gets no connection, is not ready, and is refused as an unavailable database', async () => {
    const { logger, lines } = keepLogLines();
    const service = createServiceDatabase({
      config: { url: postgres.adminUrl, poolMax: 2, statementTimeoutMs: 5_000 },
      applicationName: 'kit-standby',
      logger,
      prismaDir: folder.path,
      createClient: () => undefined,
    });
    const health = new Health({ checks: service.readiness, timeoutMs: 60_000, cacheMs: 0, logger });
    const readiness = (expected: number) =>
      eventually(async () => (await health.readiness()).status === expected);
    await readiness(200);
    postgres.moveTo('standby');
    await readiness(503);
    // Its first reason may be the closed connection.
    await health.readiness();
    expect(lines.at(-1)).toMatchObject({
      msg: 'not ready',
      reasons: { database: 'read-only: the server is a standby' },
    });
    for (const pool of [service.pool, openPool()]) {
      const error = await errorOf(pool.query('SELECT 1'));
      expect(unavailableWhenDatabaseIsDown(error)).toMatchObject({ status: 503 });
    }
    expect(await connections()).toBe(0);
    postgres.moveTo('primary');
    // The first connection after the move is one to the primary.
    expect((await service.pool.query('SELECT 1 AS one')).rows).toEqual([{ one: 1 }]);
    await readiness(200);
    await service.close();
  });

  it.each([
    'INSERT INTO events DEFAULT VALUES',
    'SELECT n FROM counters',
    'SELECT pg_walfile_name(pg_current_wal_insert_lsn())',
    'SELECT pg_current_xact_id()',
    'LISTEN tessera',
  ])('that a pooler shows is unavailable: %s', async (statement) => {
    const error = await errorOf(run(postgres.urls.standby, statement));
    expect(unavailableWhenDatabaseIsDown(error)).toMatchObject({ status: 503 });
  });

  it('gets no migration: the migrator waits, if told so', async () => {
    const connectionString = postgres.urls.standby;
    const options = { connectionString, prismaDir: folder.path };
    await expect(migrate(options)).rejects.toThrow('read-only: the server is a standby');
    postgres.moveTo('standby');
    const waiting = migrate({ ...options, connectionString: postgres.adminUrl, connectTimeoutMs: 240_000 });
    postgres.moveTo('primary');
    expect(await waiting).toEqual([]);
  });
});

it('a connection whose server can only read is closed', async () => {
  const pool = openPool();
  const client = await pool.connect();
  await client.query('SET default_transaction_read_only = on');
  client.release();
  const error = await errorOf(pool.query('INSERT INTO events DEFAULT VALUES'));
  expect(unavailableWhenDatabaseIsDown(error)).toMatchObject({ status: 503 });
  expect((await pool.query('INSERT INTO events DEFAULT VALUES')).rowCount).toBe(1);
});

// The last test, because the primary does not come back.
it('a failover resets the feed once, at once; not at all if standbys are synchronous', async () => {
  const pool = openPool();
  const feeds = {
    asynchronous: new EventFeed(pool),
    synchronous: new EventFeed(pool, { standbys: 'synchronous' }),
    restored: new EventFeed(pool, { standbys: 'synchronous-2' }),
  };
  await addEvent();
  const cursor = await feeds.asynchronous.findEnd();
  const kept = await feeds.synchronous.findEnd();
  await postgres.killPrimary();
  await postgres.promote();
  postgres.moveTo('standby');
  await addEvent();
  const reset = await feeds.asynchronous.read(cursor, 10);
  expect(reset).toMatchObject({ isReset: true, events: [] });
  await run(postgres.adminUrl, 'CHECKPOINT');
  await addEvent();
  expect(await feeds.asynchronous.read(reset.next, 10)).toMatchObject({ isReset: false });
  expect((await feeds.asynchronous.read(reset.next, 10)).events.length).toBe(1);
  expect(await feeds.synchronous.read(kept, 10)).toMatchObject({ isReset: false });
  expect((await feeds.synchronous.read(kept, 10)).events.length).toBe(2);
  // After a restore, an operator counts up.
  expect(await feeds.restored.read(kept, 10)).toMatchObject({ isReset: true });
});
