import path from 'node:path';
import { type DataFolder, openDataFolder } from './data-folder/data-folder.ts';
import { stopLeftovers } from './data-folder/recovery.ts';
import { RunClaim, type RunRecord } from './data-folder/run-record.ts';
import { needsEmbedded, startDatabases } from './embedded-databases.ts';
import type { StackEnvironment } from './environment.ts';
import type { RunningPostgres } from './postgres/server.ts';
import { holdLifeline, type Lifeline } from './processes/lifeline.ts';
import type { Service } from './services/services.ts';

export interface SessionOptions {
  readonly mode: RunRecord['mode'];
  readonly rootDir: string;
  readonly environment: StackEnvironment;
  /** Tells the person at the terminal one line. */
  readonly say: (line: string) => void;
}

/** A claimed data folder and what was started on it, to be ended in reverse order. */
export class Session {
  readonly folder: DataFolder;
  readonly #claim: RunClaim;
  readonly #lifeline: Lifeline;
  readonly #cleanups: (() => Promise<void>)[] = [];

  private constructor(folder: DataFolder, claim: RunClaim, lifeline: Lifeline) {
    this.folder = folder;
    this.#claim = claim;
    this.#lifeline = lifeline;
  }

  /** @throws StackError when the folder is foreign, damaged or in use */
  static async open({ mode, rootDir, environment, say }: SessionOptions): Promise<Session> {
    const folder = openDataFolder(resolveDataDir(rootDir, environment));
    const claim = await RunClaim.take(folder.runFile, mode, async (dead) => {
      const stopped = await stopLeftovers(folder, dead);
      if (stopped.length > 0) say(`a killed run had left behind, now stopped: ${stopped.join(', ')}`);
    });
    const lifeline = holdLifeline();
    if (lifeline.process !== undefined) claim.update({ lifeline: lifeline.process });
    return new Session(folder, claim, lifeline);
  }

  /** Starts the embedded PostgreSQL. @returns undefined when every service has a database of its own */
  async startDatabases(
    environment: StackEnvironment,
    services: readonly Service[],
  ): Promise<RunningPostgres | undefined> {
    if (!needsEmbedded(environment, services)) return undefined;
    const server = await startDatabases(this.folder, environment, services);
    this.#lifeline.stopAtDeath(server.process.pid, 'INT');
    this.#cleanups.push(server.stop);
    this.#claim.update({ postgresPort: server.port });
    return server;
  }

  /** Takes care of a started service: it is stopped with the session, and found by the next one if we are killed. */
  adopt(service: RunRecord['services'][number], stop: () => Promise<void>): void {
    this.#lifeline.stopAtDeath(service.process.pid, 'TERM');
    this.#cleanups.push(stop);
    this.#claim.addService(service);
  }

  /** Ends everything, last started first; what does not end does not keep the rest from ending. */
  async close(): Promise<void> {
    const failures: unknown[] = [];
    for (const cleanup of this.#cleanups.reverse())
      await cleanup().catch((error: unknown) => failures.push(error));
    if (failures.length > 0) throw failures[0];
    this.#lifeline.release();
    this.#claim.release();
  }
}

/** The data folder: `.data` in the repository unless the environment names another. */
export function resolveDataDir(rootDir: string, environment: StackEnvironment): string {
  return path.resolve(rootDir, environment.dataDir ?? '.data');
}
