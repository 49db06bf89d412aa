import path from 'node:path';
import { type DataFolder, openDataFolder } from './data-folder/data-folder.ts';
import { stopLeftovers } from './data-folder/recovery.ts';
import { RunLock, type RunRecord } from './data-folder/run-record.ts';
import { needsEmbedded, startDatabases } from './embedded-databases.ts';
import type { StackEnvironment } from './environment.ts';
import type { RunningPostgres } from './postgres/server.ts';
import { startWatchdog, type Watchdog } from './processes/watchdog.ts';
import type { Service } from './services/services.ts';

export interface StackSessionOptions {
  readonly mode: RunRecord['mode'];
  readonly rootDir: string;
  readonly environment: StackEnvironment;
  /** Prints one line to the terminal. */
  readonly print: (line: string) => void;
}

/** A locked data folder and the processes that run on it; `close` stops them in reverse order. */
export class StackSession {
  readonly folder: DataFolder;
  readonly #lock: RunLock;
  readonly #watchdog: Watchdog;
  readonly #cleanups: (() => Promise<void>)[] = [];

  private constructor(folder: DataFolder, lock: RunLock, watchdog: Watchdog) {
    this.folder = folder;
    this.#lock = lock;
    this.#watchdog = watchdog;
  }

  /** @throws StackError when the folder is not a data folder, is damaged or is in use */
  static async open({ mode, rootDir, environment, print }: StackSessionOptions): Promise<StackSession> {
    const folder = openDataFolder(resolveDataDir(rootDir, environment));
    const lock = await RunLock.acquire(folder.runFile, mode, async (dead) => {
      const stopped = await stopLeftovers(folder, dead);
      if (stopped.length > 0) print(`stopped processes that a killed run left behind: ${stopped.join(', ')}`);
    });
    const watchdog = startWatchdog();
    if (watchdog.process !== undefined) lock.update({ watchdog: watchdog.process });
    return new StackSession(folder, lock, watchdog);
  }

  /** Starts the embedded PostgreSQL. @returns undefined when every service uses an external database */
  async startDatabases(
    environment: StackEnvironment,
    services: readonly Service[],
  ): Promise<RunningPostgres | undefined> {
    if (!needsEmbedded(environment, services)) return undefined;
    const server = await startDatabases(this.folder, environment, services);
    this.#watchdog.stopOnDeath(server.process.pid, 'INT');
    this.#cleanups.push(server.stop);
    this.#lock.update({ postgresPort: server.port });
    return server;
  }

  /** Registers a started service: the session stops it, and records it for the recovery after a crash. */
  adopt(service: RunRecord['services'][number], stop: () => Promise<void>): void {
    this.#watchdog.stopOnDeath(service.process.pid, 'TERM');
    this.#cleanups.push(stop);
    this.#lock.addService(service);
  }

  /** Stops everything, last started first. A failure does not prevent the other steps. */
  async close(): Promise<void> {
    const failures: unknown[] = [];
    for (const cleanup of this.#cleanups.reverse())
      await cleanup().catch((error: unknown) => failures.push(error));
    if (failures.length > 0) throw failures[0];
    this.#watchdog.release();
    this.#lock.release();
  }
}

/** The data folder: TESSERA_DATA_DIR, else `.data` in the repository. */
export function resolveDataDir(rootDir: string, environment: StackEnvironment): string {
  return path.resolve(rootDir, environment.dataDir ?? '.data');
}
