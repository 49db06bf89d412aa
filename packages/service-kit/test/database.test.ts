import { createServer, type Server, type Socket } from 'node:net';
import { afterAll, afterEach, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { PrismaPg } from '@prisma/adapter-pg';
import { eventually } from '@tessera/stack/eventually';
import type pg from 'pg';
import { migrate } from '../src/database/migrate.ts';
import {
  createDatabasePool,
  createPool,
  createDatabase as createServiceDatabase,
  createStatementNames,
  databaseReadiness,
  ProblemError,
  unavailableWhenDatabaseIsDown,
  violatedUniqueIndex,
} from '../src/index.ts';
import { keepLogLines } from './support/log-lines.ts';
import { createPrismaFolder } from './support/prisma-folder.ts';
import { createDatabase, dropDatabases, run } from './support/test-database.ts';

let url: string;
const pools: pg.Pool[] = [];
const servers: Server[] = [];

beforeAll(async () => {
  url = await createDatabase();
  await run(
    url,
    `CREATE TABLE people (id int PRIMARY KEY, email text, deleted boolean DEFAULT false);
     CREATE UNIQUE INDEX people_live_email_key ON people (lower(email)) WHERE NOT deleted`,
  );
});

afterEach(async () => {
  await Promise.all(pools.splice(0).map((pool) => pool.end()));
  for (const server of servers.splice(0)) server.close();
});

afterAll(dropDatabases);

function openPool(overrides: Partial<Parameters<typeof createPool>[0]> = {}): pg.Pool {
  const pool = createPool({
    connectionString: url,
    max: 2,
    connectionTimeoutMs: 1_000,
    statementTimeoutMs: 200,
    applicationName: 'kit-test',
    onError: () => undefined,
    ...overrides,
  });
  pools.push(pool);
  return pool;
}

/** A server that accepts connections and passes them to a function. */
async function listenAsDatabase(onConnection: (socket: Socket) => void): Promise<string> {
  const server = createServer((socket) => {
    socket.on('error', () => undefined);
    onConnection(socket);
  });
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  return `postgresql://user@127.0.0.1:${address.port}/none`;
}

const errorOf = (promise: Promise<unknown>): Promise<unknown> =>
  promise.then(
    () => {
      throw new Error('It succeeded.');
    },
    (error: unknown) => error,
  );

function expectUnavailable(error: unknown): void {
  const problem = unavailableWhenDatabaseIsDown(error);
  expect(problem).toBeInstanceOf(ProblemError);
  expect(problem).toMatchObject({
    status: 503,
    code: 'temporarily_unavailable',
    headers: { 'Retry-After': '2' },
    cause: error,
  });
}

const tookTooLong = 'The request took too long in the database. Try again.';
const unreachable = 'postgresql://user@127.0.0.1:1/none';

describe('an unavailable database is a 503', () => {
  it('when nothing listens', async () => {
    const error = await errorOf(openPool({ connectionString: unreachable }).query('SELECT 1'));
    expectUnavailable(error);
    expect(unavailableWhenDatabaseIsDown(error)?.detail).toBe('The database is unavailable.');
  });

  it('when its name does not resolve', async () => {
    const pool = openPool({ connectionString: 'postgresql://user@database.invalid/none' });
    expectUnavailable(await errorOf(pool.query('SELECT 1')));
  });

  it('when it accepts the connection and sends nothing, within the connection timeout', async () => {
    const sockets: Socket[] = [];
    const pool = openPool({ connectionString: await listenAsDatabase((socket) => sockets.push(socket)) });
    // Without a timeout, the query would wait forever.
    expectUnavailable(await errorOf(pool.query('SELECT 1')));
    for (const socket of sockets) socket.destroy();
  });

  it('when it closes the connection at once', async () => {
    const pool = openPool({ connectionString: await listenAsDatabase((socket) => socket.end()) });
    expectUnavailable(await errorOf(pool.query('SELECT 1')));
  });

  it('when it refuses the role or the password', async () => {
    const wrong = new URL(url);
    wrong.password = 'wrong';
    expectUnavailable(await errorOf(openPool({ connectionString: wrong.href }).query('SELECT 1')));
  });

  it('when all connections of the pool are in use for too long', async () => {
    const pool = openPool({ max: 1 });
    const taken = await pool.connect();
    expectUnavailable(await errorOf(pool.query('SELECT 1')));
    taken.release();
  });

  it('when a statement takes too long, and the pool remains usable', async () => {
    const pool = openPool();
    const error = await errorOf(pool.query('SELECT pg_sleep(5)'));
    expectUnavailable(error);
    expect(unavailableWhenDatabaseIsDown(error)?.detail).toBe(tookTooLong);
    expect((await pool.query('SELECT 1 AS one')).rows).toEqual([{ one: 1 }]);
  });

  it('when the server does not apply its timeout', async () => {
    const pool = openPool();
    // The statement succeeds unless the client ends it.
    expectUnavailable(await errorOf(pool.query('SET statement_timeout = 0; SELECT pg_sleep(3)')));
  });

  it('when it shuts down during a statement', async () => {
    const pool = openPool({ statementTimeoutMs: 3000, applicationName: 'to-be-ended' });
    const failure = errorOf(pool.query('SELECT pg_sleep(2)'));
    await new Promise((resolve) => setTimeout(resolve, 200));
    await run(
      url,
      "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'to-be-ended'",
    );
    expectUnavailable(await failure);
  });

  it('when the pool is already closed', async () => {
    const pool = openPool();
    pools.pop();
    await pool.end();
    expectUnavailable(await errorOf(pool.query('SELECT 1')));
  });

  it('when Prisma reports it, also as the cause of another error', async () => {
    const adapter = await new PrismaPg({ connectionString: unreachable }).connect();
    const error = await errorOf(adapter.queryRaw({ sql: 'SELECT 1', args: [], argTypes: [] }));
    expectUnavailable(error);
    expectUnavailable(new Error('The token was not rotated.', { cause: error }));
    expectUnavailable(
      Object.assign(new Error('Raw query failed'), { code: 'P2010', meta: { driverAdapterError: error } }),
    );
    await adapter.dispose();
  });
});

describe('no 503 is', () => {
  it.each([
    ['a table that does not exist', 'SELECT * FROM nowhere'],
    ['a broken rule', "INSERT INTO people VALUES (1, 'a@x'), (1, 'b@x')"],
    ['a syntax error', 'SELEC 1'],
  ])('%s', async (_what, sql) => {
    expect(unavailableWhenDatabaseIsDown(await errorOf(openPool().query(sql)))).toBeUndefined();
  });

  it('a bug, a string, undefined, and an error that is its own cause', () => {
    const circle = new Error('a circle');
    circle.cause = circle;
    for (const error of [new TypeError('x is not a function'), 'ECONNREFUSED', null, undefined, circle]) {
      expect(unavailableWhenDatabaseIsDown(error)).toBeUndefined();
    }
  });
});

describe('createPool', () => {
  it('never reuses a connection on which a transaction is still open', async () => {
    const pool = openPool({ max: 1 });
    const adapter = await new PrismaPg(pool).connect();
    const statement = (sql: string) => ({ sql, args: [], argTypes: [] });
    const holder = await openPool().connect();
    await holder.query('SELECT pg_advisory_lock(7)');
    const transaction = await adapter.startTransaction();
    // The server does not apply its timeout, as when it or the network hangs.
    await transaction.executeRaw(statement('SET LOCAL statement_timeout = 0'));
    await errorOf(transaction.executeRaw(statement('SELECT pg_advisory_lock(7)')));
    // As Prisma, when a transaction fails.
    await errorOf(transaction.executeRaw(statement('ROLLBACK')));
    await transaction.rollback();
    await holder.query('SELECT pg_advisory_unlock(7)');
    await adapter.executeRaw(statement("INSERT INTO people VALUES (7, 'gil@x')"));
    holder.release();
    await pool.end();
    pools.splice(pools.indexOf(pool), 1);
    const { rows } = await openPool().query('SELECT email FROM people WHERE id = 7');
    expect(rows).toEqual([{ email: 'gil@x' }]);
  });

  it('reports the failure of an idle connection, and opens a new one', async () => {
    const errors: Error[] = [];
    const pool = openPool({ applicationName: 'idle-victim', onError: (error) => errors.push(error) });
    await pool.query('SELECT 1');
    await run(
      url,
      "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'idle-victim'",
    );
    await eventually(() => errors.length > 0);
    expect(errors).toHaveLength(1);
    expect((await pool.query('SELECT 1 AS one')).rows).toEqual([{ one: 1 }]);
  });

  it('limits idle transactions, and sets the application name', async () => {
    const settings = 'idle_in_transaction_session_timeout statement_timeout application_name'.split(' ');
    const columns = settings.map((name) => `current_setting('${name}') AS ${name}`).join(', ');
    expect((await openPool().query(`SELECT ${columns}`)).rows).toEqual([
      {
        idle_in_transaction_session_timeout: '10s',
        statement_timeout: '200ms',
        application_name: 'kit-test',
      },
    ]);
  });

  it('gives each connection UTC and the settings of the pool, over those of the database', async () => {
    const database = new URL(url).pathname.slice(1);
    await run(url, `ALTER DATABASE "${database}" SET TimeZone = 'Asia/Tokyo'`);
    const pool = openPool({ settings: { plan_cache_mode: 'force_custom_plan' } });
    const columns = ['TimeZone', 'plan_cache_mode'].map((name) => `current_setting('${name}') AS "${name}"`);
    expect((await pool.query(`SELECT ${columns.join(', ')}`)).rows).toEqual([
      { TimeZone: 'UTC', plan_cache_mode: 'force_custom_plan' },
    ]);
    await run(url, `ALTER DATABASE "${database}" RESET TimeZone`);
  });
});

describe('createDatabasePool', () => {
  it('has a limited pool, and logs failures of idle connections', async () => {
    const { logger, lines } = keepLogLines();
    const { pool } = createDatabasePool({ url, poolMax: 1, statementTimeoutMs: 200 }, 'victim', logger);
    pools.push(pool);
    const { rows } = await pool.query("SELECT current_setting('application_name') AS name");
    expect([rows, pool.totalCount]).toEqual([[{ name: 'victim' }], 1]);
    const error = await errorOf(pool.query('SELECT pg_sleep(5)'));
    expectUnavailable(error);
    expect(unavailableWhenDatabaseIsDown(error)?.detail).toBe(tookTooLong);
    await pool.query('SELECT 1');
    await run(
      url,
      "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'victim'",
    );
    await eventually(() => lines.length > 0);
    expect(lines[0]).toMatchObject({ level: 'warn', msg: 'idle database connection failed' });
  });
});

describe('createDatabase', () => {
  it('creates a client over the pool, with readiness checks, and closes the pool', async () => {
    const folder = createPrismaFolder();
    const { database, pool, readiness, close } = createServiceDatabase({
      config: { url, poolMax: 1, statementTimeoutMs: 200 },
      applicationName: 'kit-client',
      logger: keepLogLines().logger,
      prismaDir: folder.path,
      createClient: (connections) => connections,
    });
    const { rows } = await database.pool.query("SELECT current_setting('application_name') AS name");
    expect(rows).toEqual([{ name: 'kit-client' }]);
    expect(readiness.map(({ name }) => name)).toEqual(['database', 'migrations', 'clock']);
    // The only connection of the pool is in use.
    const busy = await pool.connect();
    expect([pool.totalCount, pool.idleCount]).toEqual([1, 0]);
    expect(await readiness[0]?.check()).toBe(true);
    busy.release();
    await close();
    expect(pool.ended).toBe(true);
    folder.remove();
  });
});

describe('databaseReadiness', () => {
  async function readinessOf(connectionString: string, prismaDir: string) {
    const checks = databaseReadiness(openPool({ connectionString }), prismaDir);
    const outcomes = checks.map(async ({ name, check }) => [name, await check().catch(() => 'throws')]);
    return Object.fromEntries(await Promise.all(outcomes));
  }

  it('is true if the database responds and has all migrations of the release', async () => {
    const folder = createPrismaFolder();
    const own = await createDatabase();
    expect(await readinessOf(unreachable, folder.path)).toEqual({
      database: 'throws',
      migrations: 'throws',
      clock: 'throws',
    });
    folder.write('20260101000000_first', 'CREATE TABLE things (id int PRIMARY KEY);');
    expect(await readinessOf(own, folder.path)).toEqual({
      database: true,
      migrations: 'throws',
      clock: true,
    });
    await migrate({ connectionString: own, prismaDir: folder.path });
    expect(await readinessOf(own, folder.path)).toEqual({ database: true, migrations: true, clock: true });
    folder.write('20260102000000_second', 'CREATE TABLE more (id int PRIMARY KEY);');
    expect(await readinessOf(own, folder.path)).toEqual({ database: true, migrations: false, clock: true });
    folder.remove();
  });
});

describe('the clock of a process', () => {
  const real = Date.now;
  afterEach(() => {
    jest.restoreAllMocks();
  });

  it.each([
    [-86_400_000, 'the clock is 86400 s behind that of the database'],
    [-40_000, 'the clock is 40 s behind that of the database'],
    [-20_000, true],
    [20_000, true],
    [40_000, 'the clock is 40 s ahead of that of the database'],
  ])('with a difference of %i ms to the database', async (milliseconds, outcome) => {
    jest.spyOn(Date, 'now').mockImplementation(() => real() + milliseconds);
    const folder = createPrismaFolder();
    const checks = databaseReadiness(openPool({ connectionString: url }), folder.path);
    const clock = checks.find(({ name }) => name === 'clock');
    expect(await clock?.check().catch(({ message }: Error) => message)).toBe(outcome);
    folder.remove();
  });
});

describe('violatedUniqueIndex', () => {
  // An error as Prisma's client throws it: its code, and the error of its adapter for pg.
  async function insertTwice(code: string): Promise<unknown> {
    const adapter = await new PrismaPg({ connectionString: url }).connect();
    const sql = "INSERT INTO people VALUES ($1, 'Ann@example.com')";
    const insert = (id: number) =>
      adapter.queryRaw({ sql, args: [id], argTypes: [{ scalarType: 'int', arity: 'scalar' }] });
    await run(url, 'DELETE FROM people');
    await insert(1);
    const driverAdapterError = await errorOf(insert(2));
    await adapter.dispose();
    return Object.assign(new Error('Unique constraint failed'), { code, meta: { driverAdapterError } });
  }

  it.each(['P2002', 'P2010'])(
    'returns the index from %s, also a partial one on an expression',
    async (code) => {
      expect(violatedUniqueIndex(await insertTwice(code))).toBe('people_live_email_key');
    },
  );

  it('returns undefined for anything else', async () => {
    const broken = await errorOf(openPool().query('SELECT * FROM nowhere'));
    for (const error of [
      broken,
      new Error('x'),
      undefined,
      null,
      'P2002',
      { meta: { driverAdapterError: {} } },
    ]) {
      expect(violatedUniqueIndex(error)).toBeUndefined();
    }
  });
});

describe('createStatementNames', () => {
  it('names a text the same in every process, so that no process runs the text of another', () => {
    const [one, other] = [createStatementNames({ max: 10 }), createStatementNames({ max: 10 })];
    const first = one.nameOf({ sql: 'SELECT 1' });
    expect(other.nameOf({ sql: 'SELECT 2' })).not.toBe(first);
    expect(other.nameOf({ sql: 'SELECT 1' })).toBe(first);
  });

  const { nameOf: statementName } = createStatementNames({ max: 1000 });

  it('lets a connection prepare each text once', async () => {
    const adapter = await new PrismaPg(
      { connectionString: url, max: 1 },
      { statementNameGenerator: statementName },
    ).connect();
    const query = (sql: string) => adapter.queryRaw({ sql, args: [], argTypes: [] });
    for (const sql of ['SELECT 1 AS a', 'SELECT 1 AS a', 'SELECT 2 AS a']) await query(sql);
    const { rows } = await query('SELECT statement FROM pg_prepared_statements ORDER BY prepare_time');
    expect(rows.map(([statement]) => statement).slice(0, 2)).toEqual(['SELECT 1 AS a', 'SELECT 2 AS a']);
    await adapter.dispose();
  });

  it('gives each text a stable and unique name, for at most a thousand texts', () => {
    const first = statementName({ sql: 'SELECT a' });
    expect(statementName({ sql: 'SELECT a' })).toBe(first);
    const names = Array.from({ length: 1100 }, (_, index) => statementName({ sql: `SELECT ${index}` }));
    expect(new Set(names).size).toBeLessThanOrEqual(1000);
    expect(names).not.toContain(first);
    expect(names.at(-1)).toBe('');
    expect(statementName({ sql: 'SELECT a' })).toBe(first);
  });
});
