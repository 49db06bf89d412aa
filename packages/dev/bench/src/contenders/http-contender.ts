import type { Lab } from '../lab/lab.ts';
import { cpuMicrosOf } from '../load/cpu-time.ts';
import type { Load, LoadRequest } from '../load/load.ts';
import type { LoadGenerator } from '../load/load-generator.ts';
import type { Contender, Sample } from '../run/sample.ts';

/** Connections that read: enough to keep two cores busy, few enough not to measure a queue. */
export const readConnections = 16;

export interface HttpContenderOptions {
  name: string;
  origins: string[];
  requests: LoadRequest[];
  connections?: number;
  /** Of the server; asked at each measurement, as a restart changes them. */
  pids: () => number[];
  /** Whether it works with our PostgreSQL. */
  usesDatabase?: boolean;
  /** What a measurement adds to the load, such as fresh tokens. */
  prepare?: () => Promise<Partial<Load>>;
}

/** A server under load, and what it costs. */
export function httpContender(lab: Lab, options: HttpContenderOptions): Contender {
  const { name, origins, requests, connections = readConnections, pids, usesDatabase, prepare } = options;
  return {
    name,
    measure: async (seconds) => {
      const prepared = await prepare?.();
      const load = { origins, requests, connections, warmUpSeconds, seconds, ...prepared };
      const database = usesDatabase ? await lab.postmaster() : undefined;
      return measureLoad(lab.generator(), load, { server: pids(), database });
    },
  };
}

// The server has been warmed up before the first round; these are the connections, which are new in each window.
const warmUpSeconds = 0.25;

interface Measured {
  server: number[];
  database: number | undefined;
}

/** Runs a load, and reads what the processes have used when its window opens and when it closes. */
export async function measureLoad(
  generator: LoadGenerator,
  load: Load,
  { server, database }: Measured,
): Promise<Sample> {
  const used = { server: 0, database: 0 };
  const { operations, seconds, p50Ms, p99Ms } = await generator.run(load, (event) => {
    const sign = event === 'opened' ? -1 : 1;
    used.server += sign * cpuMicrosOf(server);
    if (database !== undefined) used.database += sign * cpuMicrosOf([database]);
  });
  if (operations === 0) throw new Error(`nothing was answered in ${seconds.toFixed(1)} s`);
  return {
    ...{ operations, seconds, p50Ms, p99Ms, serverCpuMicros: used.server },
    ...(database === undefined ? {} : { databaseCpuMicros: used.database }),
  };
}
