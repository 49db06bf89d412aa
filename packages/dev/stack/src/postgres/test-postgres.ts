import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { testDatabaseUrl } from '../environment.ts';
import { startWatchdog } from '../processes/watchdog.ts';
import { startPostgres } from './server.ts';

export interface TestPostgres {
  /** A superuser's URL. */
  readonly adminUrl: string;
  stop(): Promise<void>;
}

/**
 * Flags for the one server of many test files. A database of a file lives for seconds, but autovacuum starts a process each
 * minute for every one that was ever made. Tests that need statistics call VACUUM or ANALYZE.
 */
export const manyDatabases = ['-c', 'autovacuum=off'];

/**
 * A PostgreSQL for one test run: the server at TEST_DATABASE_URL (a superuser's URL), else a temporary embedded one, which
 * is removed by stop() and when this process dies.
 */
export async function startTestPostgres(flags: readonly string[] = []): Promise<TestPostgres> {
  const given = testDatabaseUrl();
  if (given !== undefined) return { adminUrl: given, stop: async () => undefined };

  const home = mkdtempSync(path.join(tmpdir(), 'tessera-test-'));
  // For root, the server runs as another user, which must be able to reach its own folder.
  chmodSync(home, 0o711);
  const watchdog = startWatchdog();
  watchdog.removeOnDeath(home);
  const remove = () => {
    rmSync(home, { recursive: true, force: true });
    watchdog.release();
  };
  try {
    const server = await startPostgres({ dataDir: path.join(home, 'postgres'), persistent: false, flags });
    watchdog.removeOnDeath(server.folder);
    watchdog.stopOnDeath(server.process.pid, 'INT');
    const stop = async () => {
      await server.stop();
      remove();
    };
    return { adminUrl: server.adminUrl, stop };
  } catch (error) {
    remove();
    throw error;
  }
}
