import { createHash } from 'node:crypto';
import pg from 'pg';
import type { Logger } from '../observability/logger.ts';
import type { DatabaseConfig } from '../process/service-environment.ts';
import { databaseReadiness } from './database-readiness.ts';
import { applyRoleSettings, idleTransactionTimeoutMs } from './pooler.ts';
import { assertPrimary, noticeReadOnly } from './standby.ts';

/** The connections of a service, and the names of the statements that it prepares on them. */
export interface DatabasePool {
  pool: pg.Pool;
  nameOf: StatementNames['nameOf'];
}

/** Creates the connection pool of a service, which limits all its connections. */
export function createDatabasePool(
  config: DatabaseConfig,
  applicationName: string,
  logger: Logger,
): DatabasePool {
  const pool = createPool({
    connectionString: config.url,
    max: config.poolMax,
    connectionTimeoutMs: config.connectionTimeoutMs,
    statementTimeoutMs: config.statementTimeoutMs,
    applicationName,
    throughPooler: config.throughPooler,
    onError: (error) => logger.warn({ err: error }, 'idle database connection failed'),
  });
  if (config.namesStatements === false) return { pool, nameOf: () => '' };
  // Named statements are parsed and planned once per connection, which doubles the throughput of a small read.
  const names = createStatementNames({ max: 1000 });
  stopNamingWhenLost(pool, names, logger);
  return { pool, nameOf: names.nameOf };
}

// Invalid and duplicate names of prepared statements. A pooler in transaction mode moves statements to other connections.
const lostStatementStates = ['26000', '42P05'];

function stopNamingWhenLost(pool: pg.Pool, names: StatementNames, logger: Logger): void {
  let isWarned = false;
  pool.on('connect', (client) => {
    client.connection.on('errorMessage', ({ code }: { code?: string }) => {
      if (code === undefined || !lostStatementStates.includes(code)) return;
      names.stop();
      if (!isWarned)
        logger.warn({ code }, 'no named statements from now on; a pooler needs DATABASE_POOLER=transaction');
      isWarned = true;
    });
  });
}

interface DatabaseOptions<Client> {
  config: DatabaseConfig;
  applicationName: string;
  logger: Logger;
  /** The folder with `schema.prisma` and `migrations/`. */
  prismaDir: string;
  createClient: (connections: DatabasePool) => Client;
}

/**
 * Creates the client of a service's database with its pool and readiness checks. Connects on first use. Readiness uses a
 * separate connection, so that a process whose pool is busy stays ready.
 */
export function createDatabase<Client>({
  config,
  applicationName,
  logger,
  prismaDir,
  createClient,
}: DatabaseOptions<Client>) {
  const connections = createDatabasePool(config, applicationName, logger);
  const { pool } = connections;
  const database = createClient(connections);
  const readinessPool = createPool({
    connectionString: config.url,
    max: 1,
    connectionTimeoutMs: config.connectionTimeoutMs,
    statementTimeoutMs: Math.min(readinessTimeoutMs(config), config.statementTimeoutMs),
    // Keeps the connection open, so readiness needs no new connection when the server has none left.
    idleTimeoutMs: 0,
    applicationName: `${applicationName} readiness`,
    throughPooler: config.throughPooler,
    onError: (error) => logger.warn({ err: error }, 'idle database connection failed'),
  });
  return {
    database,
    pool,
    readiness: databaseReadiness(
      readinessPool,
      prismaDir,
      config.throughPooler === true ? () => applyRoleSettings(readinessPool, config, logger) : undefined,
    ),
    close: async () => {
      await Promise.all([pool.end(), readinessPool.end()]);
    },
  };
}

/** How long a request waits for a free connection without a setting, in milliseconds. */
export const connectionTimeoutDefaultMs = 2_000;

/** Half of the wait for a connection: a probe gets a response before its own time limit. In milliseconds. */
export function readinessTimeoutMs({
  connectionTimeoutMs = connectionTimeoutDefaultMs,
}: Pick<DatabaseConfig, 'connectionTimeoutMs'>): number {
  return Math.floor(connectionTimeoutMs / 2);
}

