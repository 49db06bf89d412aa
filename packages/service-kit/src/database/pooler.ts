import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import type { Logger } from '../observability/logger.ts';
import type { DatabaseConfig } from '../process/service-environment.ts';

const { escapeIdentifier } = pg;

/** How long a transaction may wait for its client, in milliseconds. */
export const idleTransactionTimeoutMs = 10_000;

// Advisory lock of processes that change their role: an arbitrary constant that never changes.
const roleSettingsLockKey = 7_355_608_002n;

/**
 * Gives the timeouts to the service's role in its database, because a pooler in transaction mode accepts none as
 * parameters of a connection. Each role may do this for itself. Returns whether the connection of this call has them.
 * Connections of the role that are older than the change keep the previous values and are closed once they are idle; the
 * next call gets a new one.
 * @param pool a pool through the pooler, with one connection
 */
export async function applyRoleSettings(
  pool: pg.Pool,
  { statementTimeoutMs }: Pick<DatabaseConfig, 'statementTimeoutMs'>,
  logger: Logger,
): Promise<boolean> {
  await assertTransactions(pool);
  const { rows } = await pool.query<CurrentSettings>(currentSettings);
  const [current] = rows;
  if (current === undefined) return false;
  if (
    Number(current.statementTimeout) === statementTimeoutMs &&
    Number(current.idleTimeout) === idleTransactionTimeoutMs
  ) {
    return true;
  }
  const role = `ALTER ROLE CURRENT_USER IN DATABASE ${escapeIdentifier(current.database)}`;
  // One string is one transaction. The lock prevents "tuple concurrently updated".
  await pool.query(`SELECT pg_advisory_xact_lock(${roleSettingsLockKey});
    ${role} SET statement_timeout = ${statementTimeoutMs};
    ${role} SET idle_in_transaction_session_timeout = ${idleTransactionTimeoutMs}`);
  logger.info({ statementTimeoutMs }, 'gave the role of the database its timeouts');
  await closeOlderConnections(pool, logger);
  // It always fails, because it ends its own connection.
  await pool.query('SELECT pg_terminate_backend(pg_backend_pid())').catch(() => undefined);
  return false;
}

/** @throws if the pooler permits no transactions of several statements, as PgBouncer with pool_mode=statement */
async function assertTransactions(pool: pg.Pool): Promise<void> {
  const client = await pool.connect();
  // A statement on the lost connection fails, too.
  const ignore = () => undefined;
  client.on('error', ignore);
  let isUsable = false;
  try {
    await client.query('BEGIN');
    await client.query('COMMIT');
    isUsable = true;
  } finally {
    client.off('error', ignore);
    client.release(!isUsable);
  }
}

// A pooler replaces an idle connection without an error of a request. Each role may end its own sessions.
async function closeOlderConnections(pool: pg.Pool, logger: Logger): Promise<void> {
  const { rows } = await pool.query<{ now: string }>('SELECT clock_timestamp()::text AS now');
  for (let attempt = 1; attempt <= 20; attempt += 1) {
    const older = await pool.query(closeIdleConnections, [rows[0]?.now]);
    if (older.rowCount === 0) return;
    await sleep(25);
  }
  logger.warn('connections of the pooler are busy and keep the previous timeouts until it closes them');
}

const closeIdleConnections = `
  SELECT CASE WHEN state = 'idle' THEN pg_terminate_backend(pid) END
    FROM pg_stat_activity
   WHERE datname = current_database() AND usename = CURRENT_USER AND pid <> pg_backend_pid()
     AND backend_start < $1::text::timestamptz`;

interface CurrentSettings {
  database: string;
  statementTimeout: string;
  idleTimeout: string;
}

// `pg_settings` has milliseconds.
const currentSettings = `
  SELECT current_database() AS database,
         (SELECT setting FROM pg_settings WHERE name = 'statement_timeout') AS "statementTimeout",
         (SELECT setting FROM pg_settings WHERE name = 'idle_in_transaction_session_timeout') AS "idleTimeout"`;

/** @throws if a pooler is between the client and PostgreSQL: it has process ids of its own for cancel requests */
export async function assertNoPooler(client: pg.Client): Promise<void> {
  const { rows } = await client.query<{ id: number }>('SELECT pg_backend_pid() AS id');
  if (Reflect.get(client, 'processID') === rows[0]?.id) return;
  throw new Error(
    'MIGRATION_DATABASE_URL (or DATABASE_URL) leads to a connection pooler, which loses the lock of the migrator; ' +
      'set MIGRATION_DATABASE_URL to the address of PostgreSQL itself',
  );
}
