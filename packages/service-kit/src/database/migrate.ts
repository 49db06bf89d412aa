import { createHash, randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { unavailableWhenDatabaseIsDown } from './database-error.ts';
import { listMigrations } from './migrations.ts';
import { assertNoPooler } from './pooler.ts';
import { grantToServiceRole, type ServiceRole } from './service-role.ts';
import { assertPrimary, StandbyError } from './standby.ts';

const { escapeLiteral } = pg;

export type { ServiceRole, TableRight, TableRights } from './service-role.ts';

// Advisory lock of all migrators of a database: an arbitrary constant that never changes.
const migrationLockKey = 7_355_608_001n;

/** A migration, the check of the database or the grant of rights to the service's role failed. The message names the failed step. */
export class MigrationError extends Error {
  override readonly name = 'MigrationError';
}

interface MigrateOptions {
  connectionString: string;
  /** The folder with `schema.prisma` and `migrations/`. */
  prismaDir: string;
  /** How long to wait for a server that does not accept connections yet, or is a standby, in milliseconds. Default: 0. */
  connectTimeoutMs?: number;
  /** How long to wait for another migrator, in milliseconds. */
  lockTimeoutMs?: number;
  /**
   * The role that receives the rights that a service needs. Undefined if the service connects as the migrating role.
   */
  serviceRole?: ServiceRole | undefined;
}

/**
 * Applies missing migrations, with the `_prisma_migrations` rows of `prisma migrate deploy`. Concurrent calls wait for
 * each other. Returns the names of the applied migrations; throws `MigrationError`.
 */
export async function migrate(options: MigrateOptions): Promise<string[]> {
  const { connectionString, prismaDir, connectTimeoutMs = 0, lockTimeoutMs = 120_000, serviceRole } = options;
  const client = await connect(connectionString, performance.now() + connectTimeoutMs);
  try {
    await assertNoPooler(client);
    // The role may have the timeouts of its service.
    await client.query('SET statement_timeout = 0; SET idle_in_transaction_session_timeout = 0');
    await client.query(`SET lock_timeout = ${Math.trunc(lockTimeoutMs)}`);
    // If the migrator is killed, the server holds the lock until it has ended the running script.
    await client.query('SELECT pg_advisory_lock($1)', [migrationLockKey]);
    await client.query('SET lock_timeout = 0');
    await client.query(createHistory);
    const applied = await listApplied(client);
    const all = listMigrations(prismaDir);
    assertOwnDatabase(applied, all);
    const missing = all.filter((name) => !applied.includes(name));
    for (const name of missing) await apply(client, prismaDir, name);
    await continueEvents(client);
    if (serviceRole !== undefined) await grantRights(client, serviceRole);
    return missing;
  } catch (error) {
    throw continuable(error);
  } finally {
    await client.end();
  }
}

/** Each migration is complete or has changed nothing, so a run that has lost its connection can be repeated. */
function continuable(error: unknown): unknown {
  if (error instanceof MigrationError || unavailableWhenDatabaseIsDown(error) === undefined) return error;
  // Another migrator has the lock for too long.
  if (error instanceof pg.DatabaseError && error.code === '55P03') return error;
  const reason = error instanceof Error ? error.message : String(error);
  return new MigrationError(`It was interrupted; ${runAgain} (${reason})`, { cause: error });
}

const runAgain = 'run it again, it continues';

// Errors of a server that is starting: of the socket, of the name, or SQL state 57P03 (cannot_connect_now); and of a standby.
const startingCodes =
  /^(ECONNREFUSED|ECONNRESET|ETIMEDOUT|EHOSTUNREACH|ENETUNREACH|ENOTFOUND|EAI_AGAIN|57P03|25006)$/;

async function connect(connectionString: string, deadline: number): Promise<pg.Client> {
  const client = new pg.Client({
    connectionString,
    connectionTimeoutMillis: 5000,
    application_name: 'migrate',
  });
  // The statement that needs the connection fails, too.
  client.on('error', () => undefined);
  try {
    await client.connect();
    await assertPrimary(client);
    return client;
  } catch (error) {
    if (error instanceof StandbyError) await client.end();
    const { code, message } = error as { code?: unknown; message: string };
    const isStarting = startingCodes.test(String(code)) || message === 'timeout expired';
    if (!isStarting || performance.now() >= deadline) throw error;
  }
  await sleep(500);
  return connect(connectionString, deadline);
}

// The table of Prisma: flavour/postgres of its schema engine.
const createHistory = `
  CREATE TABLE IF NOT EXISTS _prisma_migrations (
    id                  VARCHAR(36) PRIMARY KEY NOT NULL,
    checksum            VARCHAR(64) NOT NULL,
    finished_at         TIMESTAMPTZ,
    migration_name      VARCHAR(255) NOT NULL,
    logs                TEXT,
    rolled_back_at      TIMESTAMPTZ,
    started_at          TIMESTAMPTZ NOT NULL DEFAULT now(),
    applied_steps_count INTEGER NOT NULL DEFAULT 0
  )`;

/** Returns the names of the applied migrations. Fails for an unfinished one, which only another tool leaves. */
async function listApplied(client: pg.Client): Promise<string[]> {
  const { rows } = await client.query<{ name: string; done: boolean }>(
    `SELECT migration_name AS name, finished_at IS NOT NULL AS done FROM _prisma_migrations
      WHERE rolled_back_at IS NULL ORDER BY started_at, migration_name`,
  );
  const unfinished = rows.find(({ done }) => !done);
  if (unfinished === undefined) return rows.map(({ name }) => name);
  throw new MigrationError(
    `The migration ${unfinished.name} was started by another tool and has not ended: see \`prisma migrate resolve\`.`,
  );
}

/** Fails for the database of another service: its migrations are there, and the first of this service is not. */
function assertOwnDatabase(applied: readonly string[], [first = '']: readonly string[]): void {
  if (applied.length === 0 || applied.includes(first)) return;
  throw new MigrationError(
    `The database belongs to another service: its first migration is ${applied[0]}, that of this service is ${first}.`,
  );
}

/** Runs a script and records it in one transaction: a failed or interrupted migration changes nothing. */
async function apply(client: pg.Client, prismaDir: string, name: string): Promise<void> {
  const script = readFileSync(join(prismaDir, 'migrations', name, 'migration.sql'), 'utf8');
  const checksum = createHash('sha256').update(script).digest('hex');
  const row = [randomUUID(), checksum, name].map(escapeLiteral).join(', ');
  const startedAt = new Date();
  try {
    // One string is one transaction, which the server also completes if the migrator is killed.
    await client.query(`${script}
;
INSERT INTO _prisma_migrations (id, checksum, migration_name, started_at, finished_at, applied_steps_count)
VALUES (${row}, now(), clock_timestamp(), 1);`);
  } catch (error) {
    const reason = error instanceof pg.DatabaseError ? error.message : String(error);
    const logged = await record(client, `${row}, ${escapeLiteral(reason)}`, startedAt);
    const told = logged ? reason : `it was interrupted; ${runAgain} (${reason})`;
    throw new MigrationError(`The migration ${name} failed: ${told}`, { cause: error });
  }
}

// Marked as rolled back, so that Prisma and the next run try again. Returns false if the connection is lost.
async function record(client: pg.Client, values: string, startedAt: Date): Promise<boolean> {
  try {
    await client.query(
      `INSERT INTO _prisma_migrations (id, checksum, migration_name, logs, started_at, rolled_back_at)
       VALUES (${values}, $1, now())`,
      [startedAt],
    );
    return true;
  } catch {
    return false;
  }
}

/**
 * Adopts the events of a dump from a server that had counted more transactions. Its rows would have their next events after
 * as many transactions of this server, and readers of the feed would wait as long. The events of the dump are deleted:
 * cursors of another server are reset in any case.
 */
async function continueEvents(client: pg.Client): Promise<void> {
  const { rows: tables } = await client.query<{ name: string }>(
    `SELECT quote_ident(c.relname) AS name FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid
      WHERE a.attname = 'event_tx' AND c.relkind = 'r' AND c.relnamespace = 'public'::regnamespace`,
  );
  if (tables.length === 0) return;
  const isOfLater = (column: string) => `${column} >= pg_snapshot_xmax(pg_current_snapshot())::text::bigint`;
  const { rows } = await client.query(`SELECT FROM events WHERE ${isOfLater('tx')} LIMIT 1`);
  if (rows.length === 0) return;
  const adopt = ({ name }: { name: string }) => `
    ALTER TABLE ${name} DISABLE TRIGGER USER;
    UPDATE ${name} SET event_tx = pg_current_xact_id()::text::bigint WHERE ${isOfLater('event_tx')};
    ALTER TABLE ${name} ENABLE TRIGGER USER;`;
  // One string is one transaction.
  await client.query(`${tables.map(adopt).join('')} DELETE FROM events WHERE ${isOfLater('tx')};`);
}

async function grantRights(client: pg.Client, role: ServiceRole): Promise<void> {
  try {
    await grantToServiceRole(client, role);
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new MigrationError(`The rights of ${role.name} were not granted: ${reason}`, { cause: error });
  }
}
