import { spawn } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { eventually } from '../src/processes/eventually.ts';
import { isRunning } from '../src/processes/recorded-process.ts';
import { FakeProduct } from './support/fake-product.ts';

// External databases for both services, so that no embedded one is started.
const elsewhere = {
  IDENTITY_DATABASE_URL: 'postgresql://identity:pw@127.0.0.1:9/identity',
  ISSUES_DATABASE_URL: 'postgresql://issues:pw@127.0.0.1:9/issues',
};

let product: FakeProduct;
beforeEach(async () => {
  product = await FakeProduct.make();
});
afterEach(() => product.remove());

async function fails(variables: Record<string, string>): Promise<string> {
  const launcher = product.launch({ ...elsewhere, ...variables });
  expect(await launcher.ended).toBe(1);
  return launcher.output;
}

describe('start', () => {
  it('uses external databases and starts no embedded one', async () => {
    const launcher = product.launch({ ...elsewhere, LOG_LEVEL: 'debug', SERVICE_TOKEN: 'given', PORT: '1' });
    await launcher.running();
    expect(product.environmentOf('identity')).toMatchObject({
      DATABASE_URL: elsewhere.IDENTITY_DATABASE_URL,
      SERVICE_TOKEN: 'given',
      LOG_LEVEL: 'debug',
      PORT: String(product.ports.identity),
    });
    expect(readdirSync(product.data).sort()).toEqual([
      'keys',
      'logs',
      'run.json',
      'session-key',
      'tessera-data.json',
    ]);
  });

  it('creates no account if there are identities, or without the web app', async () => {
    const file = path.join(product.root, 'apps/identity/dist/identities.json');
    const withoutApp = product.launch({ ...elsewhere, WEB_APP: 'off' });
    await withoutApp.running();
    expect([withoutApp.output.includes('web app'), existsSync(file)]).toEqual([false, false]);
    withoutApp.kill('SIGTERM');
    expect(await withoutApp.ended).toBe(0);
    const identities = [{ email: 'ann@example.com', is_superuser: false, is_active: true }];
    writeFileSync(file, JSON.stringify(identities));
    const launcher = product.launch(elsewhere);
    await launcher.running();
    expect(launcher.output).toContain(
      'Sign in to the web app with your account. A new password: npx pnpm@12 reset-password --email ADDRESS\n',
    );
    expect(product.identities()).toEqual(identities);
  });

  it.each(['127.0.0.1', '::1'])(
    'names port and variable when the port is in use on %s, and starts nothing',
    async (host) => {
      product.writeTurbo('touch built');
      const port = product.ports.issues;
      // The first port that the message could propose is in use as well.
      const others = [createServer(), createServer()];
      for (const [index, other] of others.entries())
        await new Promise<void>((resolve) =>
          other.once('error', () => resolve()).listen(port + 10 * index, host, resolve),
        );
      try {
        const output = await fails({});
        expect(output).toContain(
          `Port ${port}, wanted for issues, is in use by another program. Set another port: ISSUES_PORT=`,
        );
        expect(Number(/ISSUES_PORT=(\d+)/.exec(output)?.[1])).toBeGreaterThan(port + 10);
      } finally {
        for (const other of others) other.close();
      }
      expect(existsSync(path.join(product.root, 'built'))).toBe(false);
      expect(product.seen('identity')).toEqual([]);
    },
  );

  it('names every invalid variable', async () => {
    const output = await fails({ IDENTITY_PORT: '99999', ISSUES_DATABASE_URL: 'mysql://secret@host/db' });
    expect(output).toContain('IDENTITY_PORT must be a port number');
    expect(output).toContain('ISSUES_DATABASE_URL must be a postgresql:// URL');
    expect(output).not.toContain('secret');
  });

  it('shows the output of a failed build', async () => {
    product.writeTurbo('echo "src/app.ts(3,1): error TS1005"; exit 2');
    expect(await fails({})).toContain('The build failed (exit code 2):\nsrc/app.ts(3,1): error TS1005');
  });

  it('shows why a migration failed, and starts no service', async () => {
    const output = await fails({ FAKE_MIGRATE: 'broken' });
    expect(output).toContain(
      'The migrations of identity were not applied (exit code 1):\nThe migration 0001_init failed',
    );
    expect(product.seen('identity')).toEqual([]);
  });

  it('shows why a service did not start', async () => {
    const output = await fails({ FAKE_SERVER: 'broken' });
    expect(output).toContain('identity ended unexpectedly (exit code 78):\nSERVICE_TOKEN: is required');
  });

  it('does not touch a folder that it did not create', async () => {
    mkdirSync(product.data);
    writeFileSync(path.join(product.data, 'thesis.txt'), 'mine');
    expect(await fails({})).toContain('was not made by Tessera');
    expect(readdirSync(product.data)).toEqual(['thesis.txt']);
  });

  it('names a damaged secret file', async () => {
    const first = product.launch(elsewhere);
    await first.running();
    first.kill('SIGTERM');
    expect(await first.ended).toBe(0);
    const key = path.join(product.data, 'keys/identity-key-1.pem');
    writeFileSync(key, readFileSync(key, 'utf8').slice(0, 200));
    expect(await fails({})).toContain(`The signing key ${key} is damaged`);
  });

  it('stops when the process that started it ends', async () => {
    const variables = { PATH: process.env.PATH ?? '', ...elsewhere };
    const { identity, issues } = product.ports;
    const environment = { ...variables, IDENTITY_PORT: String(identity), ISSUES_PORT: String(issues) };
    const command = `"${process.execPath}" --import tsx --conditions=@tessera/source test/support/launch.ts "$0" & wait`;
    const shell = spawn('sh', ['-c', command, product.root], { env: environment, stdio: 'ignore' });
    await eventually(() => product.seen('issues').length > 0);
    const { launcher, services } = product.runRecord();
    shell.kill('SIGKILL');
    await eventually(() => !isRunning(launcher));
    expect(services.some((service) => isRunning(service.process))).toBe(false);
    expect(product.seen('identity').at(-1)).toMatchObject({ event: 'SIGTERM' });
  });

  it('waits for a slow service until the second stop request', async () => {
    const launcher = product.launch({ ...elsewhere, FAKE_SERVER: 'stubborn' });
    await launcher.running();
    launcher.kill('SIGINT');
    // The package manager may forward the same Ctrl-C.
    launcher.kill('SIGINT');
    await eventually(() => product.seen('issues').at(-1)?.event === 'SIGTERM');
    const { services } = product.runRecord();
    await new Promise((resolve) => setTimeout(resolve, 1_100));
    expect(services.map((service) => isRunning(service.process))).toEqual([true, true]);
    launcher.kill('SIGINT');
    expect(await launcher.ended).toBe(0);
    expect(services.some((service) => isRunning(service.process))).toBe(false);
  });

  it('aborts the build on a stop request', async () => {
    product.writeTurbo('sleep 60');
    const launcher = product.launch(elsewhere);
    await launcher.waitForOutput('building');
    launcher.kill('SIGTERM');
    expect(await launcher.ended).toBe(0);
  });

  it('prints its help and rejects unknown options', async () => {
    const help = product.launch({}, ['--help']);
    expect(await help.ended).toBe(0);
    expect(help.output).toContain('Usage: npx pnpm@12 start');
    const unknown = product.launch({}, ['--prot', '80']);
    expect(await unknown.ended).toBe(2);
    expect(unknown.output).toContain("Unknown option '--prot'");
    const beside = product.launch({}, ['--help', '--bogus']);
    expect(await beside.ended).toBe(2);
    expect(beside.output).toContain("Unknown option '--bogus'");
    expect(existsSync(product.data)).toBe(false);
  });
});
