import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { errorCode } from '../error-code.ts';
import { waitUntil } from './wait-until.ts';

/** A process known by more than its number: process ids are used again, a start time is not. */
export interface RecordedProcess {
  readonly pid: number;
  /** Opaque; equal only for one and the same process. */
  readonly startedAt: string;
}

/** One signal, and how long to wait for its effect, in milliseconds. */
export interface StopStep {
  readonly signal: NodeJS.Signals;
  readonly waitMs: number;
}

/** @returns the process with its start time, or undefined when there is none (a zombie counts as none) */
export function recordProcess(pid: number): RecordedProcess | undefined {
  const startedAt = process.platform === 'linux' ? linuxStartTime(pid) : portableStartTime(pid);
  return startedAt === undefined ? undefined : { pid, startedAt };
}

/** Whether exactly that process still runs, and not another one that was given its number. */
export function isRunning(recorded: RecordedProcess): boolean {
  return recordProcess(recorded.pid)?.startedAt === recorded.startedAt;
}

/** The process's command with its arguments; empty when there is no such process. */
export function commandLineOf(pid: number): string {
  try {
    if (process.platform === 'linux')
      return readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ').trim();
    return askPs(pid, 'command=');
  } catch {
    return '';
  }
}

/** @returns the process's parent; undefined when there is no such process */
export function parentOf(pid: number): number | undefined {
  try {
    const parent = Number(process.platform === 'linux' ? readLinuxStat(pid)[1] : askPs(pid, 'ppid='));
    return Number.isInteger(parent) ? parent : undefined;
  } catch {
    return undefined;
  }
}

/**
 * Sends the signals one after another until the process is gone.
 * @returns whether it is gone
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

// proc(5): from the third field on, which is the state, then the parent, and the start in clock ticks since boot as the
// 22nd; the second may itself hold blanks and brackets.
function readLinuxStat(pid: number): string[] {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
  return stat.slice(stat.lastIndexOf(')') + 2).split(' ');
}

function portableStartTime(pid: number): string | undefined {
  try {
    const row = askPs(pid, 'state=,lstart=');
    return row === '' || row.startsWith('Z') ? undefined : row.replace(/^\S+\s+/, '');
  } catch {
    return undefined;
  }
}

function askPs(pid: number, columns: string): string {
  return execFileSync('ps', ['-o', columns, '-p', String(pid)], { encoding: 'utf8', stdio: 'pipe' }).trim();
}
