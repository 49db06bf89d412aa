import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { childrenOf } from '../processes/child-processes.ts';
import { holdLifeline } from '../processes/lifeline.ts';
import type { RunningPostgres } from './server.ts';
import { startPostgres } from './server.ts';
import type { TestPostgres } from './test-postgres.ts';

/** A PostgreSQL for tests of what happens without one. It is durable: what was committed outlives a crash. */
export interface BreakablePostgres extends TestPostgres {
  /** Ends every connection and the server, in order; `start` brings it back. */
  shutDown(): Promise<void>;
  /** Ends it as a crash does: nothing is finished, and the next start recovers. */
  crash(): Promise<void>;
  /** At the same address as before, with the same data. */
  start(): Promise<void>;
  /** Freezes every process of the server: connections stay open, new ones are taken, and nothing is answered. */
  pause(): void;
  resume(): void;
}

/** Starts a throw-away server of its own, also where TEST_DATABASE_URL names one: that one is not ours to break. */
export async function startBreakablePostgres(): Promise<BreakablePostgres> {
  const home = mkdtempSync(path.join(tmpdir(), 'tessera-test-'));
  // When we are root the server runs as another user, which must pass through to its own folder.
  chmodSync(home, 0o711);
  const dataDir = path.join(home, 'postgres');
  let server = await launch(dataDir, undefined);
  const { adminUrl } = server.postgres;
  const ended = async (end: () => Promise<void>) => {
    await end();
    server.lifeline.release();
  };
  return {
    adminUrl,
    shutDown: () => ended(() => server.postgres.stop()),
    crash: () =>
      ended(async () => {
        process.kill(server.postgres.process.pid, 'SIGQUIT');
        await server.postgres.exited;
      }),
    start: async () => {
      server = await launch(dataDir, server.postgres.port);
    },
    pause: () => signalAll(server.postgres, 'SIGSTOP'),
    resume: () => signalAll(server.postgres, 'SIGCONT'),
    stop: async () => {
      signalAll(server.postgres, 'SIGCONT');
      await ended(() => server.postgres.stop());
      rmSync(server.postgres.folder, { recursive: true, force: true });
      rmSync(home, { recursive: true, force: true });
    },
  };
}

async function launch(dataDir: string, port: number | undefined) {
  const postgres = await startPostgres({ dataDir, port, persistent: true });
  const lifeline = holdLifeline();
  lifeline.removeAtDeath(path.dirname(dataDir));
  lifeline.removeAtDeath(postgres.folder);
  // The lifeline's first signal is not heard by a server that is paused; it ends with SIGKILL then.
  lifeline.stopAtDeath(postgres.process.pid, 'INT');
  return { postgres, lifeline };
}

// The server first, so that it starts nobody between.
function signalAll(postgres: RunningPostgres, signal: 'SIGSTOP' | 'SIGCONT'): void {
  const { pid } = postgres.process;
  for (const each of [pid, ...childrenOf(pid)]) send(each, signal);
}

function send(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch {
    // It has ended meanwhile, which is as good.
  }
}
