import { execFileSync } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { parentOf } from './recorded-process.ts';

/** The running child processes of a process. */
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
