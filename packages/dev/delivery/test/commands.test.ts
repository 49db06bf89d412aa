import { execFile } from 'node:child_process';
import { cpSync, existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { z } from 'zod';
import { readRepositoryFile, rootDir } from '../src/repository.ts';

const commands = [
  'start',
  'dev',
  'demo',
  'reset-password',
  'soak',
  'prove:pgbouncer',
  'fuzz',
  'clients',
  'generated-clients',
  'browser-client',
  'bench',
  'sizing',
] as const;
const { scripts } = z
  .object({ scripts: z.record(z.string(), z.string()) })
  .parse(JSON.parse(readRepositoryFile('package.json')));

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'tessera-commands-'));
});
afterAll(() => rmSync(folder, { recursive: true }));

interface Result {
  code: number;
  stdout: string;
  stderr: string;
}

/** Runs a root script as pnpm does, on a data folder that does not exist. */
async function run(
  command: string,
  argument: string,
  { cwd = rootDir, env = process.env }: { cwd?: string; env?: NodeJS.ProcessEnv } = {},
): Promise<Result> {
  const options = { cwd, env: { ...env, TESSERA_DATA_DIR: join(folder, command) }, timeout: 60_000 };
  return new Promise((resolve) => {
    execFile('sh', ['-c', `${scripts[command]} ${argument}`], options, (error, stdout, stderr) => {
      resolve({ code: Number(error?.code ?? 0), stdout, stderr });
    });
  });
}

describe.each(commands)('npx pnpm@12 %s', (command) => {
  it('prints its help and does nothing else', async () => {
    const { code, stdout, stderr } = await run(command, '--help');
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(stdout.split('\n')[0]).toMatch(new RegExp(`^Usage: npx pnpm@12 ${command}( \\[options\\])?$`));
    expect(stdout).toMatch(/^Options:$/m);
    expect(stdout).toMatch(/^ {2}-h, --help /m);
    expect(stdout).toMatch(/^Environment:$/m);
    expect(stdout).toMatch(new RegExp(`^Example:\\n.*npx pnpm@12 ${command}.*\\n$`, 'm'));
    expect(existsSync(join(folder, command))).toBe(false);
  });

  it('exits with 2 for an unknown option and names it', async () => {
    const { code, stdout, stderr } = await run(command, '--nonsense');
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(stderr).toMatch(
      new RegExp(`^${command}: .*'--nonsense'.* See "npx pnpm@12 ${command} --help"\\.\\n$`),
    );
    expect(existsSync(join(folder, command))).toBe(false);
  });
});

it('prints the help although the value of another option is invalid', async () => {
  const { code, stdout } = await run('bench', '--rounds many -h');
  expect({ code, stdout }).toEqual({ code: 0, stdout: expect.stringMatching(/^Usage: npx pnpm@12 bench /) });
});

describe('an invalid command line', () => {
  it.each([
    // pnpm passes the `--` of `pnpm start -- --option` on to the command.
    ['start', '-- --nonsense', "Unknown option '--nonsense'"],
    ['reset-password', '--email', "Option '--email <value>' argument missing"],
    ['soak', '--help --nonsense', "Unknown option '--nonsense'"],
    ['dev', 'stray', "Unexpected argument 'stray'"],
    ['demo', '--issues 0', '--issues must be a whole number from 1 to 1000000'],
    ['demo', '--issues', "Option '--issues <value>' argument missing"],
    ['soak', '--minutes 0', '--minutes must be a number above 0, up to 1440'],
    ['prove:pgbouncer', '--rounds 0', '--rounds must be a whole number from 1 to 999'],
    ['fuzz', '--runs 1.5', '--runs must be a whole number from 1 to 999999999'],
    ['fuzz', '--seed abc', '--seed must be a whole number'],
    ['clients', 'stray', "Unexpected argument 'stray'"],
    ['browser-client', '--chromium /nowhere', '/nowhere does not exist: apt-get install chromium'],
    ['generated-clients', '--only x', '--only must be one of openapi-typescript, orval, hey-api'],
    ['sizing', '--seconds 0', '--seconds must be a number from 0.5 to 1000000, not "0"'],
    ['bench', '--rounds 0', '--rounds must be a number from 1 to 100, not "0"'],
  ])('%s %s exits with 2', async (command, argument, problem) => {
    expect(await run(command, argument)).toEqual({
      code: 2,
      stdout: '',
      stderr: `${command}: ${problem}. See "npx pnpm@12 ${command} --help".\n`,
    });
  });
});

it.each([...commands, 'test', 'test:full', 'check', 'build'])(
  '%s tells an old Node which one is needed, before anything is installed or imported',
  async (command) => {
    const root = mkdtempSync(join(folder, 'old-'));
    for (const file of ['package.json', 'packages/dev/stack/node-version.cjs'])
      cpSync(join(rootDir, file), join(root, file));
    const versions = "{ value: { ...process.versions, node: '18.20.8' } }";
    writeFileSync(join(root, 'old.cjs'), `Object.defineProperty(process, 'versions', ${versions});`);
    const node = `#!/bin/sh\nexec '${process.execPath}' --require '${root}/old.cjs' "$@"\n`;
    writeFileSync(join(root, 'node'), node, { mode: 0o755 });
    const result = await run(command, '', { cwd: root, env: { PATH: `${root}:${process.env.PATH}` } });
    const stderr = 'Tessera needs Node 20.19 or later; this is 18.20.8\n';
    expect(result).toEqual({ code: 1, stdout: '', stderr });
  },
);
