import { openSync, renameSync } from 'node:fs';
import { logSize } from './log-tail.ts';

const MAX_BYTES = 20 * 1024 * 1024;

/** A log file that is open for appending. */
export interface OpenLog {
  readonly fd: number;
  readonly file: string;
  /** The size of the file when it was opened. */
  readonly start: number;
}

/** Opens a log file (mode 0600) for appending. */
export function openLog(file: string): OpenLog {
  const fd = openSync(file, 'a', 0o600);
  return { fd, file, start: logSize(file) };
}

/** Renames a long log to `<file>.1` and overwrites the previous one. */
export function rotateLog(file: string): void {
  if (logSize(file) > MAX_BYTES) renameSync(file, `${file}.1`);
}
