import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { testDatabaseUrl } from '../environment.ts';
import { holdLifeline } from '../processes/lifeline.ts';
import { startPostgres } from './server.ts';

export interface TestPostgres {
  /** A superuser's URL. */
  readonly adminUrl: string;
  stop(): Promise<void>;
}

/**
 * A PostgreSQL for one test run: the server that TEST_DATABASE_URL names (a superuser's URL), else a throw-away
 * embedded one, which is removed by stop() and also when this process dies without it.
 */
export async function startTestPostgres(): Promise<TestPostgres> {
  const given = testDatabaseUrl();
  if (given !== undefined) return { adminUrl: given, stop: async () => undefined };

  const home = mkdtempSync(path.join(tmpdir(), 'tessera-test-'));
  // When we are root the server runs as another user, which must pass through to its own folder.
  chmodSync(home, 0o711);
  const lifeline = holdLifeline();
  lifeline.removeAtDeath(home);
  const remove = () => {
    rmSync(home, { recursive: true, force: true });
    lifeline.release();
  };
  try {
    const server = await startPostgres({ dataDir: path.join(home, 'postgres'), persistent: false });
    lifeline.removeAtDeath(server.folder);
    lifeline.stopAtDeath(server.process.pid, 'INT');
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
