import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { testNodeArguments } from '@tessera/stack';
import { recordEmission } from '@tessera/testing/leaks';
import supertest from 'supertest';
import { testEnvironment } from './environment.ts';
import { assertAuthenticates, type TestApp } from './test-app.ts';

const folder = fileURLToPath(new URL('../..', import.meta.url));

export interface IssuesService {
  url: string;
  http: ReturnType<typeof supertest>;
  /** The output of the process so far, in chunks. */
  log: string[];
  pid: number | undefined;
  /** Sends SIGTERM and returns the exit code. */
  stop: () => Promise<number | null>;
  /** Sends SIGKILL. */
  kill: () => void;
  /** Resolves when the process has ended. */
  ended: Promise<unknown>;
}

/** Starts the built service in its own process on a free port. Several processes may share one database. */
export async function startIssuesService(
  { databaseUrl, identity }: Pick<TestApp, 'databaseUrl' | 'identity'>,
  environment: Record<string, string> = {},
): Promise<IssuesService> {
  const child = spawn(process.execPath, [...testNodeArguments(), 'dist/server.js'], {
    cwd: folder,
    env: {
      PATH: process.env.PATH,
      ...testEnvironment(databaseUrl, identity.url, {
        HOST: '127.0.0.1',
        PORT: '0',
        SHUTDOWN_DELAY_MS: '0',
        ...environment,
      }),
    },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const ended = once(child, 'exit');
  const log: string[] = [];
  const url = `http://127.0.0.1:${await listeningPort(child, log)}`;
  const http = supertest(url);
  await assertAuthenticates({ http }).catch((error: unknown) => {
    child.kill('SIGKILL');
    throw error;
  });
  return {
    url,
    http,
    log,
    pid: child.pid,
    stop: async () => {
      child.kill('SIGTERM');
      const [code] = await ended;
      return code;
    },
    kill: () => void child.kill('SIGKILL'),
    ended,
  };
}

function listeningPort(child: ChildProcess, log: string[]): Promise<string> {
  return new Promise((resolve, reject) => {
    child.stdout?.on('data', (chunk) => {
      log.push(String(chunk));
      recordEmission('log of a process', String(chunk));
      const port = /"port":(\d+),"msg":"listening"/.exec(log.join(''))?.[1];
      if (port !== undefined) resolve(port);
    });
    child.once('exit', (code) => reject(new Error(`issues exited with ${code}: ${log.join('')}`)));
  });
}
