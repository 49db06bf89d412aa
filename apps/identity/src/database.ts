import { fileURLToPath } from 'node:url';
import {
  createDatabasePool,
  type DatabaseConfig,
  databaseReadiness,
  type Logger,
} from '@tessera/service-kit';
import { PrismaClient } from './generated/prisma/client.ts';

/** The database client, over a pool that is bounded in size, waiting and statement time. */
export type Database = PrismaClient;

/** The folder of the data model and its migrations. */
export const prismaDir = fileURLToPath(new URL('../prisma', import.meta.url));

/** What the service's role may add to, and never change: see the migrations for what holds for every role. */
export const appendOnlyTables = ['audit_events'];

/** Connects lazily: a database that is down at start is a matter of readiness, not of a crash loop. */
export function createDatabase(config: DatabaseConfig, logger: Logger) {
  const { pool, adapter } = createDatabasePool(config, 'identity', logger);
  const database: Database = new PrismaClient({ adapter, errorFormat: 'minimal' });
  return {
    database,
    readiness: databaseReadiness(pool, prismaDir),
    close: async () => {
      await database.$disconnect();
      await pool.end();
    },
  };
}
