import { mkdirSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { randomSecret, readOrCreateSecret } from '../data-folder/secret-file.ts';
import type { RecordedProcess } from '../processes/recorded-process.ts';
import { stopProcess } from '../processes/recorded-process.ts';
import { StackError } from '../stack-error.ts';
import { findBinaries } from './binaries.ts';
import { assertUsableCluster, hasCluster, locateCluster, removeCluster } from './cluster.ts';
import { createCluster, SUPERUSER } from './cluster-creation.ts';
import { assertPasswordFits } from './connection.ts';
import { findFreePort } from './free-port.ts';
import { assertNotServed, SERVER_STOP_STEPS } from './leftover-server.ts';
import { serverAccount } from './server-account.ts';
import type { LaunchedServer, ServerLaunch } from './server-process.ts';
import { launchServer } from './server-process.ts';

export interface PostgresOptions {
  /** The cluster's folder, created if missing, beside `<dataDir>.password`, `.log` and, if needed, `.location`. */
  readonly dataDir: string;
  /** Default: a free port. */
  readonly port?: number | undefined;
  /** Whether the data is kept after {@link RunningPostgres.stop}. A temporary cluster is not crash-safe either. */
  readonly persistent: boolean;
  /** The server's log file. Default: `<dataDir>.log`. */
  readonly log?: string;
  /** The folder above `bin` of another PostgreSQL. Default: the one that npm installed. */
  readonly installation?: string | undefined;
  /** Additional arguments of postgres(1), such as `['-c', 'log_statement=all']`. */
  readonly flags?: readonly string[];
}

export interface RunningPostgres {
  readonly port: number;
  /** The superuser's URL with the password; must not be logged. */
  readonly adminUrl: string;
  readonly process: RecordedProcess;
  /** The actual data folder, which for root may differ from `dataDir`. */
  readonly folder: string;
  readonly logFile: string;
  /** Resolves when the server has ended. */
  readonly exited: Promise<void>;
  /** Closes all connections, stops the server and removes a temporary cluster. May be called again. */
  stop(): Promise<void>;
}

// Roles that are created there get weak password hashes, because each connection costs as many hash iterations.
const THROW_AWAY_FLAGS = [
  'fsync=off',
  'synchronous_commit=off',
  'full_page_writes=off',
  'scram_iterations=1',
].flatMap((setting) => ['-c', setting]);
const LAUNCH_ATTEMPTS = 20;

/**
 * Starts a PostgreSQL, by default 18, that listens on 127.0.0.1 and requires a password. Creates its cluster first if necessary.
 * For root, it runs as the user `postgres`, with data and binaries in folders that this user can reach.
 * @throws StackError with the end of the server's log when it does not start
 */
export async function startPostgres(options: PostgresOptions): Promise<RunningPostgres> {
  const dataDir = path.resolve(options.dataDir);
  const logFile = options.log ?? `${dataDir}.log`;
  const passwordFile = `${dataDir}.password`;
  mkdirSync(path.dirname(dataDir), { recursive: true });
  const password = options.persistent ? readOrCreateSecret(passwordFile) : randomSecret();
  const { folder, ...runnable } = await prepareCluster(dataDir, password, options);

  const flags = [...(options.persistent ? [] : THROW_AWAY_FLAGS), ...(options.flags ?? [])];
  const { server, port } = await launchOnFreePort({ ...runnable, folder, flags, logFile }, options.port);
  const adminUrl = `postgresql://${SUPERUSER}:${password}@127.0.0.1:${port}/postgres?sslmode=disable`;
  const stop = async () => {
    if (!(await stopProcess(server.process, SERVER_STOP_STEPS))) {
      throw new StackError(`PostgreSQL (pid ${server.process.pid}) does not stop.`);
    }
    if (!options.persistent) removeCluster(dataDir, folder);
  };
  try {
    await assertPasswordFits(adminUrl, passwordFile);
  } catch (error) {
    await stop();
    throw error;
  }
  return { port, adminUrl, process: server.process, folder, logFile, exited: server.exited, stop };
}

async function prepareCluster(
  dataDir: string,
  password: string,
  { persistent, installation }: PostgresOptions,
) {
  const located = locateCluster(dataDir);
  const account = serverAccount(located);
  const binaries = findBinaries(account, installation);
  if (!hasCluster(located)) {
    const folder = await createCluster({ dataDir, password, binaries, account, persistent });
    return { folder, binaries, account };
  }
  assertUsableCluster(located, binaries, account);
  assertNotServed(located);
  return { folder: located, binaries, account };
}

/** Retries: a free port may be taken meanwhile, and processes of a killed server need a moment to end. */
async function launchOnFreePort(
  launch: Omit<ServerLaunch, 'port'>,
  wantedPort: number | undefined,
): Promise<{ server: LaunchedServer; port: number }> {
  for (let attempt = 1; ; attempt += 1) {
    const port = wantedPort ?? (await findFreePort());
    const result = await launchServer({ ...launch, port });
    if ('process' in result) return { server: result, port };
    const portTaken = result.log.includes('Address already in use');
    if (portTaken && wantedPort !== undefined)
      throw new StackError(`Port ${port}, wanted for PostgreSQL, is in use.`);
    const mayPass = portTaken || result.log.includes('pre-existing shared memory block');
    if (!mayPass || attempt === LAUNCH_ATTEMPTS)
      throw new StackError(`PostgreSQL did not start:\n${result.log}`);
    if (!portTaken) await sleep(500);
  }
}
