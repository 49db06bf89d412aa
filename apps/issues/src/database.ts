import { fileURLToPath } from 'node:url';
import { PrismaPg } from '@prisma/adapter-pg';
import {
  createDatabasePool,
  createPool,
  type DatabaseConfig,
  databaseReadiness,
  type Logger,
  statementName,
} from '@tessera/service-kit';
import type { TableRights } from '@tessera/service-kit/migrate';
import type pg from 'pg';
import { Prisma, PrismaClient } from './generated/prisma/client.ts';

/** The database client, over a pool that is bounded in size, waiting and statement time. */
export type Database = PrismaClient;

/** The client within one transaction. */
export type Transaction = Prisma.TransactionClient;

/** The folder of the data model and its migrations. */
export const prismaDir = fileURLToPath(new URL('../prisma', import.meta.url));

/** What the service's role may do to rows, where that is not everything: history is only added to. */
export const tableRights: TableRights = { activity: ['INSERT'] };

/** Connects lazily: a database that is down at start is a matter of readiness, not of a crash loop. */
export function createDatabase(config: DatabaseConfig, logger: Logger) {
  const { pool, adapter } = createDatabasePool(config, 'issues', logger);
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

/** Begins a list's statement that PostgreSQL shall plan once a connection. */
export const prepared = Prisma.sql`/* prepared */`;

/** No list is worth more of the database's time. */
const listTimeoutMs = 2_000;

/**
 * The client for lists: a pool of its own, so that no number of slow searches keeps a write waiting. PostgreSQL plans
 * its statements with the values at hand, other than those that are `prepared` (see `IssueListRepository`).
 */
export function createListDatabase(config: DatabaseConfig, logger: Logger) {
  const pool = createPool({
    connectionString: config.url,
    max: Math.ceil(config.poolMax / 2),
    connectionTimeoutMs: 2_000,
    statementTimeoutMs: Math.min(listTimeoutMs, config.statementTimeoutMs),
    applicationName: 'issues lists',
    onError: (error) => logger.warn({ err: error }, 'idle database connection failed'),
  });
  const adapter = new PrismaPg(pool, {
    statementNameGenerator: (query) => (query.sql.startsWith(prepared.sql) ? statementName(query) : ''),
  });
  const database: Database = new PrismaClient({ adapter, errorFormat: 'minimal' });
  return {
    database,
    pool,
    close: async () => {
      await database.$disconnect();
      await pool.end();
    },
  };
}

/** The connections of the shared rate limits: their own, so that they never keep a request waiting. */
export function createLimitPool(config: DatabaseConfig, logger: Logger): pg.Pool {
  return createPool({
    connectionString: config.url,
    max: 2,
    connectionTimeoutMs: 2_000,
    statementTimeoutMs: Math.min(1_000, config.statementTimeoutMs),
    applicationName: 'issues limits',
    onError: (error) => logger.warn({ err: error }, 'idle database connection failed'),
  });
}
