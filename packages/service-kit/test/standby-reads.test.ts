import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { eventually } from '@tessera/stack/eventually';
import { type ReplicatedPostgres, startReplicatedPostgres } from '@tessera/stack/postgres';
import type pg from 'pg';
import {
  createPool,
  ProblemError,
  readsOf,
  SqlClient,
  type SqlRunner,
  StandbyReads,
  timeline,
} from '../src/index.ts';
import { keepLogLines, type LogLine } from './support/log-lines.ts';
import { sql } from './support/sql.ts';
import { run } from './support/test-database.ts';

let postgres: ReplicatedPostgres;
let pool: pg.Pool;
let reads: StandbyReads;
let lines: LogLine[];
const pools: pg.Pool[] = [];
const served: string[] = [];

// Longer than a busy machine needs. The test of a standby that hangs shortens it.
const enoughMs = 60_000;
const patience = { lookMaxMs: enoughMs, readMaxMs: enoughMs };
function setPatience(milliseconds: number): void {
  patience.lookMaxMs = patience.readMaxMs = milliseconds;
  for (const one of pools) one.options.connectionTimeoutMillis = milliseconds;
  pool.options.connectionTimeoutMillis = enoughMs;
}

function openPool(connectionString: string, max: number, toStandby: boolean): pg.Pool {
  const limits = { max, connectionTimeoutMs: enoughMs, statementTimeoutMs: enoughMs, toStandby };
  const opened = createPool({
    connectionString,
    applicationName: 'kit-reads',
    onError: () => undefined,
    ...limits,
  });
  pools.push(opened);
  return opened;
}

const names = { sql, nameOf: () => '' };

function openReads(url: string, throughPooler = false) {
  const log = keepLogLines();
  const opened = new StandbyReads({
    primary: readsOf(new SqlClient({ pool, ...names })),
    primaryPool: pool,
    standbyPool: openPool(url, 2, true),
    probePool: openPool(url, 1, true),
    throughPooler,
    onRead: (server) => served.push(server),
    logger: log.logger,
    patience,
    ...names,
  });
  opened.start();
  return { reads: opened, lines: log.lines };
}

beforeAll(async () => {
  postgres = await startReplicatedPostgres({ isSynchronous: false });
  pool = openPool(postgres.adminUrl, 5, false);
  await pool.query('CREATE TABLE facts (id serial, name text)');
  ({ reads, lines } = openReads(postgres.urls.standby));
  await usable(true);
});
afterAll(async () => {
  await reads.stop();
  await Promise.all(pools.map((one) => one.end()));
  await postgres.stop();
});

const usable = (expected: boolean) => eventually(() => reads.isUsable === expected);
const whereAmI = async (within: SqlRunner) => {
  const [row] = await within.$queryRaw<{ isStandby: boolean }[]>`SELECT pg_is_in_recovery() AS "isStandby"`;
  return row?.isStandby ? 'standby' : 'primary';
};
const factsOf = async (within: SqlRunner) =>
  (await within.$queryRaw<{ name: string }[]>`SELECT name FROM facts ORDER BY id`).map(({ name }) => name);
const onStandby = (text: string) => run(postgres.urls.standby, text);
/** Adds a fact and returns a position that has it. */
const add = async (name: string) => {
  await pool.query('INSERT INTO facts (name) VALUES ($1)', [name]);
  return reads.position();
};
const newest = async (after?: string) => (await reads.read(factsOf, { after })).at(-1);

