import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { listMigrations } from './migrations.ts';
import { assertNoPooler } from './pooler.ts';
import { withSchemaEngine } from './schema-engine.ts';
import { grantToServiceRole, type ServiceRole } from './service-role.ts';

export type { ServiceRole, TableRight, TableRights } from './service-role.ts';

// Advisory lock of all migrators of a database: an arbitrary constant that never changes.
const migrationLockKey = 7_355_608_001n;

// Advisory lock of the transaction of a script, which continues for a while when its migrator is killed.
const scriptLockKey = 7_355_608_003n;

/** A migration, the check of the database or the grant of rights to the service's role failed. The message names the failed step. */
export class MigrationError extends Error {
  override readonly name = 'MigrationError';
}

interface MigrateOptions {
  connectionString: string;
  /** The folder with `schema.prisma` and `migrations/`. */
  prismaDir: string;
  /** How long to wait for a server that does not accept connections yet, in milliseconds. Default: 0. */
  connectTimeoutMs?: number;
  /** How long to wait for another migrator, in milliseconds. */
  lockTimeoutMs?: number;
  /**
   * The role that receives the rights that a service needs. Undefined if the service connects as the migrating role.
   */
  serviceRole?: ServiceRole | undefined;
}

/**
 * Applies missing migrations by Prisma's schema engine in WebAssembly: the same files and the same `_prisma_migrations`
 * rows as `prisma migrate deploy`, without an engine binary. Concurrent calls wait for each other. Returns the names of
 * the applied migrations; throws `MigrationError`.
 */
export async function migrate(options: MigrateOptions): Promise<string[]> {
  const { connectionString, prismaDir, connectTimeoutMs = 0, lockTimeoutMs = 120_000, serviceRole } = options;
  const lockHolder = await connect(connectionString, performance.now() + connectTimeoutMs);
  try {
    await assertNoPooler(lockHolder);
    // The role may have the timeouts of its service.
    await lockHolder.query('SET statement_timeout = 0; SET idle_in_transaction_session_timeout = 0');
    await lockHolder.query(`SET lock_timeout = ${Math.trunc(lockTimeoutMs)}`);
    await lockHolder.query('SELECT pg_advisory_lock($1)', [migrationLockKey]);
    await assertOwnDatabase(lockHolder, prismaDir);
    await resolveInterrupted(lockHolder);
    const applied = await applyMigrations(connectionString, prismaDir);
    if (serviceRole !== undefined) await grantRights(lockHolder, serviceRole);
    return applied;
  } finally {
    await lockHolder.end();
  }
}

// Errors of a server that is starting: of the socket, of the name, or SQL state 57P03 (cannot_connect_now).
const startingCodes =
  /^(ECONNREFUSED|ECONNRESET|ETIMEDOUT|EHOSTUNREACH|ENETUNREACH|ENOTFOUND|EAI_AGAIN|57P03)$/;

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
    return client;
  } catch (error) {
    const { code, message } = error as { code?: unknown; message: string };
    const isStarting = startingCodes.test(String(code)) || message === 'timeout expired';
    if (!isStarting || performance.now() >= deadline) throw error;
  }
  await sleep(500);
  return connect(connectionString, deadline);
}

async function grantRights(client: pg.Client, role: ServiceRole): Promise<void> {
  try {
    await grantToServiceRole(client, role);
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new MigrationError(`The rights of ${role.name} were not granted: ${reason}`, { cause: error });
  }
}

/** Fails for the database of another service: its migrations are there, and the first of this service is not. */
async function assertOwnDatabase(client: pg.Client, prismaDir: string): Promise<void> {
  const [first = ''] = listMigrations(prismaDir);
  const applied = await listApplied(client);
  if (applied.length === 0 || applied.includes(first)) return;
  throw new MigrationError(
    `The database belongs to another service: its first migration is ${applied[0]}, that of this service is ${first}.`,
  );
}

async function listApplied(client: pg.Client): Promise<string[]> {
  if (!(await hasHistory(client))) return [];
  const { rows } = await client.query<{ name: string }>(
    'SELECT migration_name AS name FROM _prisma_migrations WHERE finished_at IS NOT NULL ORDER BY started_at',
  );
  return rows.map(({ name }) => name);
}

