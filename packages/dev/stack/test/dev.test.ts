import { type ChildProcess, spawn } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { eventually } from '../src/processes/eventually.ts';
import { isRunning } from '../src/processes/recorded-process.ts';
import { FakeProduct } from './support/fake-product.ts';
import { query } from './support/query.ts';

const packageDir = fileURLToPath(new URL('..', import.meta.url));

describe('dev', () => {
  let product: FakeProduct;
  const children: ChildProcess[] = [];
  let output = '';

  beforeEach(async () => {
    output = '';
    product = await FakeProduct.make();
    for (const [name, text] of Object.entries({ 'migrate.ts': '', 'server.ts': serverSource('first') })) {
      mkdirSync(path.join(product.root, 'apps/identity/src'), { recursive: true });
      writeFileSync(path.join(product.root, 'apps/identity/src', name), text);
    }
  });
  afterEach(async () => {
    for (const child of children.splice(0)) await stop(child);
    await product.remove();
  });

  function run(script: string): ChildProcess {
    const child = spawn(process.execPath, ['--import', 'tsx', script, product.root], {
      cwd: packageDir,
      env: { PATH: process.env.PATH, IDENTITY_PORT: String(product.ports.identity) },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    child.stdout?.on('data', (chunk: Buffer) => {
      output += chunk.toString();
    });
    child.stderr?.on('data', (chunk: Buffer) => {
      output += chunk.toString();
    });
    children.push(child);
    return child;
  }

  const waitForOutput = (text: string) => eventually(() => output.includes(text));

  it('runs a service from source on the embedded database and restarts it on a change, until it is stopped', async () => {
    const service = run('test/support/dev-identity.ts');
    const database = run('test/support/dev-database.ts');
    await waitForOutput('first on postgresql://identity:');
    const url = /first on (\S+) in development/.exec(output)?.[1] ?? '';
    expect(await query(url, 'SELECT current_user::text')).toEqual(['identity']);

    writeFileSync(path.join(product.root, 'apps/identity/src/server.ts'), serverSource('second'));
    await waitForOutput('second on postgresql://identity:');

    const start = product.launch();
    expect(await start.ended).toBe(1);
    expect(start.output).toContain(`already running on this data folder ("dev", pid ${database.pid})`);

    const { launcher } = product.runRecord();
    expect([await stop(service), await stop(database)]).toEqual([0, 0]);
    expect(isRunning(launcher)).toBe(false);
    await expect(query(url, 'SELECT 1')).rejects.toThrow('ECONNREFUSED');
    await expect(fetch(`http://127.0.0.1:${product.ports.identity}`)).rejects.toThrow();
  });

  it('fails with a message when "start" uses the data folder', async () => {
    const start = product.launch();
    await start.running();
    const service = run('test/support/dev-identity.ts');
    expect(await new Promise((resolve) => service.once('exit', resolve))).toBe(1);
    expect(output).toContain(`"start" is running on ${product.data} (pid ${start.pid})`);
  });
});

function serverSource(version: string): string {
  return `import { createServer } from 'node:http';
    const { DATABASE_URL, NODE_ENV, PORT } = process.env;
    createServer((_, response) => response.end()).listen(Number(PORT), () =>
      console.log('${version} on ' + DATABASE_URL + ' in ' + NODE_ENV));`;
}

function stop(child: ChildProcess): Promise<number | null> {
  if (child.exitCode !== null) return Promise.resolve(child.exitCode);
  child.kill('SIGTERM');
  return new Promise((resolve) => child.once('exit', resolve));
}
