import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import type { Service, ServiceName, Stack } from '@tessera/stack';

const mebibyte = 1024 * 1024;

/** The values of one process; memory in MiB. */
export interface ProcessMeasurement {
  name: string;
  rss: number;
  /** The heap after a garbage collection. */
  heap: number;
  handles: number;
  sockets: number;
}

export interface Measurement {
  processes: ProcessMeasurement[];
  databaseConnections: Record<ServiceName, number>;
}

/** The current values of all processes, and their database connections. */
export async function measure(stack: Stack): Promise<Measurement> {
  const services = [
    ...stack.identities.map((service, index) => ({ name: `identity ${index + 1}`, service })),
    ...stack.issues.map((service, index) => ({ name: `issues ${index + 1}`, service })),
  ];
  const processes: ProcessMeasurement[] = [];
  for (const { name, service } of services) processes.push({ name, ...(await measureProcess(service)) });
  return {
    processes,
    databaseConnections: {
      identity: await connectionsOf(stack, 'identity'),
      issues: await connectionsOf(stack, 'issues'),
    },
  };
}

async function measureProcess(service: Service): Promise<Omit<ProcessMeasurement, 'name'>> {
  const heap = Number(await service.ask('heap')) / mebibyte;
  const status = readFileSync(`/proc/${service.pid}/status`, 'utf8');
  const rss = Number(/^VmRSS:\s+(\d+) kB/m.exec(status)?.[1]) / 1024;
  const files = readdirSync(`/proc/${service.pid}/fd`).map((fd) => targetOf(`/proc/${service.pid}/fd/${fd}`));
  const sockets = files.filter((target) => target.startsWith('socket:')).length;
  return { rss, heap, handles: files.length, sockets };
}

function targetOf(link: string): string {
  try {
    return readlinkSync(link);
  } catch {
    // The descriptor was closed after the listing.
    return '';
  }
}

async function connectionsOf(stack: Stack, name: ServiceName): Promise<number> {
  const { rows } = await stack.sql(
    name,
    `SELECT count(*)::int AS n FROM pg_stat_activity
      WHERE datname = current_database() AND pid <> pg_backend_pid()`,
  );
  return rows[0]?.n;
}
