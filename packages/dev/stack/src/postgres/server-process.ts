import { spawn } from 'node:child_process';
import { closeSync } from 'node:fs';
import { openLog } from '../data-folder/log-file.ts';
import { readTail } from '../data-folder/log-tail.ts';
import type { RecordedProcess } from '../processes/recorded-process.ts';
import { recordProcess, stopProcess } from '../processes/recorded-process.ts';
import { waitUntil } from '../processes/wait-until.ts';
import { StackError } from '../stack-error.ts';
import type { PostgresBinaries } from './binaries.ts';
import { SERVER_ENVIRONMENT } from './binaries.ts';
import { readServerFile, SERVER_STOP_STEPS } from './leftover-server.ts';
import type { ServerAccount } from './server-account.ts';

// Enough time to replay the log after a crash.
const READY_TIMEOUT_MS = 60_000;

export interface ServerLaunch {
  readonly binaries: PostgresBinaries;
  readonly account: ServerAccount | undefined;
  readonly folder: string;
  readonly port: number;
  readonly flags: readonly string[];
  readonly logFile: string;
}

export interface LaunchedServer {
  readonly process: RecordedProcess;
  /** Resolves when the server has ended. */
  readonly exited: Promise<void>;
}

/** A server that ended before it was ready, with its log. */
export interface FailedLaunch {
  readonly log: string;
}

/**
 * Starts a server in its own session and waits until it accepts connections.
 * Ctrl-C goes to the whole foreground group and must not end the server before its clients.
 */
export async function launchServer(launch: ServerLaunch): Promise<LaunchedServer | FailedLaunch> {
  const log = openLog(launch.logFile);
  const child = spawn(launch.binaries.postgres, ['-D', launch.folder, ...serverFlags(launch)], {
    ...launch.account,
    cwd: '/',
    detached: true,
    env: SERVER_ENVIRONMENT,
    stdio: ['ignore', log.fd, log.fd],
  });
  child.unref();
  closeSync(log.fd);
  let ended = false;
  const exited = new Promise<void>((resolve) => {
    for (const event of ['exit', 'error']) child.once(event, () => resolve());
  }).then(() => {
    ended = true;
  });
  const isReady = () => {
    const written = readServerFile(launch.folder);
    return written?.ready === true && written.pid === child.pid;
  };
  const settled = await waitUntil(() => ended || isReady(), READY_TIMEOUT_MS, 20);
  const recorded = child.pid === undefined ? undefined : recordProcess(child.pid);
  if (settled && !ended && recorded !== undefined) return { process: recorded, exited };
  if (recorded !== undefined) await stopProcess(recorded, SERVER_STOP_STEPS);
  const tail = readTail(log.file, 15, log.start);
  if (!settled) throw new StackError(`PostgreSQL was not ready after ${READY_TIMEOUT_MS / 1000} s:\n${tail}`);
  return { log: tail };
}

function serverFlags({ port, flags }: ServerLaunch): string[] {
  const settings = {
    port: String(port),
    listen_addresses: '127.0.0.1',
    unix_socket_directories: '',
    max_connections: '200',
    log_timezone: 'UTC',
    timezone: 'UTC',
  };
  return [...Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]), ...flags];
}