interface PoolOptions {
  connectionString: string;
  /** Maximum number of connections of this process. */
  max: number;
  /** How long a request waits for a free connection, in milliseconds; 2,000 by default. */
  connectionTimeoutMs?: number | undefined;
  /** Maximum duration of a statement, in milliseconds. */
  statementTimeoutMs: number;
  /** Time after which an idle connection is closed, in milliseconds; 0 keeps it open. */
  idleTimeoutMs?: number;
  applicationName: string;
  /** Parameters of PostgreSQL for each connection, such as `plan_cache_mode`. */
  settings?: Readonly<Record<string, string>>;
  /**
   * Whether the connections go through a pooler in transaction mode, which knows none of the parameters above: those of
   * the role apply (`applyRoleSettings`).
   */
  throughPooler?: boolean | undefined;
  /** Whether connections may lead to a standby; false by default. */
  toStandby?: boolean;
  onError: (error: Error) => void;
}

/**
 * A pool with limits on connections, waiting and statements. Errors of idle connections go to `onError`. It has no connection
 * to a standby, unless `toStandby` is set.
 */
export function createPool(options: PoolOptions): pg.Pool {
  const pool = new pg.Pool({
    connectionString: options.connectionString,
    max: options.max,
    connectionTimeoutMillis: options.connectionTimeoutMs ?? connectionTimeoutDefaultMs,
    idleTimeoutMillis: options.idleTimeoutMs ?? 10_000,
    // The server's own timeout has no effect when the server or the network hangs.
    query_timeout: options.statementTimeoutMs + 1000,
    application_name: options.applicationName,
    ...(options.throughPooler === true ? pooledSession(options) : startupParameters(options)),
    keepAlive: true,
  });
  pool.on('error', options.onError);
  const isReadOnly = noticeReadOnly(pool);
  pool.on('release', (_error, client) => {
    // The pool removes a client that is ending.
    if (isInTransaction(client) || isReadOnly(client)) client.end().catch(() => undefined);
  });
  return pool;
}

// Prisma releases a connection whose ROLLBACK got no response in time as if it were usable. The next statement would run
// in the transaction that is still open, and its effects would be lost.
function isInTransaction(client: pg.PoolClient): boolean {
  return client.getTransactionStatus() !== 'I';
}

// Prisma reads each timestamptz as UTC and ignores the offset that PostgreSQL writes.
const requiredSettings = { TimeZone: 'UTC' };

// PgBouncer keeps the time zone of each client. https://www.pgbouncer.org/config.html#track_extra_parameters
function pooledSession({ toStandby = false }: PoolOptions): pg.PoolConfig {
  return {
    onConnect: async (client) => {
      await client.query("SET TimeZone = 'UTC'");
      if (!toStandby) await assertPrimary(client);
    },
  };
}

function startupParameters({ statementTimeoutMs, settings, toStandby }: PoolOptions): pg.PoolConfig {
  const all = Object.entries({ ...requiredSettings, ...settings });
  return {
    statement_timeout: statementTimeoutMs,
    idle_in_transaction_session_timeout: idleTransactionTimeoutMs,
    ...(toStandby === true ? {} : { onConnect: assertPrimary }),
    options: all.map(([name, value]) => `-c ${name}=${value}`).join(' '),
  };
}

/** Names of prepared statements. */
export interface StatementNames {
  /** Returns the name of a statement; empty for a statement without a name. */
  nameOf: (query: { sql: string }) => string;
  /** No statement has a name from now on. */
  stop: () => void;
}

/**
 * Names statements by their text, so that PostgreSQL parses each once per connection. A service usually has a fixed set
 * of texts, because values are parameters. For other services, `max` limits the prepared statements of a connection. The
 * name is a hash of the text: connections that a pooler shares between processes never run another text by its name.
 */
export function createStatementNames({ max }: { max: number }): StatementNames {
  const names = new Map<string, string>();
  let isStopped = false;
  return {
    nameOf: ({ sql }) => {
      if (isStopped) return '';
      const known = names.get(sql);
      if (known !== undefined) return known;
      if (names.size >= max) return '';
      const name = `s${createHash('sha256').update(sql).digest('hex').slice(0, 32)}`;
      names.set(sql, name);
      return name;
    },
    stop: () => {
      isStopped = true;
    },
  };
}
