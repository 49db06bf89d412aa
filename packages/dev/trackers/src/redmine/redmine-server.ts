import { type ChildProcess, execFile, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, copyFileSync, mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { findFreePort } from '@tessera/stack/postgres';
import axios from 'axios';
import { pidsOfGroup } from './process-group.ts';

const application = '/usr/share/redmine';
// Debian's dbconfig-common creates the installed database here.
const installedDatabase = '/var/lib/dbconfig-common/sqlite3/redmine/instances/default/redmine_default';

/** The accounts of every started Redmine. */
export interface RedmineAccounts {
  admin: { id: number; key: string };
  /** May change everything in a project. */
  manager: { id: number; key: string };
  /** May create issues and comment; Redmine silently ignores its status changes. */
  reporter: { id: number; key: string };
  roles: { manager: number; reporter: number };
  /** The type `Incident`, which requires the custom field `Area` (`web` or `api`). */
  incident: { typeId: number; fieldId: number };
}

export interface RedmineServer extends RedmineAccounts {
  url: string;
}

/** Whether Redmine can run here: Debian's package is installed and this process is root. */
export function canRunRedmine(): boolean {
  return process.getuid?.() === 0 && spawnSync('dpkg', ['-s', 'redmine', 'puma']).status === 0;
}

/** A project filled by `seedIssues`; its issues are numbered consecutively from `firstIssueId`. */
export interface SeededIssues {
  projectId: number;
  firstIssueId: number;
  issues: number;
  statusIds: number[];
  trackerIds: number[];
  priorityIds: number[];
}

export interface RunningRedmine {
  server: RedmineServer;
  /** Kills Redmine like a crash. Its issues remain. */
  down: () => Promise<void>;
  /** Restarts Redmine at the same address and waits until it responds. */
  up: () => Promise<void>;
  /** Suspends the processes of Redmine for `ms` milliseconds (SIGSTOP, SIGCONT). */
  suspend: (ms: number) => Promise<void>;
  /** The pids of Redmine's processes, for measurements; empty while Redmine is down. */
  pids: () => number[];
  /** Creates a project with this many issues of every status, each with a few comments. */
  seedIssues: (issues: number, comments?: number) => Promise<SeededIssues>;
  /** Enables or disables the REST API, as an administrator can. */
  switchRestApi: (isOn: boolean) => Promise<void>;
  /** Stops Redmine and removes its files. */
  stop: () => Promise<void>;
}

export interface RedmineOptions {
  /**
   * Whether Redmine handles one request at a time. Two threads that write to SQLite at once can block each other for
   * ten seconds, after which one request fails with 500. Default: true.
   */
  isSerial?: boolean;
  /** The offset of Redmine's clock from this machine's clock in seconds. Default: 0. */
  clockOffsetSeconds?: number;
}

/** Starts Debian's Redmine on a free port with a copy of its installed database. */
export async function startRedmine({
  isSerial = true,
  clockOffsetSeconds = 0,
}: RedmineOptions = {}): Promise<RunningRedmine> {
  const work = mkdtempSync(path.join(tmpdir(), 'redmine-'));
  const run = await prepare(work);
  const rackup = await copyScript(work, 'redmine.ru');
  const log = path.join(work, 'puma.log');
  const port = await findFreePort();
  const url = `http://127.0.0.1:${port}`;
  let puma: ChildProcess | undefined;
  const down = async () => {
    if (puma?.pid === undefined || puma.exitCode !== null || puma.signalCode !== null) return;
    const ended = once(puma, 'exit');
    process.kill(-puma.pid, 'SIGKILL');
    await ended;
    // runuser has ended; Puma, its child, may still be running.
    while (pidsOfGroup(puma.pid).length > 0) await pause(20);
  };
  const stop = async () => {
    await down();
    rmSync(work, { recursive: true, force: true });
  };
  const startPuma = async (variables: string[]) => {
    const output = openSync(log, 'a');
    const options = ['-e', 'production', '-b', `tcp://127.0.0.1:${port}`, '-t', '2:4'];
    const settings = [`SERIAL=${isSerial ? '1' : '0'}`, `CLOCK_OFFSET=${clockOffsetSeconds}`];
    const command = [...run, ...settings, ...variables, 'puma', ...options, rackup];
    puma = spawn('runuser', command, { cwd: application, stdio: ['ignore', output, output], detached: true });
    closeSync(output);
    await untilItAnswers(url);
  };
  let accounts: RedmineAccounts;
  try {
    await startPuma([`SEED=${await copyScript(work, 'seed.rb')}`]);
    accounts = readSeeded(readFileSync(log, 'utf8'));
  } catch (error) {
    await stop();
    throw error;
  }
  const up = () => startPuma([]);
  const pids = () => (puma?.pid === undefined ? [] : pidsOfGroup(puma.pid));
  const suspend = async (ms: number): Promise<void> => {
    const suspended = pids();
    for (const pid of suspended) process.kill(pid, 'SIGSTOP');
    await pause(ms);
    for (const pid of suspended.filter((one) => pids().includes(one))) process.kill(pid, 'SIGCONT');
  };
  const seedIssues = (issues: number, comments = 3): Promise<SeededIssues> =>
    runSeed(work, [...run, `SEED_ISSUES=${issues}`, `SEED_COMMENTS=${comments}`], 'seed-issues.rb');
  const switchRestApi = (isOn: boolean): Promise<void> =>
    runSeed(work, [...run, `REST_API=${isOn ? '1' : '0'}`], 'switch-rest-api.rb');
  return { server: { url, ...accounts }, down, up, suspend, pids, seedIssues, switchRestApi, stop };
}

// Each run uses its own copy. With a timeout, a SQLite writer waits for another writer instead of failing.
async function prepare(work: string): Promise<string[]> {
  const database = path.join(work, 'redmine.sqlite3');
  copyFileSync(installedDatabase, database);
  await promisify(execFile)('chown', ['-R', 'www-data:', work]);
  // Puma uses the folder in PWD; www-data cannot enter this process's folder.
  const environment = [
    `PWD=${application}`,
    'RAILS_ENV=production',
    `DATABASE_URL=sqlite3:${database}?timeout=10000`,
  ];
  return ['-u', 'www-data', '--', 'env', ...environment];
}

// Runs one of the scripts beside this file inside Redmine and parses its output.
async function runSeed<Result>(work: string, run: string[], name: string): Promise<Result> {
  const script = await copyScript(work, name);
  const { stdout } = await promisify(execFile)('runuser', [...run, 'bin/rails', 'runner', script], {
    cwd: application,
  });
  return readSeeded(stdout);
}

function readSeeded<Result>(output: string): Result {
  const seeded = /^SEEDED (.*)$/m.exec(output)?.[1];
  if (seeded === undefined) throw new Error(`Redmine could not be seeded: ${output}`);
  return JSON.parse(seeded);
}

// www-data cannot enter the folder of this file.
async function copyScript(work: string, name: string): Promise<string> {
  const script = path.join(work, name);
  copyFileSync(fileURLToPath(new URL(name, import.meta.url)), script);
  await promisify(execFile)('chmod', ['a+r', script]);
  return script;
}

async function untilItAnswers(url: string): Promise<void> {
  for (let attempt = 0; attempt < 1_200; attempt += 1) {
    const answer = await axios.get(url, { proxy: false, validateStatus: () => true }).catch(() => undefined);
    if (answer?.status === 200) return;
    await pause(250);
  }
  throw new Error('Redmine does not respond');
}