describe('reads with a standby', () => {
  it('come from it, and tell the timeline that it refuses to tell', async () => {
    expect(await reads.read(whereAmI)).toBe('standby');
    const statement = { text: `SELECT (SELECT ${timeline}) AS branch`, values: [] };
    expect(await reads.read((within) => within.$queryRaw(statement))).toEqual([{ branch: 1 }]);
    expect(served.at(-1)).toBe('standby');
  });

  it('come from the primary if they need one snapshot', async () => {
    expect(await reads.read(whereAmI, { isolationLevel: 'RepeatableRead' })).toBe('primary');
  });

  it('see their position, from the primary while the standby lacks it', async () => {
    await onStandby('SELECT pg_wal_replay_pause()');
    const before = await newest();
    const position = await add('one');
    expect(await newest(position)).toBe('one');
    expect(served.at(-1)).toBe('primary');
    expect(await newest()).toBe(before);
    await onStandby('SELECT pg_wal_replay_resume()');
    await eventually(async () => (await newest(position)) === 'one' && served.at(-1) === 'standby');
    expect(reads.isUsable).toBe(true);
  });

  it('that wait hold no connection', async () => {
    await onStandby('SELECT pg_wal_replay_pause()');
    const position = await add('waited for');
    const many = Array.from({ length: 20 }, () => newest(position));
    expect(await newest()).not.toBe('waited for');
    expect(new Set(await Promise.all(many))).toEqual(new Set(['waited for']));
    await onStandby('SELECT pg_wal_replay_resume()');
  });

  it('come from the primary for a position that no server has', async () => {
    for (const lsn of ['00000001FFFFFFFFFFFFFFFF', 'FFFFFFFF0000000000000000', '0000000100000FFF00000000'])
      expect(await reads.read(whereAmI, { after: lsn })).toBe('primary');
    expect(await reads.read(whereAmI, { after: '000000000000000000000000' })).toBe('standby');
  });

  it('keep a refusal of the reader, and repeat a failure on the primary', async () => {
    const refusal = new ProblemError({ status: 404, code: 'invalid_page', detail: 'no' });
    const error = await reads
      .read(async () => {
        throw refusal;
      })
      .catch((thrown: unknown) => thrown);
    expect(error).toBe(refusal);
    const wrote = await reads.read(
      async (within) => within.$executeRaw`INSERT INTO facts (name) VALUES ('x')`,
    );
    expect(wrote).toBe(1);
    expect(served.at(-1)).toBe('primary');
    expect(await reads.read(whereAmI)).toBe('standby');
  });

  it('come from the standby through a pooler', async () => {
    const pooled = openReads(postgres.urls.standby, true);
    await eventually(() => pooled.reads.isUsable);
    expect(await pooled.reads.read(whereAmI)).toBe('standby');
    await pooled.reads.stop();
  });

  it('come from the primary if the standby is another database, or none', async () => {
    await pool.query('CREATE DATABASE elsewhere');
    await eventually(
      async () => (await onStandby("SELECT FROM pg_database WHERE datname = 'elsewhere'")).length === 1,
    );
    const url = new URL(postgres.urls.standby);
    url.pathname = '/elsewhere';
    for (const [given, reason] of [
      [url.href, 'the server has another database than the primary'],
      [postgres.urls.primary, 'the server is no standby'],
    ] as const) {
      const other = openReads(given);
      await eventually(() => other.lines.some((line) => line.reason === reason));
      expect(await other.reads.read(whereAmI)).toBe('primary');
      await other.reads.stop();
    }
  });
});

describe('the standby', () => {
  const announcements = () =>
    lines.filter(({ msg }) => msg?.startsWith('lists are read')).map(({ msg }) => msg);

  it('is left when it is too far behind, and used again when it has caught up', async () => {
    await onStandby('SELECT pg_wal_replay_pause()');
    await add('behind');
    await usable(false);
    expect(lines.find(({ level }) => level === 'warn')).toMatchObject({
      msg: 'lists are read from the primary',
      reason: expect.stringContaining('behind'),
    });
    expect(await newest()).toBe('behind');
    await onStandby('SELECT pg_wal_replay_resume()');
    await usable(true);
    expect(await reads.read(whereAmI)).toBe('standby');
  });

  it('is left when it hangs, and used again when it goes on', async () => {
    postgres.suspendStandby();
    setPatience(200);
    // One that is on its way, and those after it.
    for (let count = 0; count < 3; count += 1) expect(await reads.read(whereAmI)).toBe('primary');
    await usable(false);
    setPatience(enoughMs);
    postgres.resumeStandby();
    await usable(true);
  });

  it('is left when it ends, and used again after its start', async () => {
    await postgres.restartStandby(async () => {
      expect(await reads.read(whereAmI)).toBe('primary');
      await usable(false);
    });
    await usable(true);
    expect(await reads.read(whereAmI)).toBe('standby');
  });

  it('was announced once for each change, without a password', async () => {
    const [used, left] = ['lists are read from the standby', 'lists are read from the primary'];
    expect(announcements()).toEqual([used, left, used, left, used, left, used]);
    expect(JSON.stringify(lines)).not.toContain(new URL(postgres.urls.standby).password);
  });

  // The last test, because the primary does not come back.
  it('is left when it takes over; a position of the lost timeline stays valid', async () => {
    const position = await add('before');
    await eventually(async () => (await newest(position)) === 'before' && served.at(-1) === 'standby');
    await postgres.killPrimary();
    expect(await reads.position()).toMatch(/^00000001/);
    await postgres.promote();
    postgres.moveTo('standby');
    await eventually(() => pool.query('SELECT 1').catch(() => undefined));
    expect(await newest(position)).toBe('before');
    const later = await add('after');
    expect(later).toMatch(/^00000002/);
    expect((later ?? '') > (position ?? '')).toBe(true);
    expect(await newest(later)).toBe('after');
    await usable(false);
    expect(await newest(later)).toBe('after');
  });
});
