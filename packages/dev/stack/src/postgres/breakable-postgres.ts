import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { childrenOf } from '../processes/child-processes.ts';
import { startWatchdog } from '../processes/watchdog.ts';
import type { RunningPostgres } from './server.ts';
import { startPostgres } from './server.ts';
import type { TestPostgres } from './test-postgres.ts';

/** A PostgreSQL for tests of outages. It is durable: committed data survives a crash. */
export interface BreakablePostgres extends TestPostgres {
  /** Closes all connections and shuts the server down. */
  shutDown(): Promise<void>;
  /** Ends the server like a crash: the next start recovers. */
  crash(): Promise<void>;
  /** Starts the server again, with the same address and data. */
  start(): Promise<void>;
  /** Suspends all processes of the server: it accepts connections and answers nothing. */
  pause(): void;
  resume(): void;
}

/**
 * Starts a new temporary server. Ignores TEST_DATABASE_URL, because a shared server must not be broken.
 * @param installation see `PostgresOptions`
 */
export async function startBreakablePostgres(installation?: string): Promise<BreakablePostgres> {
  const home = mkdtempSync(path.join(tmpdir(), 'tessera-test-'));
  // For root, the server runs as another user, which must be able to reach its own folder.
  chmodSync(home, 0o711);
  const dataDir = path.join(home, 'postgres');
  let server = await launch(dataDir, undefined, installation);
  const { adminUrl } = server.postgres;
  const ended = async (end: () => Promise<void>) => {
    await end();
    server.watchdog.release();
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
      server = await launch(dataDir, server.postgres.port, installation);
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

async function launch(dataDir: string, port: number | undefined, installation: string | undefined) {
  const postgres = await startPostgres({ dataDir, port, installation, persistent: true });
  const watchdog = startWatchdog();
  watchdog.removeOnDeath(path.dirname(dataDir));
  watchdog.removeOnDeath(postgres.folder);
  // A suspended server does not handle the watchdog's first signal; the watchdog then sends SIGKILL.
  watchdog.stopOnDeath(postgres.process.pid, 'INT');
  return { postgres, watchdog };
}

// The postmaster first, so that it starts no process in between.
function signalAll(postgres: RunningPostgres, signal: 'SIGSTOP' | 'SIGCONT'): void {
  const { pid } = postgres.process;
  for (const each of [pid, ...childrenOf(pid)]) send(each, signal);
}

function send(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch {
    // The process has already ended.
  }
}
