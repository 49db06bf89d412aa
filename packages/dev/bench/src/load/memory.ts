import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';

/** The resident memory of a process in MiB. */
export function residentMebibytes(pid: number): number {
  const status = `/proc/${pid}/status`;
  const kibibytes = existsSync(status)
    ? /^VmRSS:\s+(\d+) kB/m.exec(readFileSync(status, 'utf8'))?.[1]
    : spawnSync('ps', ['-o', 'rss=', '-p', String(pid)], { encoding: 'utf8' }).stdout.trim();
  return Number(kibibytes) / 1024;
}
