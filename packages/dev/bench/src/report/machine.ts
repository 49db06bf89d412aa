import { availableParallelism, cpus, loadavg } from 'node:os';

/** Where it was measured, without saying whose machine it is. */
export interface MachineFacts {
  cpu: string;
  cores: number;
  node: string;
  postgres: string | undefined;
  /** The load average of the minute before. */
  loadBefore: number;
  /** What anybody else took of all cores during the run; undefined where that cannot be told. */
  otherLoadPercent: number | undefined;
}

export function machineFacts(): MachineFacts {
  return {
    cpu: cpus()[0]?.model.trim() ?? 'unknown',
    cores: availableParallelism(),
    node: process.versions.node,
    postgres: undefined,
    loadBefore: loadavg()[0] ?? 0,
    otherLoadPercent: undefined,
  };
}
