import { setTimeout as sleep } from 'node:timers/promises';
import type { Service } from '@tessera/stack';
import { getRequests, userInfoRequests } from '../contenders/endpoints.ts';
import { readConnections } from '../contenders/http-contender.ts';
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

// Few enough at a time that logs stay small, progress is seen and Ctrl-C is heard.
const chunk = 20_000;

/**
 * Starts each service anew, and looks at what it holds at once and after so many requests. Both do their requests at the
 * same time: one process of Node leaves a core to wait.
 */
export async function measureFootprint(lab: Lab, signal: AbortSignal): Promise<Footprint> {
  const tessera = await lab.tessera();
  const works: Work[] = [
    { service: 'identity', running: tessera.identity, requests: userInfoRequests(tessera) },
    { service: 'issues', running: tessera.issues, requests: getRequests(tessera) },
  ];
  const starts: Start[] = [];
  for (const work of works) starts.push(await measureStart(lab, work, signal));
  const tell = tellTogether(lab);
  const services = await Promise.all(
    starts.map(async ({ work, ...start }): Promise<ServiceFootprint> => {
      const requests = await answerAll(lab, work, { signal, tell });
      const rssAfter = residentMebibytes(work.running.pid);
      return { service: work.service, ...start, rssAfter, requests };
    }),
  );
  return { services, images: imageSizes() };
}

interface Work {
  service: ServiceFootprint['service'];
  running: Service;
  requests: LoadRequest[];
}

interface Start extends Pick<ServiceFootprint, 'readyMs' | 'rssAtStart'> {
  work: Work;
}

async function measureStart(lab: Lab, work: Work, signal: AbortSignal): Promise<Start> {
  const { rounds } = lab.options;
  const times: number[] = [];
  for (let round = 0; round < rounds; round += 1) {
    signal.throwIfAborted();
    lab.note(`footprint · ${work.service} · start ${round + 1} of ${rounds}`);
    times.push(await restart(work.running));
  }
  return { work, readyMs: median(times), rssAtStart: residentMebibytes(work.running.pid) };
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

type Tell = (service: Work['service'], answered: number) => void;

// One line for both, so that neither hides the other.
function tellTogether(lab: Lab): Tell {
  const counts = new Map<string, number>();
  const wanted = lab.options.footprintRequests.toLocaleString('en');
  return (service, answered) => {
    counts.set(service, answered);
    const parts = [...counts].map(([name, count]) => `${name} ${count.toLocaleString('en')}`);
    lab.note(`footprint · ${parts.join(', ')} of ${wanted} requests each`);
  };
}

async function answerAll(
  lab: Lab,
  { service, running, requests }: Work,
  { signal, tell }: { signal: AbortSignal; tell: Tell },
): Promise<number> {
  const wanted = lab.options.footprintRequests;
  let answered = 0;
  while (answered < wanted) {
    signal.throwIfAborted();
    tell(service, answered);
    const { operations } = await lab.generator().run({
      ...{ origins: [running.url], requests, connections: readConnections },
      ...{ warmUpSeconds: 0, seconds: 0, total: Math.min(chunk, wanted - answered) },
    });
    if (operations === 0) throw new Error('nothing was answered');
    answered += operations;
    lab.emptyLogs();
  }
  tell(service, answered);
  return answered;
}
