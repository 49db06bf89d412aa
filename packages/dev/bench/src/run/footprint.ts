import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Service } from '@tessera/stack';
import { getRequests, userInfoRequests } from '../contenders/endpoints.ts';
import { readConnections } from '../contenders/http-contender.ts';
import type { Lab } from '../lab/lab.ts';
import { Connection } from '../load/connection.ts';
import type { LoadRequest } from '../load/load.ts';
import { residentMebibytes } from '../load/process-usage.ts';
import { median } from './summary.ts';

/** The start and the memory of a service. */
export interface ServiceFootprint {
  service: 'identity' | 'issues';
  /** Milliseconds from the start of the process until `/readyz` responds 200. No migration is pending. */
  readyMs: number;
  /** Resident memory in MiB. */
  rssAtStart: number;
  rssAfter: number;
  /** The number of requests between the two. */
  requests: number;
}

export interface ImageSize {
  service: 'identity' | 'issues';
  /**
   * Size in MB: of the whole image if a container engine has it, otherwise of the part that the service adds to the
   * base image according to docker/README.md.
   */
  megabytes: number;
  isMeasured: boolean;
}

export interface Footprint {
  services: ServiceFootprint[];
  images: ImageSize[];
}

/** The goal for `readyMs`. */
export const readyWithinMs = 1_500;

// Small enough to limit the size of logs, show progress and stop soon after Ctrl-C.
const chunk = 20_000;

interface Work {
  service: ServiceFootprint['service'];
  running: Service;
  requests: LoadRequest[];
}

interface Start extends Pick<ServiceFootprint, 'readyMs' | 'rssAtStart'> {
  work: Work;
}

/**
 * Restarts each service and measures its memory before and after a number of requests. Both services get their requests
 * at the same time, because one process of Node leaves a core idle.
 */
export async function measureFootprint(lab: Lab, signal: AbortSignal): Promise<Footprint> {
  const tessera = await lab.tessera();
  const works: Work[] = [
    { service: 'identity', running: tessera.identity, requests: userInfoRequests(tessera) },
    { service: 'issues', running: tessera.issues, requests: getRequests(tessera) },
  ];
  const starts: Start[] = [];
  for (const work of works) starts.push(await measureStart(lab, work, signal));
  const note = noteProgress(lab);
  const services = await Promise.all(
    starts.map(async ({ work, ...start }): Promise<ServiceFootprint> => {
      const requests = await sendAll(lab, work, { signal, note });
      const rssAfter = residentMebibytes(work.running.pid);
      return { service: work.service, ...start, rssAfter, requests };
    }),
  );
  return { services, images: imageSizes() };
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
  const began = performance.now();
  const started = service.start();
  // A failure is thrown below. Until then it must not be an unhandled rejection.
  started.catch(() => undefined);
  while (!(await isReady(service.url))) {
    await sleep(5);
    if (performance.now() - began > 60_000) throw new Error('the service is not ready after a minute');
  }
  const elapsed = performance.now() - began;
  await started;
  return elapsed;
}

async function isReady(url: string): Promise<boolean> {
  const connection = new Connection(url);
  try {
    const { status } = await connection.send({ method: 'GET', path: '/readyz', expect: { status: 200 } });
    return status === 200;
  } catch {
    return false;
  } finally {
    await connection.destroy();
  }
}

type NoteProgress = (service: Work['service'], sent: number) => void;

// One line for both services, so that neither overwrites the other.
function noteProgress(lab: Lab): NoteProgress {
  const counts = new Map<string, number>();
  const total = lab.options.footprintRequests.toLocaleString('en');
  return (service, sent) => {
    counts.set(service, sent);
    const parts = [...counts].map(([name, count]) => `${name} ${count.toLocaleString('en')}`);
    lab.note(`footprint · ${parts.join(', ')} of ${total} requests each`);
  };
}

async function sendAll(
  lab: Lab,
  { service, running, requests }: Work,
  { signal, note }: { signal: AbortSignal; note: NoteProgress },
): Promise<number> {
  const wanted = lab.options.footprintRequests;
  let sent = 0;
  while (sent < wanted) {
    signal.throwIfAborted();
    note(service, sent);
    const { operations } = await lab.generator().run({
      ...{ origins: [running.url], requests, connections: readConnections },
      ...{ warmUpSeconds: 0, seconds: 0, total: Math.min(chunk, wanted - sent) },
    });
    if (operations === 0) throw new Error('there was no response');
    sent += operations;
    lab.emptyLogs();
  }
  note(service, sent);
  return sent;
}

function imageSizes(): ImageSize[] {
  return (['identity', 'issues'] as const).flatMap((service): ImageSize[] => {
    const measured = sizeInEngine(service);
    if (measured !== undefined) return [{ service, megabytes: measured, isMeasured: true }];
    const documented = documentedSize(service);
    return documented === undefined ? [] : [{ service, megabytes: documented, isMeasured: false }];
  });
}

function sizeInEngine(service: string): number | undefined {
  const image = docker('image', 'ls', '--quiet', `tessera/${service}`)?.split('\n')[0];
  if (image === undefined || image === '') return undefined;
  const bytes = Number(docker('image', 'inspect', '--format', '{{.Size}}', image));
  return bytes > 0 ? Math.round(bytes / 1e6) : undefined;
}

function docker(...args: string[]): string | undefined {
  const { status, stdout } = spawnSync('docker', args, { encoding: 'utf8', timeout: 10_000 });
  return status === 0 ? stdout.trim() : undefined;
}

function documentedSize(service: string): number | undefined {
  const readme = readFileSync(new URL('../../../../../docker/README.md', import.meta.url), 'utf8');
  const size = new RegExp(`(\\d+) MB \\(${service}\\)`).exec(readme)?.[1];
  return size === undefined ? undefined : Number(size);
}
