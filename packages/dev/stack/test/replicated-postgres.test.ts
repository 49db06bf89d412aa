import { existsSync } from 'node:fs';
import { expect, it } from '@jest/globals';
import pg from 'pg';
import { startReplicatedPostgres } from '../src/postgres.ts';

async function query(connectionString: string, text: string) {
  const client = new pg.Client({ connectionString });
  client.on('error', () => undefined);
  await client.connect();
  try {
    return (await client.query<Record<string, unknown>>(text)).rows;
  } finally {
    await client.end();
  }
}

it.each([
  { isSynchronous: true, kept: [{ n: 1 }] },
  { isSynchronous: false, kept: [] },
])('a standby that takes over has what was replicated ($isSynchronous)', async ({ isSynchronous, kept }) => {
  const postgres = await startReplicatedPostgres({ isSynchronous });
  await query(postgres.adminUrl, 'CREATE TABLE numbers (n int)');
  const [row] = await query(postgres.urls.standby, 'SHOW data_directory');
  if (!isSynchronous) await postgres.detachStandby();
  await query(postgres.adminUrl, 'INSERT INTO numbers VALUES (1)');
  postgres.moveTo('standby');
  await expect(query(postgres.adminUrl, 'DELETE FROM numbers')).rejects.toMatchObject({ code: '25006' });
  await postgres.killPrimary();
  await postgres.promote();
  expect(await query(postgres.adminUrl, 'SELECT n FROM numbers').catch(() => [])).toEqual(kept);
  await query(postgres.adminUrl, 'CREATE TABLE others ()');
  await postgres.stop();
  expect(existsSync(String(row?.data_directory))).toBe(false);
});
