import { readFileSync, readlinkSync, realpathSync, rmSync } from 'node:fs';
import path from 'node:path';
import type { RecordedProcess } from '../processes/recorded-process.ts';
import { commandLineOf, recordProcess, stopProcess } from '../processes/recorded-process.ts';
import { StackError } from '../stack-error.ts';

/** Fast shutdown, immediate shutdown, and the last resort: postgres(1). */
export const SERVER_STOP_STEPS = [
  { signal: 'SIGINT', waitMs: 15_000 },
  { signal: 'SIGQUIT', waitMs: 5_000 },
  { signal: 'SIGKILL', waitMs: 5_000 },
] as const;

/** What a server writes into its data folder, line by line: its pid first, its state eighth. */
export function readServerFile(folder: string): { pid: number; ready: boolean } | undefined {
  try {
    const lines = readFileSync(path.join(folder, 'postmaster.pid'), 'utf8').split('\n');
    const pid = Number(lines[0]);
    return Number.isInteger(pid) && pid > 1
      ? { pid, ready: lines[7]?.startsWith('ready') === true }
      : undefined;
  } catch {
    return undefined;
  }
}

/**
 * Refuses a folder that a running server works on. A stale lock whose number now belongs to some other process
 * is removed, because the server would take that process for its twin and refuse to start.
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

/** Stops the server that a killed predecessor left behind. @returns whether there was one */
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

// A server's working directory is its data folder, which stays true when the folder is renamed under it.
function servesFolder(pid: number, folder: string): boolean {
  if (process.platform !== 'linux') return commandLineOf(pid).includes(folder);
  try {
    return readlinkSync(`/proc/${pid}/cwd`) === realpathSync(folder);
  } catch {
    return false;
  }
}
