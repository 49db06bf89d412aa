import { fileURLToPath } from 'node:url';
import {
  createDatabasePool,
  type DatabaseConfig,
  databaseReadiness,
  type Logger,
} from '@tessera/service-kit';
import type { TableRights } from '@tessera/service-kit/migrate';
import { PrismaClient } from './generated/prisma/client.ts';

/** The database client, over a pool that is bounded in size, waiting and statement time. */
export type Database = PrismaClient;

/** The folder of the data model and its migrations. */
export const prismaDir = fileURLToPath(new URL('../prisma', import.meta.url));

/**
 * What the service's role may do to rows, where that is not everything: an identity is never deleted for good, and the
 * audit trail is only added to. What holds for every role stands in the migrations.
 */
export const tableRights: TableRights = { identities: ['INSERT', 'UPDATE'], audit_events: ['INSERT'] };

/** Connects lazily: a database that is down at start is a matter of readiness, not of a crash loop. */
export function createDatabase(config: DatabaseConfig, logger: Logger) {
  const { pool, adapter } = createDatabasePool(config, 'identity', logger);
  const database: Database = new PrismaClient({ adapter, errorFormat: 'minimal' });
  return {
    database,
    pool,
    readiness: databaseReadiness(pool, prismaDir),
    close: async () => {
      await database.$disconnect();
      await pool.end();
    },
  };
}
