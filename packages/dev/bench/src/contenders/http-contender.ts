import type { Lab } from '../lab/lab.ts';
import { Connection, problemOf } from '../load/connection.ts';
import type { Load, LoadRequest } from '../load/load.ts';
import type { LoadGenerator } from '../load/load-generator.ts';
import { cpuMicrosOf } from '../load/process-usage.ts';
import type { Contender, Sample } from '../run/sample.ts';

/** Connections for reads: enough to keep two cores busy, few enough that latency is not mostly queueing. */
export const readConnections = 16;

// The server is warm before the first round. The connections are new in each window.
const warmUpSeconds = 0.25;

export interface HttpContenderOptions {
  name: string;
  /** The servers' URLs. */
  origins: string[];
  requests: LoadRequest[];
  connections?: number | undefined;
  /** The servers' processes. Called at each measurement, because a restart changes them. */
  pids: () => number[];
  /** Whether to measure what PostgreSQL uses, too. */
  usesDatabase?: boolean;
  /** Called before each measurement; the result overrides parts of the load, such as its tokens. */
  prepare?: (() => Promise<Partial<Load>>) | undefined;
}

/** A server under load. */
export function httpContender(lab: Lab, options: HttpContenderOptions): Contender {
  const { name, origins, requests, connections = readConnections, pids, usesDatabase, prepare } = options;
  // Each measurement continues where the last one stopped, so that all requests are sent in turn.
  let firstRequest = 0;
  return {
    name,
    measure: async (seconds) => {
      const prepared = await prepare?.();
      const load = { origins, requests, firstRequest, connections, warmUpSeconds, seconds, ...prepared };
      const database = usesDatabase ? await lab.postmaster() : undefined;
      const { sent, ...sample } = await measureLoad(lab.generator(), load, { server: pids(), database });
      firstRequest = (firstRequest + sent) % requests.length;
      return sample;
    },
  };
}

interface LoadSample extends Sample {
  /** Requests in the window and around it. */
  sent: number;
}

interface MeasuredProcesses {
  server: number[];
  database: number | undefined;
}

/** Runs a load and measures the processor time of the server and of PostgreSQL within its window. */
export async function measureLoad(
  generator: LoadGenerator,
  load: Load,
  { server, database }: MeasuredProcesses,
): Promise<LoadSample> {
  const used = { server: 0, database: 0 };
  const { operations, sent, seconds, p50Ms, p99Ms } = await generator.run(load, (event) => {
    const sign = event === 'opened' ? -1 : 1;
    used.server += sign * cpuMicrosOf(server);
    if (database !== undefined) used.database += sign * cpuMicrosOf([database]);
  });
  if (operations === 0) throw new Error(`no response within ${seconds.toFixed(1)} s`);
  return {
    ...{ operations, sent, seconds, p50Ms, p99Ms, serverCpuMicros: used.server },
    ...(database === undefined ? {} : { databaseCpuMicros: used.database }),
  };
}

/**
 * Sends each request once and checks its response more closely than a load has time for.
 * @param check throws when the document is not as expected
 * @returns the requests, each expecting a body as long as the one that was checked
 */
export async function probe(
  origin: string,
  requests: readonly LoadRequest[],
  check: (document: unknown, request: LoadRequest) => void = () => undefined,
): Promise<LoadRequest[]> {
  const connection = new Connection(origin);
  try {
    const checked: LoadRequest[] = [];
    for (const request of requests) {
      const response = await connection.send(request);
      const problem = problemOf(response, request.expect);
      if (problem !== undefined) throw new Error(`${request.method} ${request.path}: ${problem}`);
      check(JSON.parse(response.body.toString()), request);
      checked.push({ ...request, expect: { ...request.expect, bytes: response.body.length } });
    }
    return checked;
  } finally {
    await connection.destroy();
  }
}

/** Sends a request once and returns the document of its response. */
export async function fetchDocument(origin: string, request: LoadRequest): Promise<unknown> {
  let fetched: unknown;
  await probe(origin, [request], (document) => {
    fetched = document;
  });
  return fetched;
}
