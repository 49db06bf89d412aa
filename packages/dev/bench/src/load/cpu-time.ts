import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';

/** What a process has used so far. */
interface ProcessTime {
  pid: number;
  parent: number;
  micros: number;
}

/** USER_HZ, which Linux tells user space whatever the kernel's own clock. */
export const microsPerTick = 1_000_000 / 100;

/** User and system time of these processes and of all that they have started, in microseconds. */
export function cpuMicrosOf(roots: readonly number[]): number {
  const all = existsSync('/proc/self/stat') ? readProc() : readPs();
  const family = new Set(roots);
  // A child may stand before its parent: again until nobody is new.
  for (let before = -1; before !== family.size; ) {
    before = family.size;
    for (const { pid, parent } of all) if (family.has(parent)) family.add(pid);
  }
  return all.reduce((sum, { pid, micros }) => (family.has(pid) ? sum + micros : sum), 0);
}

function readProc(): ProcessTime[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .flatMap((name) => {
      try {
        return [parseStat(readFileSync(`/proc/${name}/stat`, 'utf8'))];
      } catch {
        // Ended since it was listed.
        return [];
      }
    });
}

/** Reads a line of /proc/<pid>/stat (proc(5)): its own time, and that of children that have ended. */
export function parseStat(line: string): ProcessTime {
  // The name is in parentheses and may hold anything, these and spaces included.
  const fields = line.slice(line.lastIndexOf(')') + 2).split(' ');
  const ticks = [11, 12, 13, 14].reduce((sum, index) => sum + Number(fields[index]), 0);
  return { pid: Number.parseInt(line, 10), parent: Number(fields[1]), micros: ticks * microsPerTick };
}

function readPs(): ProcessTime[] {
  const { stdout } = spawnSync('ps', ['-A', '-o', 'pid=,ppid=,time='], { encoding: 'utf8' });
  return stdout
    .trim()
    .split('\n')
    .map((line) => {
      const [pid, parent, time = ''] = line.trim().split(/\s+/);
      return { pid: Number(pid), parent: Number(parent), micros: parsePsTime(time) };
    });
}

/** Reads `[[dd-]hh:]mm:ss[.cc]`, as ps(1) writes times, into microseconds. */
export function parsePsTime(time: string): number {
  const [clock = '', days = '0'] = time.split('-').reverse();
  const seconds = clock.split(':').reduce((sum, part) => sum * 60 + Number(part), 0);
  return Math.round((Number(days) * 86_400 + seconds) * 1_000_000);
}
