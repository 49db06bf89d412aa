import { fileURLToPath } from 'node:url';
import type { ReadinessCheck } from '@tessera/service-kit';
import { listMigrations } from '@tessera/service-kit/migrate';
import type { Database } from './database.ts';

export const prismaDir = fileURLToPath(new URL('../prisma', import.meta.url));

/** Ready means: the database answers, and every migration of this release has been applied to it. */
export function readinessChecks(database: Database): ReadinessCheck[] {
  const expected = listMigrations(prismaDir);
  let migrated = false;
  return [
    {
      name: 'database',
      check: async () => {
        await database.$queryRaw`SELECT 1`;
        return true;
      },
    },
    {
      name: 'migrations',
      check: async () => {
        // Migrations are never taken back: once current, always current for this process.
        migrated ||= await hasMigrations(database, expected);
        return migrated;
      },
    },
  ];
}

async function hasMigrations(database: Database, expected: string[]): Promise<boolean> {
  const rows = await database.$queryRaw<{ applied: number }[]>`
    SELECT count(*)::int AS applied FROM _prisma_migrations
     WHERE finished_at IS NOT NULL AND rolled_back_at IS NULL AND migration_name = ANY(${expected})`;
  return rows[0]?.applied === expected.length;
}
