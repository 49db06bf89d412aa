import { chownSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { type RunningPostgres, startPostgres } from '@tessera/stack/postgres';
import type pg from 'pg';
import { generate } from 'selfsigned';
import { migrate } from '../src/database/migrate.ts';
import { createPool, ProblemError, unavailableWhenDatabaseIsDown } from '../src/index.ts';
import { createPrismaFolder } from './support/prisma-folder.ts';
import { run } from './support/test-database.ts';

const pools: pg.Pool[] = [];
const prisma = createPrismaFolder();
let home: string;
let postgres: RunningPostgres;
let ca: Awaited<ReturnType<typeof createCa>>;
beforeAll(async () => {
  home = mkdtempSync(join(tmpdir(), 'tessera-tls-'));
  [postgres, ca] = await Promise.all([
    startPostgres({ dataDir: join(home, 'postgres'), persistent: false }),
    createCa(),
  ]);
});
afterEach(async () => {
  await Promise.all(pools.splice(0).map((pool) => pool.end()));
});
afterAll(async () => {
  prisma.remove();
  await postgres.stop();
  rmSync(home, { recursive: true, force: true });
});

async function createCa() {
  const { cert, private: key } = await generate([{ name: 'commonName', value: 'Test CA' }], {
    keySize: 2048,
    extensions: [
      { name: 'basicConstraints', cA: true, critical: true },
      { name: 'keyUsage', keyCertSign: true, critical: true },
    ],
  });
  return { cert, key };
}

/** Configures the server with a certificate for a host name, or without a certificate. */
async function serve(host: string | undefined) {
  if (host !== undefined) {
    const { cert, private: key } = await generate([{ name: 'commonName', value: host }], {
      keySize: 2048,
      ca,
      extensions: [{ name: 'subjectAltName', altNames: [{ type: 2, value: host }] }],
    });
    const { uid, gid } = statSync(postgres.folder);
    for (const [name, text] of Object.entries({ 'server.crt': cert, 'server.key': key })) {
      writeFileSync(join(postgres.folder, name), text, { mode: 0o600 });
      chownSync(join(postgres.folder, name), uid, gid);
    }
  }
  // ALTER SYSTEM cannot run in a transaction, so each statement runs separately.
  await run(postgres.adminUrl, `ALTER SYSTEM SET ssl = ${host === undefined ? 'off' : 'on'}`);
  await run(postgres.adminUrl, 'SELECT pg_reload_conf()');
  const isServed = async () =>
    (await run<{ ssl: string }>(postgres.adminUrl, 'SHOW ssl'))[0]?.ssl ===
    (host === undefined ? 'off' : 'on');
  while (!(await isServed())) await new Promise((resolve) => setTimeout(resolve, 20));
}

/** Returns the URL of the server for a host name, with the CA's certificate in a file. */
function urlOf(host: string, certificate: string): string {
  const file = join(home, 'ca.crt');
  writeFileSync(file, certificate);
  const url = new URL(postgres.adminUrl);
  url.hostname = host;
  url.search = `?sslmode=verify-full&sslrootcert=${file}`;
  return url.href;
}

function poolOf(connectionString: string): pg.Pool {
  const pool = createPool({
    connectionString,
    max: 1,
    connectionTimeoutMs: 2_000,
    statementTimeoutMs: 5_000,
    applicationName: 'tls test',
    onError: () => undefined,
  });
  pools.push(pool);
  return pool;
}

const isEncrypted = 'SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()';

describe('sslmode=verify-full in the URL of the database', () => {
  it('encrypts the connections of the pool and of the migrator', async () => {
    await serve('localhost');
    const url = urlOf('localhost', ca.cert);
    expect((await poolOf(url).query(isEncrypted)).rows).toEqual([{ ssl: true }]);
    prisma.write('1_people', 'CREATE TABLE people (id int PRIMARY KEY)');
    await expect(migrate({ connectionString: url, prismaDir: prisma.path })).resolves.toEqual(['1_people']);
  });

  it.each<[string, string, string, () => Promise<string>, RegExp]>([
    [
      'a certificate of another CA',
      'localhost',
      'localhost',
      async () => (await createCa()).cert,
      /self[- ]signed certificate|unable to verify|certificate signature failure/,
    ],
    [
      'a certificate for another host',
      'db.example.com',
      'localhost',
      async () => ca.cert,
      /Hostname\/IP does not match certificate's altnames: Host: localhost/,
    ],
    [
      'an IP address, which is not in the certificate',
      'localhost',
      '127.0.0.1',
      async () => ca.cert,
      /Hostname\/IP does not match certificate's altnames: IP: 127\.0\.0\.1/,
    ],
  ])('refuses %s with an error message', async (_name, served, asked, certificate, message) => {
    await serve(served);
    const url = urlOf(asked, await certificate());
    const error: unknown = await poolOf(url)
      .query(isEncrypted)
      .catch((refusal: unknown) => refusal);
    expect(error).toMatchObject({ message: expect.stringMatching(message) });
    const problem = unavailableWhenDatabaseIsDown(error);
    expect(problem).toBeInstanceOf(ProblemError);
    expect(problem).toMatchObject({ status: 503, cause: error });
    await expect(migrate({ connectionString: url, prismaDir: prisma.path })).rejects.toThrow(message);
  });

  it('refuses a server without TLS with an error message', async () => {
    await serve(undefined);
    const error: unknown = await poolOf(urlOf('localhost', ca.cert))
      .query(isEncrypted)
      .catch((refusal: unknown) => refusal);
    expect(error).toMatchObject({ message: 'The server does not support SSL connections' });
    expect(unavailableWhenDatabaseIsDown(error)).toMatchObject({ status: 503 });
  });

  it('names a missing file of the CA', async () => {
    const url = urlOf('localhost', ca.cert).replace('ca.crt', 'missing.crt');
    await expect((async () => poolOf(url).query(isEncrypted))()).rejects.toThrow(/ENOENT.*missing\.crt/);
  });
});
