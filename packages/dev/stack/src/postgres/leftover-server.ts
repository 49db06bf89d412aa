import { readFileSync, readlinkSync, realpathSync, rmSync } from 'node:fs';
import path from 'node:path';
import type { RecordedProcess } from '../processes/recorded-process.ts';
import { commandLineOf, recordProcess, stopProcess } from '../processes/recorded-process.ts';
import { StackError } from '../stack-error.ts';

/** Fast shutdown, immediate shutdown, SIGKILL: see postgres(1). */
export const SERVER_STOP_STEPS = [
  { signal: 'SIGINT', waitMs: 15_000 },
  { signal: 'SIGQUIT', waitMs: 5_000 },
  { signal: 'SIGKILL', waitMs: 5_000 },
] as const;

/** Reads `postmaster.pid`: the pid is in the first line, the state in the eighth. A standby is ready for reads. */
export function readServerFile(folder: string): { pid: number; ready: boolean } | undefined {
  try {
    const lines = readFileSync(path.join(folder, 'postmaster.pid'), 'utf8').split('\n');
    const pid = Number(lines[0]);
    return Number.isInteger(pid) && pid > 1
      ? { pid, ready: /^(ready|standby)/.test(lines[7] ?? '') }
      : undefined;
  } catch {
    return undefined;
  }
}

/**
 * Rejects a folder that a running server uses. Removes a stale lock file whose pid now belongs to another process,
 * because the server would refuse to start.
 */
export function assertNotServed(folder: string): void {
  const server = findServer(folder);
  if (server !== undefined)
    throw new StackError(`A PostgreSQL (pid ${server.pid}) already serves ${folder}.`);
  const written = readServerFile(folder);
  if (written !== undefined && recordProcess(written.pid) !== undefined) {
    rmSync(path.join(folder, 'postmaster.pid'), { force: true });
  }
}

/** Stops the server that a killed launcher left behind. @returns whether there was one */
export async function stopLeftoverServer(folder: string): Promise<boolean> {
  const server = findServer(folder);
  if (server === undefined) return false;
  if (await stopProcess(server, SERVER_STOP_STEPS)) return true;
  throw new StackError(`A PostgreSQL left behind (pid ${server.pid}) does not stop; it serves ${folder}.`);
}

function findServer(folder: string): RecordedProcess | undefined {
  const written = readServerFile(folder);
  const found = written && recordProcess(written.pid);
  return found !== undefined && servesFolder(found.pid, folder) ? found : undefined;
}

// The working directory of a server is its data folder, even after the folder is renamed.
function servesFolder(pid: number, folder: string): boolean {
  if (process.platform !== 'linux') return commandLineOf(pid).includes(folder);
  try {
    return readlinkSync(`/proc/${pid}/cwd`) === realpathSync(folder);
  } catch {
    return false;
  }
}
