import { openSync, renameSync } from 'node:fs';
import { logSize } from './log-tail.ts';

const MAX_BYTES = 20 * 1024 * 1024;

/** A log opened for a child process to append to. */
export interface OpenLog {
  readonly fd: number;
  readonly file: string;
  /** Where this run's lines begin. */
  readonly start: number;
}

/** Opens a log (mode 0600) at its end. */
export function openLog(file: string): OpenLog {
  const fd = openSync(file, 'a', 0o600);
  return { fd, file, start: logSize(file) };
}

/** Puts a log that grew long aside as `<file>.1`, over the one put aside before. */
export function rotateLog(file: string): void {
  if (logSize(file) > MAX_BYTES) renameSync(file, `${file}.1`);
}
