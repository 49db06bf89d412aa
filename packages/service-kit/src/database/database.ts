import { PrismaPg } from '@prisma/adapter-pg';
import pg from 'pg';
import { type ProblemError, unavailableProblem } from '../http/problem.ts';
import type { Logger } from '../observability/logger.ts';
import type { DatabaseConfig } from '../process/service-environment.ts';

/** Waiting longer for a connection helps nobody: the client is answered 503 and comes again. */
const connectionTimeoutMs = 2_000;

/** The pool of a service and Prisma's adapter over it, so that one bound holds for everything that asks the database. */
export function createDatabasePool(config: DatabaseConfig, applicationName: string, logger: Logger) {
  const pool = createPool({
    connectionString: config.url,
    max: config.poolMax,
    connectionTimeoutMs,
    statementTimeoutMs: config.statementTimeoutMs,
    applicationName,
    onError: (error) => logger.warn({ err: error }, 'idle database connection failed'),
  });
  // Named statements are parsed and planned once a connection: twice the throughput of a small read.
  return { pool, adapter: new PrismaPg(pool, { statementNameGenerator: statementName }) };
}

interface PoolOptions {
  connectionString: string;
  /** Most connections of this process. */
  max: number;
  /** How long a request waits for a free connection, in milliseconds. */
  connectionTimeoutMs: number;
  /** Longest statement, in milliseconds. */
  statementTimeoutMs: number;
  applicationName: string;
  onError: (error: Error) => void;
}

/** The one pool of a process, bounded in every direction; an idle connection's failure is logged, never thrown. */
export function createPool(options: PoolOptions): pg.Pool {
  const pool = new pg.Pool({
    connectionString: options.connectionString,
    max: options.max,
    connectionTimeoutMillis: options.connectionTimeoutMs,
    statement_timeout: options.statementTimeoutMs,
    // The server's own timeout cannot reach us when the network or the server hangs.
    query_timeout: options.statementTimeoutMs + 1000,
    idle_in_transaction_session_timeout: 10_000,
    application_name: options.applicationName,
    keepAlive: true,
  });
  pool.on('error', options.onError);
  return pool;
}

const namesByStatement = new Map<string, string>();

/**
 * Names a statement by its text, so that PostgreSQL parses and plans it once a connection. The texts of a service
 * are a fixed set (values travel as parameters), so the map is bounded in practice, and capped in any case.
 */
export function statementName(query: { sql: string }): string {
  const known = namesByStatement.get(query.sql);
  if (known !== undefined) return known;
  const name = namesByStatement.size < 1000 ? `s${namesByStatement.size + 1}` : '';
  if (name !== '') namesByStatement.set(query.sql, name);
  return name;
}

// PostgreSQL: connection exceptions, refused authorisation, a deadlock or lost serialisation (rolled back: try again), insufficient resources, operator intervention (shutdown,
// cancelled by a timeout), no such database, lock not available. The rest: what sockets, pg's pool and Prisma say of
// an unreachable database.
const unavailableSqlStates = /^(08|28|40|53|57)...$|^3D000$|^55P03$/;
const unavailableCodes = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'EPIPE',
  'ETIMEDOUT',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'P1000',
  'P1001',
  'P1002',
  'P1003',
  'P1008',
  'P1010',
  'P1017',
  'P2024',
  'P2028',
  'P2034',
  'P2037',
]);
const unavailableMessages =
  /timeout exceeded when trying to connect|Connection terminated|Query read timeout|Client has encountered a connection error|Cannot use a pool after calling end|DatabaseNotReachable|ConnectionClosed|SocketTimeout|TooManyConnections/i;

/** 503 when an error, or any error that caused it, means that the database did not answer. Never a 401, never a 500. */
export function unavailableWhenDatabaseIsDown(error: unknown): ProblemError | undefined {
  return isUnavailable(error, 0)
    ? unavailableProblem('The database does not answer right now.', 2, error)
    : undefined;
}

function isUnavailable(error: unknown, depth: number): boolean {
  if (typeof error !== 'object' || error === null || depth > 6) return false;
  for (const code of [read(error, 'code'), read(error, 'originalCode'), read(error, 'errorCode')]) {
    if (typeof code === 'string' && (unavailableCodes.has(code) || unavailableSqlStates.test(code)))
      return true;
  }
  for (const text of [read(error, 'message'), read(error, 'kind')]) {
    if (typeof text === 'string' && unavailableMessages.test(text)) return true;
  }
  return ['cause', 'meta', 'driverAdapterError'].some((member) =>
    isUnavailable(read(error, member), depth + 1),
  );
}

/**
 * The name of the unique index that refused a write, or undefined for any other error. Prisma wraps the driver's
 * answer: P2002 from its own methods, P2010 from raw SQL; the index stands in the driver adapter's cause.
 */
export function violatedUniqueIndex(error: unknown): string | undefined {
  const cause = read(read(read(error, 'meta'), 'driverAdapterError'), 'cause');
  if (read(cause, 'kind') !== 'UniqueConstraintViolation') return undefined;
  const index = read(read(cause, 'constraint'), 'index');
  return typeof index === 'string' ? index : undefined;
}

function read(value: unknown, member: string): unknown {
  return typeof value === 'object' && value !== null ? Reflect.get(value, member) : undefined;
}
