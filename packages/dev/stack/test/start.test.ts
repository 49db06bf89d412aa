import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { eventually } from '../src/processes/eventually.ts';
import { isRunning, recordProcess } from '../src/processes/recorded-process.ts';
import { FakeProduct, type Launcher } from './support/fake-product.ts';
import { query } from './support/query.ts';

const secretFiles = [
  'service-token',
  'session-key',
  'postgres.password',
  'identity-database.password',
  'identity-database-owner.password',
  'keys/identity-key-1.pem',
];

const signIn = /^Sign in to the web app as (\S+) with the one-time password (\S+)$/m;

// One product for all tests; each start finds the data of the previous one.
describe('start', () => {
  let product: FakeProduct;
  let launcher: Launcher;
  const start = async (...args: string[]) => {
    launcher = product.launch({}, args);
    await launcher.running();
  };
  const secrets = () => secretFiles.map((name) => readFileSync(path.join(product.data, name), 'utf8').trim());
  const identityOwnerUrl = () => product.migrationEnvironmentOf('identity').MIGRATION_DATABASE_URL ?? '';
  const serverPid = () =>
    Number(readFileSync(path.join(product.data, 'postgres/postmaster.pid'), 'utf8').split('\n')[0]);

  beforeAll(async () => {
    product = await FakeProduct.make();
    await start('--tour');
  });
  afterAll(() => product.remove());

  it('prints the addresses and paths, and no secret', () => {
    for (const text of [
      `http://localhost:${product.ports.identity}`,
      `http://localhost:${product.ports.issues}`,
      path.join(product.data, 'logs'),
      `cat '${path.join(product.data, 'service-token')}'`,
    ]) {
      expect(launcher.output).toContain(text);
    }
    for (const secret of secrets()) expect(launcher.output).not.toContain(secret);
  });

  it('creates an administrator, and prints its one-time password without keeping it', () => {
    const [, email = '', password = ''] = signIn.exec(launcher.output) ?? [];
    expect(email).toBe('admin@example.com');
    expect(password).toMatch(/^(?:[a-z2-9]{5}-){3}[a-z2-9]{5}$/);
    expect(launcher.output.split(password)).toHaveLength(2);
    // After the tour, so that it is in sight.
    expect(launcher.output.indexOf(password)).toBeGreaterThan(launcher.output.indexOf('A tour'));
    expect(launcher.output).toMatch(
      /valid for 24 hours\.\nIf it is lost or has expired: npx pnpm@12 reset-password\n+$/,
    );
    const rights = { is_superuser: true, is_staff: true, is_verified: true };
    expect(product.identities()).toEqual([
      expect.objectContaining({ email, ...rights, password_is_temporary: true }),
    ]);
    const files = readdirSync(product.data, { recursive: true, encoding: 'utf8' })
      .map((name) => path.join(product.data, name))
      .filter((file) => statSync(file).isFile());
    expect(files.length).toBeGreaterThan(20);
    expect(files.filter((file) => readFileSync(file).includes(password))).toEqual([]);
  });

  it('keeps its secrets private', () => {
    for (const name of [...secretFiles, 'run.json', 'logs/identity.log', 'logs/postgres.log']) {
      expect([name, statSync(path.join(product.data, name)).mode & 0o777]).toEqual([name, 0o600]);
    }
    expect(statSync(path.join(product.data, 'keys')).mode & 0o777).toBe(0o700);
  });

  it('sets the variables of each service, and gives each its own keys', () => {
    const identity = product.environmentOf('identity');
    const issues = product.environmentOf('issues');
    const issuer = `http://localhost:${product.ports.identity}`;
    const shared = { NODE_ENV: 'production', HOST: '127.0.0.1', JWT_ISSUER: issuer, SHUTDOWN_DELAY_MS: '0' };
    const [serviceToken, sessionKey] = secrets();
    const token = { SERVICE_TOKEN: serviceToken };
    const keys = { JWT_KEYS_DIR: path.join(product.data, 'keys') };
    expect(identity).toMatchObject({
      ...shared,
      ...token,
      ...keys,
      PORT: String(product.ports.identity),
      TRUST_PROXY: 'loopback',
      HOSTED_SIGN_IN: 'on',
    });
    expect(issues).toMatchObject({
      ...shared,
      ...token,
      PORT: String(product.ports.issues),
      IDENTITY_URL: `http://127.0.0.1:${product.ports.identity}`,
      PUBLIC_BASE_URL: `http://localhost:${product.ports.issues}`,
      WEB_APP: 'on',
      SIGN_IN: 'hosted',
      WEBHOOK_ALLOW_HTTP: 'on',
      WEBHOOK_ALLOWED_NETWORKS: '127.0.0.0/8,::1',
      SESSION_KEYS: sessionKey,
    });
    expect(issues).not.toHaveProperty('JWT_KEYS_DIR');
    expect(issues).not.toHaveProperty('TRUST_PROXY');
    expect(identity).not.toHaveProperty('SESSION_KEYS');
    expect(issues).not.toHaveProperty('IDENTITY_PORT');
  });

  it('gives each service a database that the other cannot open', async () => {
    const { DATABASE_URL: identityUrl = '' } = product.environmentOf('identity');
    const { DATABASE_URL: issuesUrl = '' } = product.environmentOf('issues');
    const who = 'SELECT current_database()::text, current_user::text';
    expect(await query(identityUrl, who)).toEqual(['identity', 'identity']);
    expect(await query(issuesUrl, who)).toEqual(['issues', 'issues']);
    await expect(query(issuesUrl.replace('/issues?', '/identity?'), who)).rejects.toMatchObject({
      code: '42501',
    });
  });

  it('gives each migrator the owner of its database, and each service a role that owns nothing', async () => {
    for (const name of ['identity', 'issues']) {
      const { MIGRATION_DATABASE_URL: ownerUrl = '', ...migrator } = product.migrationEnvironmentOf(name);
      expect(migrator).toMatchObject({ SERVICE_DATABASE_ROLE: name });
      expect(await query(ownerUrl, 'SELECT current_database()::text, current_user::text')).toEqual([
        name,
        `${name}_owner`,
      ]);
      const service = product.environmentOf(name);
      expect(service).not.toHaveProperty('MIGRATION_DATABASE_URL');
      expect(JSON.stringify(service)).not.toContain(new URL(ownerUrl).password);
      const create = query(service.DATABASE_URL ?? '', 'CREATE TABLE mine (n int)');
      await expect(create).rejects.toMatchObject({ code: '42501' });
    }
    await query(identityOwnerUrl(), 'CREATE TABLE kept AS SELECT 7 AS n');
  });

  it('rejects a second start, which changes nothing', async () => {
    const second = product.launch();
    expect(await second.ended).toBe(1);
    expect(second.output).toContain(`already running on this data folder ("start", pid ${launcher.pid})`);
    expect(await fetch(`http://127.0.0.1:${product.ports.identity}/readyz`)).toMatchObject({ status: 200 });
  });

  it('stops on Ctrl-C: signals each service once, before the database, and leaves nothing running', async () => {
    const server = recordProcess(serverPid());
    launcher.interruptGroup();
    expect(await launcher.ended).toBe(0);
    for (const name of ['identity', 'issues']) {
      expect(product.seen(name).map(({ event, databaseUp }) => [event, databaseUp])).toEqual([
        ['listening', undefined],
        ['SIGTERM', true],
      ]);
    }
    expect(server !== undefined && isRunning(server)).toBe(false);
    expect(readdirSync(product.data)).not.toContain('run.json');
    expect(launcher.output.trimEnd().endsWith('Stopped.')).toBe(true);
  });

  it('finds secrets and data again', async () => {
    const before = secrets();
    await start();
    expect(secrets()).toEqual(before);
    expect(launcher.output).toContain(
      'Sign in to the web app as admin@example.com. If its password is lost:',
    );
    expect(launcher.output).not.toContain('one-time');
    expect(launcher.output).not.toContain('A tour');
    expect(product.identities()).toHaveLength(1);
    expect(await query(identityOwnerUrl(), 'SELECT n FROM kept')).toEqual([7]);
  });

  it('leaves nothing running after SIGKILL', async () => {
    const { services } = product.runRecord();
    const left = [...services.map((service) => service.process), recordProcess(serverPid())];
    launcher.kill('SIGKILL');
    await launcher.ended;
    const allGone = () => left.every((process) => process !== undefined && !isRunning(process));
    await eventually(allGone);
  });

  it('cleans up after a launcher that was killed together with its watchdog', async () => {
    await start();
    const { services, watchdog } = product.runRecord();
    for (const pid of [watchdog?.pid ?? 0, launcher.pid]) process.kill(pid, 'SIGKILL');
    await launcher.ended;
    expect(services.map((service) => isRunning(service.process))).toEqual([true, true]);

    await start();
    expect(launcher.output).toContain(
      'stopped processes that a killed run left behind: identity, issues, PostgreSQL',
    );
    expect(services.map((service) => isRunning(service.process))).toEqual([false, false]);
    expect(await query(identityOwnerUrl(), 'SELECT n FROM kept')).toEqual([7]);
  });

  it('prints which service ended and why, stops the rest and fails', async () => {
    await fetch(`http://127.0.0.1:${product.ports.identity}/crash`).catch(() => undefined);
    expect(await launcher.ended).toBe(1);
    expect(launcher.output).toContain('identity ended unexpectedly (exit code 3):\nout of cheese');
    expect(product.seen('issues').at(-1)).toMatchObject({ event: 'SIGTERM', databaseUp: true });
    expect(existsSync(path.join(product.data, 'postgres/postmaster.pid'))).toBe(false);
  });

  it('prints that PostgreSQL ended, stops the rest and fails', async () => {
    await start();
    process.kill(serverPid(), 'SIGQUIT');
    expect(await launcher.ended).toBe(1);
    expect(launcher.output).toContain('PostgreSQL ended unexpectedly:');
    expect(product.seen('issues').at(-1)).toMatchObject({ event: 'SIGTERM' });
  });
});
