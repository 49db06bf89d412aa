import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { errorCode } from '../error-code.ts';
import { waitUntil } from './wait-until.ts';

/** A process identified by its pid and start time, because pids are reused. */
export interface RecordedProcess {
  readonly pid: number;
  /** An opaque value that differs for every process. */
  readonly startedAt: string;
}

/** A signal, and how long to wait for its effect, in milliseconds. */
export interface StopStep {
  readonly signal: NodeJS.Signals;
  readonly waitMs: number;
}

/** @returns the process with its start time; undefined for a missing process or a zombie */
export function recordProcess(pid: number): RecordedProcess | undefined {
  const startedAt = process.platform === 'linux' ? linuxStartTime(pid) : portableStartTime(pid);
  return startedAt === undefined ? undefined : { pid, startedAt };
}

/** Whether this process still runs. Another process with the same pid does not count. */
export function isRunning(recorded: RecordedProcess): boolean {
  return recordProcess(recorded.pid)?.startedAt === recorded.startedAt;
}

/** The command line of a process; empty if it does not exist. */
export function commandLineOf(pid: number): string {
  try {
    if (process.platform === 'linux')
      return readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ').trim();
    return runPs(pid, 'command=');
  } catch {
    return '';
  }
}

/** @returns the parent's pid; undefined if the process does not exist */
export function parentOf(pid: number): number | undefined {
  try {
    const parent = Number(process.platform === 'linux' ? readLinuxStat(pid)[1] : runPs(pid, 'ppid='));
    return Number.isInteger(parent) ? parent : undefined;
  } catch {
    return undefined;
  }
}

/**
 * Sends the signals one after another until the process has ended.
 * @returns whether it has ended
 */
export async function stopProcess(recorded: RecordedProcess, steps: readonly StopStep[]): Promise<boolean> {
  for (const { signal, waitMs } of steps) {
    if (!isRunning(recorded)) return true;
    sendSignal(recorded.pid, signal);
    if (await waitUntil(() => !isRunning(recorded), waitMs)) return true;
  }
  return !isRunning(recorded);
}

function sendSignal(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch (error) {
    if (errorCode(error) !== 'ESRCH') throw error;
  }
}

function linuxStartTime(pid: number): string | undefined {
  try {
    const fields = readLinuxStat(pid);
    if (fields[0] === 'Z' || fields[0] === 'X') return undefined;
    return `${readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim()}:${fields[19]}`;
  } catch {
    return undefined;
  }
}

// proc(5). Returns the fields from the third on: state, parent, …, and the start time (the 22nd field) at index 19. The
// second field may contain spaces and parentheses.
function readLinuxStat(pid: number): string[] {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
  return stat.slice(stat.lastIndexOf(')') + 2).split(' ');
}

function portableStartTime(pid: number): string | undefined {
  try {
    const row = runPs(pid, 'state=,lstart=');
    return row === '' || row.startsWith('Z') ? undefined : row.replace(/^\S+\s+/, '');
  } catch {
    return undefined;
  }
}

function runPs(pid: number, columns: string): string {
  return execFileSync('ps', ['-o', columns, '-p', String(pid)], { encoding: 'utf8', stdio: 'pipe' }).trim();
}
