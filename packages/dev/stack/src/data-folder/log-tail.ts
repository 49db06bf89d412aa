import { closeSync, fstatSync, openSync, readSync, statSync } from 'node:fs';

const TAIL_BYTES = 64 * 1024;

/** Bytes in the file so far; 0 when there is none. */
export function logSize(file: string): number {
  return statSync(file, { throwIfNoEntry: false })?.size ?? 0;
}

/**
 * The last lines of a log, never more than its last 64 KiB.
 * @param fromByte ignores what was written before, so that an earlier run's trouble is not taken for this one's
 */
export function readTail(file: string, lines: number, fromByte = 0): string {
  const fd = openForReading(file);
  if (fd === undefined) return '';
  try {
    const { size } = fstatSync(fd);
    const start = Math.max(fromByte, size - TAIL_BYTES);
    const buffer = Buffer.alloc(Math.max(0, size - start));
    const read = readSync(fd, buffer, 0, buffer.length, start);
    return buffer.subarray(0, read).toString('utf8').trimEnd().split('\n').slice(-lines).join('\n');
  } finally {
    closeSync(fd);
  }
}

function openForReading(file: string): number | undefined {
  try {
    return openSync(file, 'r');
  } catch {
    return undefined;
  }
}
