import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { testNodeArguments } from '@tessera/stack';
import { recordEmission } from '@tessera/testing/leaks';
import supertest from 'supertest';
import { assertAuthenticates, signingPem, testEnvironment } from './test-app.ts';

const server = fileURLToPath(new URL('../../dist/server.js', import.meta.url));

export interface ServiceProcess {
  url: string;
  http: ReturnType<typeof supertest>;
  process: ChildProcess;
  /** Sends SIGTERM and returns the exit code. */
  stop: () => Promise<number | null>;
}

/** Starts the built service in its own process on a free port. Several share one database and one key. */
export async function startService(
  databaseUrl: string,
  overrides: Record<string, string> = {},
): Promise<ServiceProcess> {
  const child = spawn(process.execPath, [...testNodeArguments(), server], {
    env: {
      PATH: process.env.PATH,
      UV_THREADPOOL_SIZE: '6',
      ...testEnvironment(databaseUrl, {
        JWT_PRIVATE_KEY: signingPem(),
        HOST: '127.0.0.1',
        PORT: '0',
        SHUTDOWN_DELAY_MS: '0',
        ...overrides,
      }),
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const url = await listeningUrl(child);
  const http = supertest(url);
  await assertAuthenticates({ http }).catch((error: unknown) => {
    child.kill('SIGKILL');
    throw error;
  });
  return {
    url,
    http,
    process: child,
    stop: async () => {
      if (child.exitCode !== null) return child.exitCode;
      child.kill('SIGTERM');
      const [code] = await once(child, 'exit');
      return code;
    },
  };
}

function listeningUrl(child: ChildProcess): Promise<string> {
  let output = '';
  return new Promise((resolve, reject) => {
    const read = (chunk: unknown) => {
      output += String(chunk);
      recordEmission('log of a process', String(chunk));
      const port = /"port":(\d+),"msg":"listening"/.exec(output)?.[1];
      if (port !== undefined) resolve(`http://127.0.0.1:${port}`);
    };
    child.stdout?.on('data', read);
    child.stderr?.on('data', read);
    child.once('exit', (code) => reject(new Error(`the service exited with ${code}: ${output}`)));
  });
}
