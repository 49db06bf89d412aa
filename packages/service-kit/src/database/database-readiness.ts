import type pg from 'pg';
import type { ReadinessCheck } from '../process/health.ts';
import { listMigrations } from './migrations.ts';
import { assertPrimary } from './standby.ts';

/**
 * Readiness requires that the database responds, is no standby and has all migrations of this release. `prepare` returns whether the
 * connections have their parameters; after one success it is not called again.
 */
export function databaseReadiness(
  pool: pg.Pool,
  prismaDir: string,
  prepare: () => Promise<boolean> = async () => true,
): ReadinessCheck[] {
  const expected = listMigrations(prismaDir);
  let prepared = false;
  let migrated = false;
  return [
    {
      name: 'database',
      check: async () => {
        prepared ||= await prepare();
        // A pooler can move the connection to another server.
        await assertPrimary(pool);
        return prepared;
      },
    },
    {
      name: 'migrations',
      check: async () => {
        // Migrations are never reverted, so one success is final.
        migrated ||= await hasMigrations(pool, expected);
        return migrated;
      },
    },
    { name: 'clock', check: () => hasTimeOf(pool) },
  ];
}

/** Largest difference to the clock of the database, in milliseconds. Tokens live minutes; clocks of hosts differ by less. */
const clockToleranceMs = 30_000;

/** Throws if the clock of this process differs from that of the database: tokens are judged by one, sessions by the other. */
async function hasTimeOf(pool: pg.Pool): Promise<boolean> {
  const before = Date.now();
  const { rows } = await pool.query<{ now: number }>(
    'SELECT (extract(epoch FROM clock_timestamp()) * 1000)::float8 AS now',
  );
  const now = rows[0]?.now ?? Number.NaN;
  const [ahead, behind] = [before - now, now - Date.now()];
  if (Math.max(ahead, behind) <= clockToleranceMs) return true;
  const seconds = Math.round(Math.max(ahead, behind) / 1000);
  throw new Error(`the clock is ${seconds} s ${ahead > behind ? 'ahead of' : 'behind'} that of the database`);
}

async function hasMigrations(pool: pg.Pool, expected: string[]): Promise<boolean> {
  const { rows } = await pool.query<{ applied: number }>(
    `SELECT count(*)::int AS applied FROM _prisma_migrations
      WHERE finished_at IS NOT NULL AND rolled_back_at IS NULL AND migration_name = ANY($1)`,
    [expected],
  );
  return rows[0]?.applied === expected.length;
}