async function hasHistory(client: pg.Client): Promise<boolean> {
  const { rows } = await client.query("SELECT to_regclass('_prisma_migrations') IS NOT NULL AS has");
  return rows[0]?.has === true;
}

/**
 * Resolves the migration of a killed migrator or a restarted server. Its transaction also records its end
 * (`recordEnd`), so an unfinished one has changed nothing and runs again. Prisma's own record of a step after the
 * script shows that it was committed; older migrators wrote only that one.
 */
async function resolveInterrupted(client: pg.Client): Promise<void> {
  if (!(await hasHistory(client))) return;
  // Until the server has ended the script.
  await client.query('SELECT pg_advisory_lock($1)', [scriptLockKey]);
  await client.query('SELECT pg_advisory_unlock($1)', [scriptLockKey]);
  await client.query(`
    UPDATE _prisma_migrations
       SET finished_at = CASE WHEN applied_steps_count > 0 THEN now() END,
           rolled_back_at = CASE WHEN applied_steps_count = 0 THEN now() END
     WHERE finished_at IS NULL AND rolled_back_at IS NULL`);
}

/** Adds the record of its end to a migration, so that both are committed or neither. Only one is unfinished at a time. */
function recordEnd(script: string): string {
  return `SELECT pg_advisory_xact_lock(${scriptLockKey});
${script}
;
DO $record_end$ BEGIN
  UPDATE _prisma_migrations SET finished_at = now() WHERE finished_at IS NULL AND rolled_back_at IS NULL;
  IF NOT FOUND THEN RAISE EXCEPTION 'another migrator has taken over'; END IF;
END $record_end$;`;
}

async function applyMigrations(connectionString: string, prismaDir: string): Promise<string[]> {
  const migrationsList = readMigrations(prismaDir);
  // The engine has scripts of its own, too.
  const migrations = new Set(
    migrationsList.migrationDirectories.map(({ migrationFile }) => migrationFile.content.value),
  );
  const prepareScript = (script: string) => (migrations.has(script) ? recordEnd(script) : script);
  return withSchemaEngine(
    connectionString,
    readSchema(prismaDir),
    async (engine) => {
      try {
        const { appliedMigrationNames } = await engine.applyMigrations({
          migrationsList,
          filters: { externalTables: [], externalEnums: [] },
        });
        return appliedMigrationNames;
      } catch (error) {
        const failed = await findFailedMigration(connectionString);
        if (failed === undefined) throw error;
        // The script ran in one transaction and failed, so it changed nothing, and the next run may try again.
        if (failed.reason !== null) await engine.markMigrationRolledBack({ migrationName: failed.name });
        throw new MigrationError(
          `The migration ${failed.name} failed: ${failed.reason ?? 'it was interrupted; run the migrator again'}`,
          { cause: error },
        );
      }
    },
    prepareScript,
  );
}

/** Reads a service's `schema.prisma`. */
export function readSchema(prismaDir: string): { path: string; content: string } {
  const path = join(prismaDir, 'schema.prisma');
  return { path, content: readFileSync(path, 'utf8') };
}

function readMigrations(prismaDir: string) {
  const baseDir = join(prismaDir, 'migrations');
  return {
    baseDir,
    lockfile: {
      path: 'migration_lock.toml',
      content: readFileSync(join(baseDir, 'migration_lock.toml'), 'utf8'),
    },
    shadowDbInitScript: '',
    migrationDirectories: listMigrations(prismaDir).map((name) => ({
      path: name,
      migrationFile: {
        path: 'migration.sql',
        content: { tag: 'ok' as const, value: readFileSync(join(baseDir, name, 'migration.sql'), 'utf8') },
      },
    })),
  };
}

// The engine's message may not name the failed migration; the table does.
async function findFailedMigration(
  connectionString: string,
): Promise<{ name: string; reason: string | null } | undefined> {
  const client = new pg.Client({ connectionString, connectionTimeoutMillis: 5000 });
  await client.connect();
  try {
    const { rows } = await client.query<{ name: string; reason: string | null }>(
      `SELECT migration_name AS name, split_part(logs, E'\\n   0:', 1) AS reason FROM _prisma_migrations
       WHERE finished_at IS NULL AND rolled_back_at IS NULL ORDER BY started_at LIMIT 1`,
    );
    return rows[0];
  } finally {
    await client.end();
  }
}
