import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
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
    return execFileSync('ps', ['-o', 'command=', '-p', String(pid)], { encoding: 'utf8' }).trim();
  } catch {
    return '';
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
    if (!(error instanceof Error && 'code' in error && error.code === 'ESRCH')) throw error;
  }
}

// proc(5): field 3 is the state, field 22 the start in clock ticks since boot; field 2 may hold blanks and brackets.
function linuxStartTime(pid: number): string | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    if (fields[0] === 'Z' || fields[0] === 'X') return undefined;
    return `${readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim()}:${fields[19]}`;
  } catch {
    return undefined;
  }
}

function portableStartTime(pid: number): string | undefined {
  try {
    const row = execFileSync('ps', ['-o', 'state=,lstart=', '-p', String(pid)], { encoding: 'utf8' }).trim();
    return row === '' || row.startsWith('Z') ? undefined : row.replace(/^\S+\s+/, '');
  } catch {
    return undefined;
  }
}
