import { setTimeout as sleep } from 'node:timers/promises';
import type { Service } from '@tessera/stack';
import { readConnections } from '../contenders/http-contender.ts';
import { getRequests, listRequests, userInfoRequests } from '../contenders/tessera-requests.ts';
import type { Lab } from '../lab/lab.ts';
import { Connection } from '../load/connection.ts';
import type { LoadRequest } from '../load/load.ts';
import { residentMebibytes } from '../load/memory.ts';
import { type ImageSize, imageSizes } from './image-sizes.ts';
import { median } from './statistics.ts';

/** What a service takes before and after work. */
export interface ServiceFootprint {
  service: 'identity' | 'issues';
  /** From the start of the process until `/readyz` says yes, with no migration to apply. */
  readyMs: number;
  /** Resident memory in MiB. */
  rssAtStart: number;
  rssAfter: number;
  /** How many requests it has answered between. */
  requests: number;
}

export interface Footprint {
  services: ServiceFootprint[];
  images: ImageSize[];
}

/** The goal for `readyMs`. */
export const readyWithinMs = 1_500;

const chunk = 5_000;

/** Starts each service anew, and looks at what it holds at once and after so many requests. */
export async function measureFootprint(lab: Lab, signal: AbortSignal): Promise<Footprint> {
  const tessera = await lab.tessera();
  const services: ServiceFootprint[] = [];
  for (const [service, running, requests] of [
    ['identity', tessera.identity, userInfoRequests(tessera)],
    ['issues', tessera.issues, [...getRequests(tessera), ...listRequests(tessera, 10)]],
  ] as const) {
    const starts: number[] = [];
    for (let round = 0; round < lab.options.rounds; round += 1) {
      signal.throwIfAborted();
      lab.note(`footprint · ${service} · start ${round + 1} of ${lab.options.rounds}`);
      starts.push(await restart(running));
    }
    const rssAtStart = residentMebibytes(running.pid);
    const answered = await work(lab, running, { service, requests, signal });
    const rssAfter = residentMebibytes(running.pid);
    services.push({ service, readyMs: median(starts), rssAtStart, rssAfter, requests: answered });
  }
  return { services, images: imageSizes() };
}

async function restart(service: Service): Promise<number> {
  await service.stop();
  const connectionOf = () => new Connection(service.url);
  const began = performance.now();
  const started = service.start();
  // Its failure is seen below; until then it must not end this process.
  started.catch(() => undefined);
  while (!(await isReady(connectionOf()))) {
    await sleep(5);
    if (performance.now() - began > 60_000) throw new Error('the service is not ready after a minute');
  }
  const elapsed = performance.now() - began;
  await started;
  return elapsed;
}

async function isReady(connection: Connection): Promise<boolean> {
  try {
    return (
      (await connection.send({ method: 'GET', path: '/readyz', expect: { status: 200 } })).status === 200
    );
  } catch {
    return false;
  } finally {
    await connection.destroy();
  }
}

interface Work {
  service: string;
  requests: readonly LoadRequest[];
  signal: AbortSignal;
}

// In parts, so that logs stay small and Ctrl-C is heard.
async function work(lab: Lab, { url }: Service, { service, requests, signal }: Work): Promise<number> {
  const wanted = lab.options.footprintRequests;
  let answered = 0;
  while (answered < wanted) {
    signal.throwIfAborted();
    lab.note(
      `footprint · ${service} · ${answered.toLocaleString('en')} of ${wanted.toLocaleString('en')} requests`,
    );
    const { operations } = await lab.generator().run({
      origins: [url],
      connections: readConnections,
      requests: [...requests],
      warmUpSeconds: 0,
      seconds: 0,
      total: Math.min(chunk, wanted - answered),
    });
    if (operations === 0) throw new Error('nothing was answered');
    answered += operations;
    lab.emptyLogs();
  }
  return answered;
}
