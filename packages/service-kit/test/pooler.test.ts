import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Server } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type pg from 'pg';
import { migrate } from '../src/database/migrate.ts';
import { applyRoleSettings } from '../src/database/pooler.ts';
import { createDatabasePool, createPool, unavailableWhenDatabaseIsDown } from '../src/index.ts';
import { keepLogLines } from './support/log-lines.ts';
import { createPrismaFolder } from './support/prisma-folder.ts';
import { createDatabase, dropDatabases, run } from './support/test-database.ts';

let url: string;
const pools: pg.Pool[] = [];
beforeAll(async () => {
  url = await createDatabase();
});
afterAll(async () => {
  await Promise.all(pools.map((pool) => pool.end()));
  await dropDatabases();
});

function openPool(throughPooler: boolean): pg.Pool {
  const pool = createPool({
    connectionString: url,
    max: 1,
    connectionTimeoutMs: 2_000,
    statementTimeoutMs: 300,
    applicationName: 'pooler-test',
    settings: { plan_cache_mode: 'force_custom_plan' },
    throughPooler,
    onError: () => undefined,
  });
  pools.push(pool);
  return pool;
}

async function processIdOf(pool: pg.Pool): Promise<number> {
  return (await pool.query('SELECT pg_backend_pid() AS id')).rows[0].id;
}

const parameters = `SELECT current_setting('statement_timeout') AS statement,
  current_setting('idle_in_transaction_session_timeout') AS idle, current_setting('plan_cache_mode') AS plans,
  current_setting('TimeZone') AS zone`;

describe('a connection through a pooler', () => {
  it('sends no parameters but the time zone, which poolers keep', async () => {
    await run(url, `ALTER DATABASE "${new URL(url).pathname.slice(1)}" SET TimeZone = 'Asia/Tokyo'`);
    const { rows } = await openPool(true).query(parameters);
    expect(rows).toEqual([{ statement: '0', idle: '0', plans: 'auto', zone: 'UTC' }]);
  });

  it('gets the timeouts from its role, after older connections are closed', async () => {
    const pool = openPool(true);
    const { logger, lines } = keepLogLines();
    const apply = () => applyRoleSettings(pool, { statementTimeoutMs: 1234 }, logger);
    const [other, busy] = [openPool(true), openPool(true)];
    await pool.query('SELECT 1');
    const ids = [await processIdOf(other), await processIdOf(busy)];
    const answer = busy.query("SELECT pg_sleep(0.2), 'whole' AS answer");
    expect(await apply()).toBe(false);
    // The idle connection is closed at once, the busy one after its statement.
    const open = await pool.query('SELECT pid FROM pg_stat_activity WHERE pid = ANY($1::int[])', [ids]);
    expect(open.rows).toEqual([]);
    expect((await answer).rows).toMatchObject([{ answer: 'whole' }]);
    expect(await apply()).toBe(true);
    expect((await pool.query(parameters)).rows).toMatchObject([{ statement: '1234ms', idle: '10s' }]);
    expect(lines).toHaveLength(1);
    // Two processes at once. Without the lock, PostgreSQL reports "tuple concurrently updated".
    const others = Array.from({ length: 8 }, (_, index) =>
      applyRoleSettings(openPool(true), { statementTimeoutMs: 2000 + index }, logger),
    );
    for (const result of await Promise.allSettled(others)) {
      // Without a pooler, they also close the connections of each other, during a statement or between two.
      if (result.status === 'rejected')
        expect(String(result.reason)).toMatch(/terminat|encountered a connection error/);
      else expect(result.value).toBe(false);
    }
  });
});

describe('a prepared statement that the connection does not have', () => {
  it('is a 503, after which statements have no names', async () => {
    const { logger, lines } = keepLogLines();
    const { pool, nameOf } = createDatabasePool(
      { url, poolMax: 1, statementTimeoutMs: 2_000 },
      'lost',
      logger,
    );
    pools.push(pool);
    const query = (text: string) => pool.query({ name: nameOf({ sql: text }), text });
    await query('SELECT 1 AS one');
    await pool.query('DEALLOCATE ALL');
    const error = await query('SELECT 1 AS one').then(
      () => undefined,
      (thrown: unknown) => thrown,
    );
    expect(unavailableWhenDatabaseIsDown(error)?.status).toBe(503);
    expect((await query('SELECT 1 AS one')).rows).toEqual([{ one: 1 }]);
    expect((await pool.query('SELECT FROM pg_prepared_statements')).rowCount).toBe(0);
    expect(lines).toEqual([expect.objectContaining({ level: 'warn', code: '26000' })]);
  });
});

describe('the migrator', () => {
  let server: Server;
  beforeAll(async () => {
    // As poolers do, it replaces the process id (BackendKeyData, section 53.7 of PostgreSQL's manual).
    server = createServer((client) => {
      const upstream = connect(Number(new URL(url).port), new URL(url).hostname);
      client.pipe(upstream);
      client.on('error', () => upstream.destroy());
      upstream.on('error', () => client.destroy());
      upstream.on('end', () => client.end());
      upstream.on('data', (data) => {
        const keyData = data.indexOf(Buffer.from('K\0\0\0\x0c', 'latin1'));
        if (keyData !== -1) data.writeInt32BE(1, keyData + 5);
        client.write(data);
      });
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
  });
  afterAll(() => {
    server.close();
  });

  it('refuses a pooler, and names the variable', async () => {
    const folder = createPrismaFolder();
    const pooled = new URL(url);
    pooled.host = `127.0.0.1:${(server.address() as AddressInfo).port}`;
    await expect(migrate({ connectionString: pooled.href, prismaDir: folder.path })).rejects.toThrow(
      /leads to a connection pooler.* set MIGRATION_DATABASE_URL/,
    );
    folder.remove();
  });

  it('does not use the timeouts of its role', async () => {
    const folder = createPrismaFolder();
    const role = `ALTER ROLE CURRENT_USER IN DATABASE "${new URL(url).pathname.slice(1)}"`;
    await run(url, `${role} SET statement_timeout = 100`);
    folder.write('20260101000000_slow', 'SELECT pg_sleep(0.3);');
    const applied = await migrate({ connectionString: url, prismaDir: folder.path });
    expect(applied).toEqual(['20260101000000_slow']);
    folder.remove();
  });
});
