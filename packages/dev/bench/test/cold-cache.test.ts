import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { parseOptions } from '@tessera/stack/command-line';
import { Client } from 'pg';
import { coldGet, coldList } from '../src/contenders/cold-cache.ts';
import { tesseraContender } from '../src/contenders/tessera.ts';
import { Lab } from '../src/lab/lab.ts';
import type { Tessera } from '../src/lab/tessera.ts';
import { commandOptions, readOptions } from '../src/options.ts';

const options = readOptions(parseOptions(commandOptions, []), () => []);
const lab = new Lab(options, () => undefined);
let tessera: Tessera;
beforeAll(async () => {
  // A thousand issues fit into the cache.
  tessera = await lab.tessera();
});
afterAll(() => lab.close());

// A connection that ends publishes its counts, here the reads that filled the cache. The service connects again.
async function countReads(): Promise<void> {
  const { adminUrl, databases } = tessera.stack;
  const { username, pathname } = new URL(databases.issues.service);
  const admin = new Client({ connectionString: adminUrl });
  await admin.connect();
  const { rows } = await admin.query<{ pid: number }>(
    'SELECT pid, pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = $1 AND datname = $2',
    [username, pathname.slice(1)],
  );
  expect(rows.length).toBeGreaterThan(0);
  const ended = [rows.map(({ pid }) => pid)];
  while ((await admin.query('SELECT FROM pg_stat_activity WHERE pid = ANY ($1)', ended)).rowCount !== 0)
    await sleep(20);
  await admin.end();
}

describe('rows without cache hits', () => {
  it('fail when the service responds from its cache', async () => {
    const contenders = [
      await tesseraContender(lab, tessera, coldGet),
      await tesseraContender(lab, tessera, coldList),
    ];
    await countReads();
    const measured = contenders.map((contender) => contender.measure(0.5));
    for (const { status, ...result } of await Promise.allSettled(measured)) {
      expect(status).toBe('rejected');
      expect(result).toMatchObject({ reason: { message: 'Tessera responded from its cache' } });
    }
  });

  it('request every page after the first once', async () => {
    const requests = await coldList.requests(tessera);
    expect(requests).toHaveLength(19);
    expect(new Set(requests.map(({ path }) => path)).size).toBe(19);
  });

  it('request issues with comments only, each of them once', async () => {
    const requests = await coldGet.requests(tessera);
    expect(new Set(requests.map(({ path }) => path)).size).toBe(100);
  });
});
