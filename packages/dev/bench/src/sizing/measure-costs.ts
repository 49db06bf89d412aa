import { connect, type Socket } from 'node:net';
import { measureLoad, readConnections } from '../contenders/http-contender.ts';
import type { Lab } from '../lab/lab.ts';
import type { Tessera } from '../lab/tessera.ts';
import type { Load } from '../load/load.ts';
import { cpuMicrosOf } from '../load/process-usage.ts';
import type { Cost } from './measurements.ts';
import { type OperationName, operationNames, operations } from './profile.ts';
import { growthOf, readSizes } from './table-sizes.ts';

const warmUpSeconds = 3;
const settleSeconds = 0.5;
/**
 * The share of the rate that a service can serve. Requests cost less at a high rate of one operation than in a busy hour, in which
 * operations alternate and the process often wakes up for a single request.
 */
const rateShare = 0.25;

/** The load of an operation: its requests and, for refreshes, new sessions. */
export async function loadOf(tessera: Tessera, name: OperationName): Promise<Omit<Load, 'seconds'>> {
  const endpoint = operations[name].endpoint;
  return {
    origins: [tessera[endpoint.service].url],
    requests: await endpoint.requests(tessera),
    connections: endpoint.connections ?? readConnections,
    warmUpSeconds: 0,
    ...(await endpoint.prepare?.(tessera)),
  };
}

/**
 * Measures the operations one after the other, in the order in which they depend on each other. Each is sent at a quarter
 * of the rate that the service can serve.
 */
export async function measureCosts(
  lab: Lab,
  tessera: Tessera,
  seconds: number,
): Promise<Record<OperationName, Cost>> {
  const costs: Partial<Record<OperationName, Cost>> = {};
  for (const name of operationNames) {
    lab.note(`cost of: ${operations[name].title}`);
    costs[name] = await measureCost(lab, tessera, { name, seconds });
  }
  return costs as Record<OperationName, Cost>;
}

async function measureCost(
  lab: Lab,
  tessera: Tessera,
  { name, seconds }: { name: OperationName; seconds: number },
): Promise<Cost> {
  const { endpoint, kind } = operations[name];
  const server = [tessera[endpoint.service].pid];
  // Creates what the load needs before the sizes are read, such as sessions and the issues whose status changes.
  const load = await loadOf(tessera, name);
  // A sign-in takes so long that few of them fit in the window.
  const window = kind === 'sign-in' ? 3 * seconds : seconds;
  const generator = lab.generator();
  const warmUp = await measureLoad(
    generator,
    { ...load, seconds: Math.min(seconds, warmUpSeconds) },
    { server, database: undefined },
  );
  const perSecond = rateShare * (warmUp.operations / warmUp.seconds);
  const next = {
    ...load,
    ...(await endpoint.prepare?.(tessera)),
    firstRequest: warmUp.sent % load.requests.length,
  };
  const stores = kind !== 'read' && kind !== 'live';
  const before = stores ? await readSizes(tessera.stack, 'FULL') : undefined;
  const sample = await measureLoad(
    generator,
    { ...next, perSecond, warmUpSeconds: settleSeconds, seconds: window },
    { server, database: await lab.postmaster() },
  );
  lab.emptyLogs();
  return {
    serviceMicros: sample.serverCpuMicros / sample.operations,
    databaseMicros: (sample.databaseCpuMicros ?? 0) / sample.operations,
    bytes:
      before === undefined
        ? { identity: {}, issues: {} }
        : growthOf(before, await readSizes(tessera.stack, 'FULL'), sample.sent),
  };
}

const streamsPerPerson = 5;
const eventsPerSecond = 25;

/**
 * Measures the processor time of an event for each open stream: that of comments at a fixed rate with streams, less that of the
 * same without.
 */
export async function measureMessage(lab: Lab, tessera: Tessera, seconds: number): Promise<number> {
  lab.note('cost of: an event of a stream');
  const load = await loadOf(tessera, 'comment');
  const run = () =>
    measureLoad(
      lab.generator(),
      { ...load, seconds, warmUpSeconds: 1, perSecond: eventsPerSecond },
      { server: [tessera.issues.pid], database: undefined },
    );
  const silent = await run();
  const sockets = await Promise.all(
    tessera.people.flatMap((person) =>
      Array.from({ length: streamsPerPerson }, () => openStream(tessera.issues.url, person.accessToken)),
    ),
  );
  try {
    const streamed = await run();
    const micros =
      streamed.serverCpuMicros / streamed.operations - silent.serverCpuMicros / silent.operations;
    return Math.max(0, micros) / sockets.length;
  } finally {
    for (const socket of sockets) socket.destroy();
  }
}

function openStream(url: string, token: string): Promise<Socket> {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname);
  socket.write(
    `GET /api/v1/events/stream/ HTTP/1.1\r\nHost: ${hostname}\r\nAuthorization: Bearer ${token}\r\n\r\n`,
  );
  return new Promise((resolve, reject) => {
    socket.on('error', reject);
    socket.once('data', (head: Buffer) => {
      if (!head.includes('200 OK')) reject(new Error(`a stream was refused: ${head.subarray(0, 40)}`));
      socket.resume();
      resolve(socket);
    });
  });
}

/** Counts the processor time of the services and of PostgreSQL from now on. */
export async function watchCpu(lab: Lab, tessera: Tessera) {
  const roots = {
    identity: [tessera.identity.pid],
    issues: [tessera.issues.pid],
    database: [(await lab.postmaster()) ?? 0],
  };
  const read = () => ({
    identity: cpuMicrosOf(roots.identity),
    issues: cpuMicrosOf(roots.issues),
    database: cpuMicrosOf(roots.database),
  });
  const begin = { identity: 0, issues: 0, database: 0 };
  return {
    start: () => Object.assign(begin, read()),
    stop: () => {
      const end = read();
      return {
        identity: end.identity - begin.identity,
        issues: end.issues - begin.issues,
        database: end.database - begin.database,
      };
    },
  };
}
