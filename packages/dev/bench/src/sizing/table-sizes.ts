import { setTimeout as sleep } from 'node:timers/promises';
import type { Stack } from '@tessera/stack';
import { keptDays } from './profile.ts';

type ServiceName = 'identity' | 'issues';

/** The bytes of each table with its indexes, by service. */
export type TableSizes = Record<ServiceName, Record<string, number>>;

export const serviceNames = ['identity', 'issues'] as const;

/**
 * Reads the sizes of all tables when the services have processed all events.
 * @param vacuum `FULL` for the sizes without dead rows and free space
 */
export async function readSizes(stack: Stack, vacuum: 'FULL' | 'ANALYZE'): Promise<TableSizes> {
  await processedAllEvents(stack);
  for (const service of serviceNames) await stack.sql(service, `VACUUM (${vacuum})`);
  return { identity: await sizesOf(stack, 'identity'), issues: await sizesOf(stack, 'issues') };
}

async function sizesOf(stack: Stack, service: ServiceName): Promise<Record<string, number>> {
  const { rows } = await stack.sql(
    service,
    `SELECT relname AS table, pg_total_relation_size(oid)::float8 AS bytes FROM pg_class
      WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace`,
  );
  return Object.fromEntries(rows.map(({ table, bytes }) => [table, bytes]));
}

// Notifications are written after the response. Their number is constant when all events are processed.
async function processedAllEvents(stack: Stack): Promise<void> {
  const count = async () => {
    const { rows } = await stack.sql('issues', 'SELECT count(*)::int AS n FROM notifications');
    return rows[0].n as number;
  };
  for (let before = -1, now = await count(); now !== before; ) {
    before = now;
    await sleep(1_500);
    now = await count();
  }
}

/**
 * The growth of each table for each of a number of requests. Leaves out tables that grow by less than a page.
 * @throws Error for a table without an entry in `keptDays`
 */
export function growthOf(before: TableSizes, after: TableSizes, requests: number): TableSizes {
  const grown = (service: ServiceName) =>
    Object.fromEntries(
      Object.entries(after[service])
        .map(([table, bytes]) => [table, bytes - (before[service][table] ?? 0)] as const)
        .filter(([table, bytes]) => bytes > 8192 && isCounted(service, table))
        .map(([table, bytes]) => [table, bytes / requests]),
    );
  return { identity: grown('identity'), issues: grown('issues') };
}

function isCounted(service: ServiceName, table: string): boolean {
  if (!(table in keptDays[service])) {
    throw new Error(
      `${service}.${table} grows with requests: add the days that its rows are kept to keptDays`,
    );
  }
  return keptDays[service][table] !== 0;
}

/** The sum of all tables of a service. */
export function totalOf(sizes: TableSizes, service: ServiceName): number {
  return Object.values(sizes[service]).reduce((sum, bytes) => sum + bytes, 0);
}
