import type pg from 'pg';
import type { ReadinessCheck } from '../process/health.ts';
import { listMigrations } from './migrations.ts';

/**
 * Readiness requires that the database responds and has all migrations of this release. `prepare` returns whether the
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
        await pool.query('SELECT 1');
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
  ];
}

async function hasMigrations(pool: pg.Pool, expected: string[]): Promise<boolean> {
  const { rows } = await pool.query<{ applied: number }>(
    `SELECT count(*)::int AS applied FROM _prisma_migrations
      WHERE finished_at IS NOT NULL AND rolled_back_at IS NULL AND migration_name = ANY($1)`,
    [expected],
  );
  return rows[0]?.applied === expected.length;
}
