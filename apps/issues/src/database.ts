import { fileURLToPath } from 'node:url';
import {
  createPool,
  createDatabase as createServiceDatabase,
  createStatementNames,
  type DatabaseConfig,
  type Logger,
  SqlClient,
  type SqlRunner,
} from '@tessera/service-kit';
import type { TableRights } from '@tessera/service-kit/migrate';
import type pg from 'pg';
import { Prisma } from './generated/prisma/client.ts';

/** The database client. Its pool limits connections, the wait for a connection and the statement time. */
export type Database = SqlClient;

/** The client of one transaction; or the database itself, for one statement. */
export type Transaction = SqlRunner;

/** Folder of the Prisma schema and its migrations. */
export const prismaDir = fileURLToPath(new URL('../prisma', import.meta.url));

/** Tables on which the service's role does not get all rights. The history and the events never change. */
export const tableRights: TableRights = { activity: ['INSERT'], events: ['INSERT', 'DELETE'] };

/** Connects lazily: if the database is down at start, the service is not ready, but does not crash. */
export function createDatabase(config: DatabaseConfig, logger: Logger) {
  return createServiceDatabase({
    config,
    applicationName: 'issues',
    logger,
    prismaDir,
    createClient: (connections): Database => new SqlClient({ ...connections, sql: Prisma.sql }),
  });
}

/** The statement timeout of lists. */
const listTimeoutMs = 2_000;

/**
 * The client for lists. It has its own pool, so slow searches never delay a write. PostgreSQL plans each statement for
 * its parameter values, because one plan cannot suit every combination of filters. A statement without parameters, such
 * as the first page of all issues, keeps its plan.
 */
export function createListDatabase(config: DatabaseConfig, logger: Logger) {
  const pool = createPool({
    connectionString: config.url,
    max: Math.ceil(config.poolMax / 2),
    connectionTimeoutMs: config.connectionTimeoutMs,
    statementTimeoutMs: Math.min(listTimeoutMs, config.statementTimeoutMs),
    applicationName: 'issues lists',
    settings: { plan_cache_mode: 'force_custom_plan' },
    throughPooler: config.throughPooler,
    onError: (error) => logger.warn({ err: error }, 'idle database connection failed'),
  });
  // Filters, orders and page sizes make many different statements. PostgreSQL uses 0.1 to 0.2 MB per prepared statement
  // and connection. Through a pooler, they have no names, because PostgreSQL plans unnamed statements for their values.
  const names = createStatementNames({ max: 100 });
  const nameOf = config.throughPooler === true ? () => '' : names.nameOf;
  const database: Database = new SqlClient({ pool, nameOf, sql: Prisma.sql });
  return {
    database,
    pool,
    close: async () => pool.end(),
  };
}

/** The pool of the shared rate limits. It is separate, so rate limits never delay a request. */
export function createLimitPool(config: DatabaseConfig, logger: Logger): pg.Pool {
  return createPool({
    connectionString: config.url,
    max: 2,
    connectionTimeoutMs: config.connectionTimeoutMs,
    statementTimeoutMs: Math.min(1_000, config.statementTimeoutMs),
    applicationName: 'issues limits',
    throughPooler: config.throughPooler,
    onError: (error) => logger.warn({ err: error }, 'idle database connection failed'),
  });
}
