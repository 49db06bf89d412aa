import { existsSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import pg from 'pg';
import { type BreakablePostgres, startBreakablePostgres } from '../src/postgres.ts';

describe('a breakable server', () => {
  let postgres: BreakablePostgres;
  beforeAll(async () => {
    postgres = await startBreakablePostgres();
    await query('CREATE TABLE kept (n int)');
  });
  afterAll(() => postgres.stop(), 300_000);

  async function query(text: string, { adminUrl }: BreakablePostgres = postgres) {
    const client = new pg.Client({ connectionString: adminUrl });
    client.on('error', () => undefined);
    await client.connect();
    try {
      return (await client.query<Record<string, unknown>>(text)).rows;
    } finally {
      await client.end();
    }
  }

  it.each([
    ['shutDown', 1],
    ['crash', 2],
  ] as const)('keeps over a %s what was committed, and comes back at the same address', async (end, n) => {
    await query(`INSERT INTO kept VALUES (${n})`);
    await postgres[end]();
    await expect(query('SELECT 1')).rejects.toThrow(/ECONNREFUSED/);
    await postgres.start();
    expect(await query(`SELECT n FROM kept WHERE n = ${n}`)).toEqual([{ n }]);
  });

  it('answers nothing while it is paused and everything after it resumes', async () => {
    const client = new pg.Client({ connectionString: postgres.adminUrl });
    await client.connect();
    postgres.pause();
    let answers = 0;
    const waiting = [client.query('SELECT 1'), query('SELECT 1')].map(async (answer) => {
      await answer;
      answers += 1;
    });
    await new Promise((resolve) => setTimeout(resolve, 300));
    expect(answers).toBe(0);
    postgres.resume();
    await Promise.all(waiting);
    await client.end();
  });

  it('stops while it is paused and leaves no folder', async () => {
    const other = await startBreakablePostgres();
    const [row] = await query('SHOW data_directory', other);
    other.pause();
    await other.stop();
    expect(existsSync(String(row?.data_directory))).toBe(false);
  });
});
