import { closeSync, fstatSync, openSync, readSync, statSync } from 'node:fs';

const TAIL_BYTES = 64 * 1024;

/** The size of the file in bytes; 0 if it does not exist. */
export function logSize(file: string): number {
  return statSync(file, { throwIfNoEntry: false })?.size ?? 0;
}

/**
 * The last lines of a log, at most its last 64 KiB.
 * @param fromByte ignores what earlier runs wrote before this offset
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
