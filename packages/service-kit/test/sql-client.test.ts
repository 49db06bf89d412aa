import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { startTestPostgres, type TestPostgres } from '@tessera/stack/postgres';
import pg from 'pg';
import {
  createPool,
  createStatementNames,
  SqlClient,
  unavailableWhenDatabaseIsDown,
  violatedUniqueIndex,
} from '../src/index.ts';
import { sql } from './support/sql.ts';

let postgres: TestPostgres;
let pool: pg.Pool;
let client: SqlClient;
beforeAll(async () => {
  postgres = await startTestPostgres();
  pool = createPool({
    connectionString: postgres.adminUrl,
    max: 2,
    statementTimeoutMs: 60_000,
    connectionTimeoutMs: 60_000,
    applicationName: 'sql client',
    onError: () => undefined,
  });
  client = new SqlClient({ pool, sql, nameOf: createStatementNames({ max: 100 }).nameOf });
  await client.$executeRaw`CREATE TABLE people (id int8 PRIMARY KEY, name text)`;
});
beforeEach(async () => {
  await client.$executeRaw`DELETE FROM people`;
});
afterAll(async () => {
  await pool.end();
  await postgres.stop();
});

const names = () => client.$queryRaw<{ name: string }[]>`SELECT name FROM people ORDER BY id`;

it('converts parameters and results', async () => {
  const at = new Date('2026-01-02T03:04:05.678Z');
  const json = { text: 'a "quoted" text', list: [1, null] };
  const rows = await client.$queryRaw`
    SELECT ${9_007_199_254_740_993n}::int8 AS large, ${7}::int AS small, ${0.5}::float8 AS half, ${true}::bool AS yes,
           ${null}::text AS nothing, ${at}::timestamptz AS at, ${['a', null, '{"b"}']}::text[] AS texts,
           ${[1, 2]}::int[] AS numbers, ${JSON.stringify(json)}::jsonb AS json, ${Buffer.from([0, 255])}::bytea AS bytes`;
  expect(rows).toEqual([
    {
      large: 9_007_199_254_740_993n,
      small: 7,
      half: 0.5,
      yes: true,
      nothing: null,
      at,
      texts: ['a', null, '{"b"}'],
      numbers: [1, 2],
      json,
      bytes: Buffer.from([0, 255]),
    },
  ]);
});

it('takes a statement in place of a template, and counts changed rows', async () => {
  expect(await client.$executeRaw(sql(['INSERT INTO people VALUES (1, ', '), (2, NULL)'], 'Ann'))).toBe(2);
  expect(await names()).toEqual([{ name: 'Ann' }, { name: null }]);
});

it('prepares a statement once on each connection', async () => {
  const connection = await pool.connect();
  for (const id of [1, 2]) await client.$executeRaw`INSERT INTO people VALUES (${id}, 'named')`;
  const { rows } = await pool.query(
    `SELECT count(*)::int FROM pg_prepared_statements WHERE statement LIKE '%''named''%'`,
  );
  expect(rows).toEqual([{ count: 1 }]);
  connection.release();
});

it('throws the errors of pg', async () => {
  const insert = () => client.$executeRaw`INSERT INTO people VALUES (1, 'Ann')`;
  await insert();
  const error = await insert().catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(pg.DatabaseError);
  expect(violatedUniqueIndex(error)).toBe('people_pkey');
});

describe('a transaction', () => {
  it('commits all statements, or none after an error', async () => {
    const failure = new Error('after two statements');
    const run = (error?: Error) =>
      client.$transaction(async (transaction) => {
        await transaction.$executeRaw`INSERT INTO people VALUES (1, 'Ann')`;
        await transaction.$executeRaw`INSERT INTO people VALUES (2, 'Bea')`;
        expect(await names()).toEqual([]);
        if (error !== undefined) throw error;
        return 'result';
      });
    await expect(run(failure)).rejects.toBe(failure);
    expect(await names()).toEqual([]);
    expect(await run()).toBe('result');
    expect(await names()).toEqual([{ name: 'Ann' }, { name: 'Bea' }]);
  });

  it('reads one state with RepeatableRead', async () => {
    await client.$transaction(
      async (transaction) => {
        const count = () => transaction.$queryRaw`SELECT count(*)::int AS count FROM people`;
        expect(await count()).toEqual([{ count: 0 }]);
        await client.$executeRaw`INSERT INTO people VALUES (1, 'Ann')`;
        expect(await count()).toEqual([{ count: 0 }]);
      },
      { isolationLevel: 'RepeatableRead' },
    );
  });

  it('sends nothing after its end, on a connection that belongs to others then', async () => {
    let late: Promise<unknown> | undefined;
    await client.$transaction(async (transaction) => {
      late = new Promise((resolve) => setImmediate(resolve))
        .then(() => names())
        .then(() => transaction.$executeRaw`INSERT INTO people VALUES (1, 'late')`);
      late.catch(() => undefined);
    });
    await expect(late).rejects.toThrow('The transaction has ended.');
    expect(await names()).toEqual([]);
  });

  it('is rolled back with 503 after its time', async () => {
    const slow = client.$transaction(
      async (transaction) => {
        for (let id = 0; ; id += 1) await transaction.$executeRaw`INSERT INTO people VALUES (${id}, 'Ann')`;
      },
      { timeout: 20 },
    );
    await expect(slow).rejects.toMatchObject({ status: 503 });
    expect(await names()).toEqual([]);
  });

  it('fails with 503 when its connection is lost, and the pool goes on', async () => {
    const lost = client.$transaction(async (transaction) => {
      const [row] = await transaction.$queryRaw<{ pid: number }[]>`SELECT pg_backend_pid() AS pid`;
      await client.$queryRaw`SELECT pg_terminate_backend(${row?.pid}::int)`;
      await transaction.$executeRaw`INSERT INTO people VALUES (1, 'Ann')`;
    });
    const error = await lost.catch((thrown: unknown) => thrown);
    expect(unavailableWhenDatabaseIsDown(error)).toMatchObject({ status: 503 });
    for (let tries = 0; tries < 3; tries += 1) expect(await names()).toEqual([]);
  });
});
