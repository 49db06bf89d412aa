import { spawn } from 'node:child_process';
import { existsSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import pg from 'pg';
import {
  cloneDatabase,
  createServiceDatabase,
  dropDatabase,
  type RunningPostgres,
  startPostgres,
  withDatabase,
  withRole,
} from '../src/postgres.ts';
import { eventually } from '../src/processes/eventually.ts';
import { query } from './support/query.ts';
import { makeFolder, makePrivateFolder, removeFolder } from './support/temporary-folder.ts';

describe('a temporary server', () => {
  let folder: string;
  let server: RunningPostgres;
  const start = () => startPostgres({ dataDir: path.join(folder, 'postgres'), persistent: false });

  beforeAll(async () => {
    folder = makeFolder();
    server = await start();
  });
  afterAll(async () => {
    await server.stop();
    removeFolder(folder);
  });

  it('is PostgreSQL 18 with UTF-8, listens only on 127.0.0.1 and supports letters beyond ASCII', async () => {
    const settings = `SELECT current_setting('server_version_num')::int / 10000, current_setting('server_encoding'),
      current_setting('listen_addresses'), current_setting('unix_socket_directories'), lower('ÄŁ'), current_setting('timezone')`;
    expect(await query(server.adminUrl, settings)).toEqual([18, 'UTF8', '127.0.0.1', '', 'äł', 'UTC']);
  });

  it('rejects connections without the password', async () => {
    const guessed = new URL(server.adminUrl);
    guessed.password = 'postgres';
    await expect(query(guessed.href, 'SELECT 1')).rejects.toMatchObject({ code: '28P01' });
  });

  it('gives each of two services a database that the other cannot connect to', async () => {
    const one = await createServiceDatabase(server.adminUrl, {
      database: 'one',
      role: 'one',
      password: 'p"\'1',
    });
    const two = await createServiceDatabase(server.adminUrl, { database: 'two', role: 'two', password: 'x' });
    await query(one, 'CREATE TABLE own (a int)');
    expect(await query(two, 'SELECT current_database()::text, current_user::text')).toEqual(['two', 'two']);
    for (const [url, other] of [
      [one, 'two'],
      [two, 'one'],
    ] as const) {
      await expect(query(withDatabase(url, other), 'SELECT 1')).rejects.toMatchObject({ code: '42501' });
    }
    await expect(query(one, 'CREATE DATABASE three')).rejects.toMatchObject({ code: '42501' });
  });

  it('creates a service database again with a new password and the old data', async () => {
    const wanted = { database: 'again', role: 'again', password: 'first' };
    const first = await createServiceDatabase(server.adminUrl, wanted);
    await query(first, 'CREATE TABLE kept AS SELECT 7 AS n');
    const second = await createServiceDatabase(server.adminUrl, { ...wanted, password: 'second' });
    await expect(query(first, 'SELECT 1')).rejects.toMatchObject({ code: '28P01' });
    expect(await query(second, 'SELECT n FROM kept')).toEqual([7]);
  });

  it('gives a service a role that owns nothing, and the database another owner', async () => {
    const owner = { role: 'lesser_owner', password: 'o' };
    const wanted = { database: 'lesser', role: 'lesser', password: 'l', owner };
    const url = await createServiceDatabase(server.adminUrl, wanted);
    const ownerUrl = withRole(url, owner);
    await query(ownerUrl, 'CREATE TABLE own AS SELECT 7 AS n');
    expect(await query(url, 'SELECT current_user::text')).toEqual(['lesser']);
    for (const statement of ['SELECT n FROM own', 'DROP TABLE own', 'CREATE TABLE mine (a int)']) {
      await expect(query(url, statement)).rejects.toMatchObject({ code: '42501' });
    }
    await createServiceDatabase(server.adminUrl, wanted);
    expect(await query(ownerUrl, 'SELECT n FROM own')).toEqual([7]);
  });

  it('reassigns a database and the objects of the service to a new owner', async () => {
    const wanted = { database: 'handed', role: 'handed', password: 'h' };
    const url = await createServiceDatabase(server.adminUrl, wanted);
    await query(url, 'CREATE TABLE own AS SELECT 7 AS n');
    const owner = { role: 'handed_owner', password: 'o' };
    await createServiceDatabase(server.adminUrl, { ...wanted, owner });
    await expect(query(url, 'DROP TABLE own')).rejects.toMatchObject({ code: '42501' });
    expect(await query(withRole(url, owner), 'DELETE FROM own RETURNING n')).toEqual([7]);
  });

  it('clones a database for its owner and its service only', async () => {
    const owner = { role: 'two_owner', password: 'o' };
    const wanted = { database: 'two_template', role: 'two_service', password: 's', owner };
    const template = await createServiceDatabase(server.adminUrl, wanted);
    await query(withRole(template, owner), 'CREATE TABLE t AS SELECT 1 AS n');
    await query(withRole(template, owner), 'GRANT SELECT ON t TO two_service');
    await cloneDatabase(server.adminUrl, 'two_template', 'two_copy', owner.role, wanted.role);
    const copy = withDatabase(template, 'two_copy');
    expect(await query(copy, 'SELECT n FROM t')).toEqual([1]);
    await expect(query(copy, 'DROP TABLE t')).rejects.toMatchObject({ code: '42501' });
    await query(withRole(copy, owner), 'DROP TABLE t');
  });

  it('clones a database for its owner only, and drops it under an open connection', async () => {
    const wanted = { database: 'template', role: 'owner', password: 'x' };
    const template = await createServiceDatabase(server.adminUrl, wanted);
    await query(template, 'CREATE TABLE t AS SELECT 1 AS n');
    await cloneDatabase(server.adminUrl, 'template', 'copy"1', 'owner');
    const copy = withDatabase(template, 'copy"1');
    expect(await query(copy, 'UPDATE t SET n = 2 RETURNING n')).toEqual([2]);
    expect(await query(template, 'SELECT n FROM t')).toEqual([1]);
    const stranger = await createServiceDatabase(server.adminUrl, {
      database: 's',
      role: 's',
      password: 'x',
    });
    await expect(query(withDatabase(stranger, 'copy"1'), 'SELECT 1')).rejects.toMatchObject({
      code: '42501',
    });

    const open = new pg.Client({ connectionString: copy });
    open.on('error', () => undefined);
    await open.connect();
    await dropDatabase(server.adminUrl, 'copy"1');
    await expect(query(copy, 'SELECT 1')).rejects.toMatchObject({ code: '3D000' });
    await dropDatabase(server.adminUrl, 'copy"1');
  });

  it('rejects a second server on the same folder and a port that is in use', async () => {
    await expect(start()).rejects.toThrow(`(pid ${server.process.pid}) already serves`);
    const dataDir = path.join(folder, 'other');
    const taken = startPostgres({ dataDir, port: server.port, persistent: false });
    await expect(taken).rejects.toThrow(`Port ${server.port}, wanted for PostgreSQL, is in use`);
  });
});

// One cluster for all tests; each depends on the state that the previous one left.
describe('a persistent server', () => {
  const folder = makeFolder();
  const dataDir = path.join(folder, 'postgres');
  const running: RunningPostgres[] = [];
  const start = async () => {
    const server = await startPostgres({ dataDir, persistent: true });
    running.push(server);
    return server;
  };
  const inCluster = (name: string) => path.join(dataDir, name);

  afterEach(async () => {
    for (const server of running.splice(0)) await server.stop();
  });
  afterAll(() => removeFolder(folder));

  it('keeps data and password over a restart and a crash, and commits durably', async () => {
    const first = await start();
    expect(statSync(`${dataDir}.password`).mode & 0o777).toBe(0o600);
    expect(await query(first.adminUrl, 'SHOW fsync')).toEqual(['on']);
    await query(first.adminUrl, 'CREATE TABLE kept AS SELECT 1 AS n');
    await first.stop();

    const second = await start();
    await query(second.adminUrl, 'INSERT INTO kept VALUES (2)');
    process.kill(second.process.pid, 'SIGKILL');
    await second.exited;

    const third = await start();
    expect(await query(third.adminUrl, 'SELECT n FROM kept ORDER BY n')).toEqual([1, 2]);
    expect(new URL(third.adminUrl).password).toBe(new URL(first.adminUrl).password);
  });

  it('starts when its stale lock file names the pid of another process', async () => {
    const { uid, gid } = statSync(dataDir);
    const owner = process.getuid?.() === 0 ? { uid, gid } : {};
    const bystander = spawn('sleep', ['60'], { stdio: 'ignore', ...owner });
    const lines = [bystander.pid, dataDir, 1_700_000_000, 5432, '', '127.0.0.1', '0 0', 'ready'];
    writeFileSync(inCluster('postmaster.pid'), lines.join('\n'), { mode: 0o644 });
    try {
      const server = await start();
      expect(await query(server.adminUrl, 'SELECT 1')).toEqual([1]);
      expect(bystander.exitCode ?? bystander.signalCode).toBeNull();
    } finally {
      bystander.kill('SIGKILL');
    }
  });

  it('rejects a wrong or empty password file and leaves no server running', async () => {
    const password = readFileSync(`${dataDir}.password`);
    writeFileSync(`${dataDir}.password`, 'not-the-password-of-this-one\n');
    await expect(start()).rejects.toThrow(`The password in ${dataDir}.password does not match this database`);
    expect(existsSync(inCluster('postmaster.pid'))).toBe(false);
    writeFileSync(`${dataDir}.password`, '');
    await expect(start()).rejects.toThrow(`${dataDir}.password is damaged`);
    writeFileSync(`${dataDir}.password`, password);
  });

  it('shows the end of the log when the server does not start', async () => {
    const broken = startPostgres({ dataDir, persistent: true, flags: ['-c', 'shared_buffers=nonsense'] });
    await expect(broken).rejects.toThrow(
      /PostgreSQL did not start:\n.*invalid value for parameter "shared_buffers"/,
    );
  });

  it('names the folder when it holds another version, is damaged or is missing', async () => {
    writeFileSync(inCluster('PG_VERSION'), '14\n');
    await expect(start()).rejects.toThrow(`${dataDir} holds a database of PostgreSQL 14`);
    rmSync(inCluster('PG_VERSION'));
    await expect(start()).rejects.toThrow(`${dataDir} is damaged: no PG_VERSION`);
    writeFileSync(`${dataDir}.location`, '/nonexistent/cluster\n');
    await expect(start()).rejects.toThrow('should lie in /nonexistent/cluster');
  });
});

describe('a persistent server in a folder that other users cannot enter', () => {
  const folder = makePrivateFolder();
  afterAll(() => removeFolder(folder));

  it('runs, also for root, and finds its data again', async () => {
    const start = () => startPostgres({ dataDir: path.join(folder, 'postgres'), persistent: true });
    const first = await start();
    await query(first.adminUrl, 'CREATE TABLE kept AS SELECT 1 AS n');
    await first.stop();
    const second = await start();
    try {
      expect(await query(second.adminUrl, 'SELECT n FROM kept')).toEqual([1]);
      expect(statSync(second.folder).mode & 0o077).toBe(0);
    } finally {
      await second.stop();
    }
  });
});

describe('startTestPostgres', () => {
  const script = fileURLToPath(new URL('support/hold-test-postgres.ts', import.meta.url));
  const hold = (environment: Record<string, string> = {}) =>
    spawn(process.execPath, ['--import', 'tsx', '--conditions=@tessera/source', script], {
      env: { PATH: process.env.PATH, ...environment },
      stdio: ['pipe', 'pipe', 'inherit'],
    });
  const firstLine = (child: ReturnType<typeof hold>) =>
    new Promise<string>((resolve) =>
      child.stdout.once('data', (chunk: Buffer) => resolve(chunk.toString().trim())),
    );

  it.each(['SIGKILL', 'SIGTERM'] as const)(
    'leaves neither server nor folder after a %s of its process',
    async (signal) => {
      const child = hold();
      const url = await firstLine(child);
      const [folder] = await query(url, "SELECT current_setting('data_directory')");
      child.kill(signal);
      const gone = () =>
        query(url, 'SELECT 1').then(
          () => false,
          () => !existsSync(path.dirname(String(folder))),
        );
      await eventually(gone);
    },
  );

  it('does not keep its process alive', async () => {
    const child = hold();
    await firstLine(child);
    const ended = new Promise((resolve) => child.once('exit', resolve));
    child.stdin.end();
    expect(await ended).toBe(0);
  });

  it('uses the server at TEST_DATABASE_URL', async () => {
    const url = 'postgresql://postgres:x@192.0.2.1:5432/postgres';
    const child = hold({ TEST_DATABASE_URL: url });
    expect(await firstLine(child)).toBe(url);
    child.kill('SIGKILL');
  });
});
