import { type ChildProcess, spawn } from 'node:child_process';
import { closeSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { type OpenLog, openLog } from '../data-folder/log-file.ts';
import { readTail } from '../data-folder/log-tail.ts';
import { waitForExit } from '../processes/child-exit.ts';
import { type RecordedProcess, recordProcess, stopProcess } from '../processes/recorded-process.ts';
import { StackError } from '../stack-error.ts';
import type { Service } from './services.ts';

const MIGRATION_TIMEOUT_MS = 180_000;
const READY_TIMEOUT_MS = 60_000;
const PROBE_TIMEOUT_MS = 2_000;
const TAIL_LINES = 15;

// A service ends its own shutdown after 25 s.
const STOP_STEPS = [
  { signal: 'SIGTERM', waitMs: 30_000 },
  { signal: 'SIGKILL', waitMs: 5_000 },
] as const;

/** A built service with its environment and log file. */
export interface ServiceProgram {
  readonly service: Service;
  readonly rootDir: string;
  readonly variables: Record<string, string>;
  readonly logFile: string;
}

export interface ServiceProcess {
  readonly service: Service;
  readonly process: RecordedProcess;
  /** Resolves with the reason (`exit code 1`, `signal SIGKILL`) when the process has ended. */
  readonly exited: Promise<string>;
  /** The last log lines of this run. */
  readLog(): string;
  stop(): Promise<void>;
}

/** Applies the service's migrations. @throws StackError with the migrator's output when one fails */
export async function runMigrations(program: ServiceProgram, signal: AbortSignal): Promise<void> {
  const log = openLog(program.logFile);
  const child = spawnNode(program, 'migrate.js', log, { signal, timeout: MIGRATION_TIMEOUT_MS });
  const reason = await waitForExit(child);
  signal.throwIfAborted();
  if (reason === 'exit code 0') return;
  throw new StackError(
    `The migrations of ${program.service.name} were not applied (${reason}):\n${readTail(log.file, TAIL_LINES, log.start)}`,
  );
}

/** Starts the service in its own session, so that Ctrl-C reaches it only through the launcher. */
export function startService(program: ServiceProgram): ServiceProcess {
  const log = openLog(program.logFile);
  const child = spawnNode(program, 'server.js', log);
  const exited = waitForExit(child);
  const recorded = child.pid === undefined ? undefined : recordProcess(child.pid);
  const { name } = program.service;
  if (recorded === undefined) throw new StackError(`${name} could not be started.`);
  return {
    service: program.service,
    process: recorded,
    exited,
    readLog: () => readTail(log.file, TAIL_LINES, log.start),
    stop: async () => {
      if (!(await stopProcess(recorded, STOP_STEPS)))
        throw new StackError(`${name} (pid ${recorded.pid}) does not stop.`);
    },
  };
}

/** Waits until `GET /readyz` answers 200. @throws StackError when the service ends or is not ready in time */
export async function waitUntilReady(
  running: ServiceProcess,
  baseUrl: string,
  signal: AbortSignal,
): Promise<void> {
  const { name } = running.service;
  const deadline = Date.now() + READY_TIMEOUT_MS;
  let ended: string | undefined;
  running.exited.then((reason) => {
    ended = reason;
  });
  while (!(await isReady(baseUrl))) {
    signal.throwIfAborted();
    if (ended !== undefined) throw unexpectedEnd(running, ended);
    if (Date.now() > deadline) {
      throw new StackError(`${name} was not ready after ${READY_TIMEOUT_MS / 1000} s:\n${running.readLog()}`);
    }
    await sleep(50);
  }
}

/** The error for a service that ended unexpectedly. */
export function unexpectedEnd(running: ServiceProcess, reason: string): StackError {
  return new StackError(`${running.service.name} ended unexpectedly (${reason}):\n${running.readLog()}`);
}

function spawnNode(
  program: ServiceProgram,
  file: string,
  log: OpenLog,
  limits: { signal?: AbortSignal; timeout?: number } = {},
): ChildProcess {
  const { rootDir, service, variables } = program;
  try {
    return spawn(process.execPath, [path.join(rootDir, 'apps', service.name, 'dist', file)], {
      cwd: rootDir,
      detached: true,
      env: variables,
      stdio: ['ignore', log.fd, log.fd],
      ...limits,
    });
  } finally {
    closeSync(log.fd);
  }
}

async function isReady(baseUrl: string): Promise<boolean> {
  try {
    const response = await fetch(`${baseUrl}/readyz`, { signal: AbortSignal.timeout(PROBE_TIMEOUT_MS) });
    await response.body?.cancel();
    return response.status === 200;
  } catch {
    return false;
  }
}
