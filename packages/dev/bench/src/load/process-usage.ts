import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';

interface ProcessTime {
  pid: number;
  parent: number;
  micros: number;
}

// USER_HZ, the unit of /proc, is 100 on Linux.
const microsPerTick = 1_000_000 / 100;

/** The user and system time of these processes and of their descendants so far, in microseconds. */
export function cpuMicrosOf(roots: readonly number[]): number {
  const all = existsSync('/proc/self/stat') ? readProc() : readPs();
  const family = new Set(roots);
  // A child can come before its parent in the list, so repeat until no process is added.
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
        // The process has exited since it was listed.
        return [];
      }
    });
}

/** Parses /proc/<pid>/stat (proc(5)). The time includes that of children that have exited. */
export function parseStat(line: string): ProcessTime {
  // The name of the process is in parentheses, and can itself contain parentheses and spaces.
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

/** Converts a time of ps(1), `[[dd-]hh:]mm:ss[.cc]`, to microseconds. */
export function parsePsTime(time: string): number {
  const [clock = '', days = '0'] = time.split('-').reverse();
  const seconds = clock.split(':').reduce((sum, part) => sum * 60 + Number(part), 0);
  return Math.round((Number(days) * 86_400 + seconds) * 1_000_000);
}

/** The resident memory of a process in MiB. */
export function residentMebibytes(pid: number): number {
  const status = `/proc/${pid}/status`;
  const kibibytes = existsSync(status)
    ? /^VmRSS:\s+(\d+) kB/m.exec(readFileSync(status, 'utf8'))?.[1]
    : spawnSync('ps', ['-o', 'rss=', '-p', String(pid)], { encoding: 'utf8' }).stdout.trim();
  return Number(kibibytes) / 1024;
}

/** The time of all cores since the machine started, in microseconds. */
interface MachineTime {
  busyMicros: number;
  totalMicros: number;
}

/** Parses the first line of /proc/stat (proc(5)). Time that other virtual machines took (`steal`) counts as busy. */
export function parseMachineTime(stat: string): MachineTime {
  const fields = (stat.split('\n')[0] ?? '').trim().split(/\s+/).slice(1).map(Number);
  const [
    user = 0,
    nice = 0,
    system = 0,
    idle = 0,
    ioWait = 0,
    interrupts = 0,
    softInterrupts = 0,
    steal = 0,
  ] = fields;
  const busy = user + nice + system + interrupts + softInterrupts + steal;
  return { busyMicros: busy * microsPerTick, totalMicros: (busy + idle + ioWait) * microsPerTick };
}

/**
 * Starts to measure the load of processes that do not belong to the bench.
 * @param roots the processes of the bench; their descendants belong to it, too
 * @returns a function that returns the share of all cores that the other processes took, in percent, or undefined without
 * /proc. Call it before the processes of the bench exit.
 */
export function watchOtherLoad(roots: readonly number[]): () => number | undefined {
  if (!existsSync('/proc/stat')) return () => undefined;
  const read = () => ({
    ...parseMachineTime(readFileSync('/proc/stat', 'utf8')),
    ownMicros: cpuMicrosOf(roots),
  });
  const before = read();
  return () => {
    const after = read();
    const other = after.busyMicros - before.busyMicros - (after.ownMicros - before.ownMicros);
    return Math.max(0, (100 * other) / (after.totalMicros - before.totalMicros));
  };
}
