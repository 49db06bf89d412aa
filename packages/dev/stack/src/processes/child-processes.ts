import { execFileSync } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { parentOf } from './recorded-process.ts';

/** The processes that a process has started and that still run. */
export function childrenOf(pid: number): number[] {
  return allProcesses().filter((candidate) => parentOf(candidate) === pid);
}

function allProcesses(): number[] {
  const names =
    process.platform === 'linux'
      ? readdirSync('/proc')
      : execFileSync('ps', ['-A', '-o', 'pid='], { encoding: 'utf8' }).split(/\s+/);
  return names.filter((name) => /^\d+$/.test(name)).map(Number);
}
