import { existsSync, readFileSync } from 'node:fs';
import { cpuMicrosOf, microsPerTick } from './cpu-time.ts';

/** What all cores together have had, in microseconds since the machine started. */
export interface MachineTime {
  busyMicros: number;
  totalMicros: number;
}

/** Reads the first line of /proc/stat (proc(5)). What another machine on the same hardware took (`steal`) is busy. */
export function parseMachineTime(stat: string): MachineTime {
  const [
    user = 0,
    nice = 0,
    system = 0,
    idle = 0,
    ioWait = 0,
    interrupts = 0,
    softInterrupts = 0,
    steal = 0,
  ] = (stat.split('\n')[0] ?? '').trim().split(/\s+/).slice(1).map(Number);
  const busy = user + nice + system + interrupts + softInterrupts + steal;
  return { busyMicros: busy * microsPerTick, totalMicros: (busy + idle + ioWait) * microsPerTick };
}

/**
 * Watches what others do on this machine from now on.
 * @param roots our processes; what they start is ours, too
 * @returns asked while they still run, the others' share of all cores in percent; undefined without /proc
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
