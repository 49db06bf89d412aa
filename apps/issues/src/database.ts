import { fileURLToPath } from 'node:url';
import {
  createPool,
  createDatabase as createServiceDatabase,
  createStatementNames,
  type DatabaseConfig,
  type Logger,
  type Metrics,
  type ReadSource,
  readsOf,
  SqlClient,
  type SqlRunner,
  StandbyReads,
  type Tracing,
} from '@tessera/service-kit';
import type { TableRights } from '@tessera/service-kit/migrate';
import type pg from 'pg';
import { Prisma } from './generated/prisma/client.ts';

/** The database client. Its pool limits connections, the wait for a connection and the statement time. */
export type Database = SqlClient;

/** The client of one transaction; or the database itself, for one statement. */
export type Transaction = SqlRunner;

/** Runs the function within the given transaction, or in one of its own. */
export async function inTransaction<Result>(
  database: Database,
  run: (transaction: Transaction) => Promise<Result>,
  { within, ...options }: { within: Transaction | undefined; timeout?: number },
): Promise<Result> {
  return within === undefined ? database.$transaction(run, options) : run(within);
}

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
  const pool = createListPool(config, 'issues lists', logger);
  const nameOf = createListNames(config);
  const database: Database = new SqlClient({ pool, nameOf, sql: Prisma.sql });
  return {
    database,
    pool,
    close: async () => pool.end(),
  };
}

/** Where lists are read. */
export interface ListReads {
  source: ReadSource;
  /** Undefined if lists are read from the primary. */
  standby: StandbyReads | undefined;
  close: () => Promise<void>;
}

interface ListReadsConfig {
  database: DatabaseConfig;
  /** `READ_DATABASE_URL`. Without it, lists are read from the primary as if there were no standbys. */
  readDatabaseUrl: string | undefined;
}

/** How long a list waits for a connection to a standby before the primary serves it. */
const standbyConnectionMs = 500;

export function createListReads(
  { database: config, readDatabaseUrl: url }: ListReadsConfig,
  { database }: { database: Database },
  { logger, metrics, tracing }: { logger: Logger; metrics: Metrics; tracing?: Tracing | undefined },
): ListReads {
  const primary = readsOf(database);
  if (url === undefined) return { source: primary, standby: undefined, close: async () => undefined };
  const server = { ...config, url, connectionTimeoutMs: standbyConnectionMs };
  const standbyPool = createListPool(server, 'issues standby lists', logger, { toStandby: true });
  // One more connection to each server, so that the look at its place never waits for lists.
  const probePool = createListPool({ ...server, poolMax: 1 }, 'issues standby place', logger, {
    toStandby: true,
  });
  const primaryPool = createListPool({ ...config, poolMax: 1 }, 'issues place', logger);
  const served = metrics.counter('issues_list_reads_total', 'Reads of lists, by server.', ['server']);
  const standby = new StandbyReads({
    primary,
    primaryPool,
    standbyPool,
    probePool,
    throughPooler: config.throughPooler === true,
    sql: Prisma.sql,
    nameOf: createListNames(config),
    onRead: (kind) => served.inc({ server: kind }),
    logger,
  });
  const help = '1 if lists are read from a standby, 0 if the primary serves them all.';
  const usable = metrics.gauge('issues_list_standby_usable', help, [], () => {
    usable.set(standby.isUsable ? 1 : 0);
  });
  metrics.observePool('standby lists', standbyPool);
  tracing?.tracePool(standbyPool);
  standby.start();
  return {
    source: standby,
    standby,
    close: async () => {
      await standby.stop();
      await Promise.all([standbyPool, probePool, primaryPool].map((pool) => pool.end()));
    },
  };
}

function createListPool(
  config: DatabaseConfig,
  applicationName: string,
  logger: Logger,
  more: { toStandby?: boolean } = {},
): pg.Pool {
  return createPool({
    connectionString: config.url,
    max: Math.ceil(config.poolMax / 2),
    connectionTimeoutMs: config.connectionTimeoutMs,
    statementTimeoutMs: Math.min(listTimeoutMs, config.statementTimeoutMs),
    applicationName,
    settings: { plan_cache_mode: 'force_custom_plan' },
    throughPooler: config.throughPooler,
    ...more,
    onError: (error) => logger.warn({ err: error }, 'idle database connection failed'),
  });
}

function createListNames(config: DatabaseConfig) {
  // Filters, orders and page sizes make many different statements. PostgreSQL uses 0.1 to 0.2 MB per prepared statement
  // and connection. Through a pooler, they have no names, because PostgreSQL plans unnamed statements for their values.
  const names = createStatementNames({ max: 100 });
  return config.throughPooler === true ? () => '' : names.nameOf;
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
