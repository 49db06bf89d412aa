import { execFile, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { copyFileSync, mkdtempSync, openSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import axios from 'axios';
import { freePort } from './free-port.ts';

const application = '/usr/share/redmine';
const asWebUser = ['-u', 'www-data', '--', 'env', 'RAILS_ENV=production'];

/** Accounts of the tests' Redmine. */
export interface RedmineAccounts {
  admin: { id: number; key: string };
  /** May change everything in a project. */
  manager: { id: number; key: string };
  /** May create and comment; what it does to a status is dropped without a word. */
  reporter: { id: number; key: string };
  roles: { manager: number; reporter: number };
}

export interface RedmineServer extends RedmineAccounts {
  url: string;
}

/** Whether a Redmine can be started here: Debian's package is installed, and we are root. */
export function canRunRedmine(): boolean {
  return process.getuid?.() === 0 && spawnSync('dpkg', ['-s', 'redmine', 'puma']).status === 0;
}

/** Starts Debian's Redmine with its own database on a free port. */
export async function startRedmine(): Promise<{ server: RedmineServer; stop: () => Promise<void> }> {
  const work = mkdtempSync(path.join(tmpdir(), 'redmine-'));
  const accounts = await seed(work);
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const log = openSync(path.join(work, 'puma.log'), 'a');
  const puma = spawn(
    'runuser',
    [...asWebUser, 'puma', '-e', 'production', '-b', `tcp://127.0.0.1:${port}`, '-t', '2:4'],
    { cwd: application, stdio: ['ignore', log, log], detached: true },
  );
  const stop = async () => {
    if (puma.pid !== undefined && puma.exitCode === null) process.kill(-puma.pid, 'SIGKILL');
    if (puma.exitCode === null && puma.signalCode === null) await once(puma, 'exit');
    rmSync(work, { recursive: true, force: true });
  };
  try {
    await untilItAnswers(url);
  } catch (error) {
    await stop();
    throw error;
  }
  return { server: { url, ...accounts }, stop };
}

async function seed(work: string): Promise<RedmineAccounts> {
  const script = path.join(work, 'seed.rb');
  copyFileSync(fileURLToPath(new URL('../redmine/seed.rb', import.meta.url)), script);
  await promisify(execFile)('chmod', ['-R', 'a+rX', work]);
  const { stdout } = await promisify(execFile)('runuser', [...asWebUser, 'bin/rails', 'runner', script], {
    cwd: application,
  });
  const seeded = /^SEEDED (.*)$/m.exec(stdout)?.[1];
  if (seeded === undefined) throw new Error(`Redmine could not be seeded: ${stdout}`);
  return JSON.parse(seeded);
}

async function untilItAnswers(url: string): Promise<void> {
  for (let attempt = 0; attempt < 240; attempt += 1) {
    const answer = await axios.get(url, { proxy: false, validateStatus: () => true }).catch(() => undefined);
    if (answer?.status === 200) return;
    await new Promise((resolve) => setTimeout(resolve, 250));
  }
  throw new Error('Redmine does not answer');
}
