import { runCommandLine, UsageError } from '../process/command-line.ts';
import { readConfig } from '../process/config.ts';
import {
  migrationEnvironment,
  migrationSecretNames,
  missingDatabaseUrl,
} from '../process/service-environment.ts';
import { migrate } from './migrate.ts';
import type { TableRights } from './service-role.ts';

interface RunMigrationsOptions {
  service: string;
  /** The folder with `schema.prisma` and `migrations/`. */
  prismaDir: string;
  environment: Record<string, string | undefined>;
  /** The arguments of the command line; see its help. Default: none. */
  args?: readonly string[];
  /** Tables whose rows the role of the service may only partly change. */
  tableRights?: TableRights;
}

/**
 * Runs a service's migrator: applies the missing migrations and prints their names. Exits with 1 and the reason when
 * a migration fails, and with 2 for an invalid command line.
 */
export async function runMigrations({ args = [], ...options }: RunMigrationsOptions): Promise<void> {
  const code = await runCommandLine(
    {
      name: 'node dist/migrate.js',
      help: helpFor(options.service),
      options: { wait: { type: 'string', default: '0' } },
      run: ({ wait }) => {
        if (!/^\d{1,4}$/.test(wait)) throw new UsageError(`'${wait}' is not a number of seconds`);
        return apply({ ...options, connectTimeoutMs: Number(wait) * 1000 });
      },
    },
    args,
  );
  if (code !== 0) process.exit(code);
}

async function apply({
  service,
  prismaDir,
  environment,
  tableRights = {},
  connectTimeoutMs,
}: Omit<RunMigrationsOptions, 'args'> & { connectTimeoutMs: number }): Promise<number> {
  try {
    const read = readConfig(migrationEnvironment, environment, migrationSecretNames, missingDatabaseUrl);
    const role = read.SERVICE_DATABASE_ROLE;
    const applied = await migrate({
      connectionString: read.MIGRATION_DATABASE_URL ?? read.DATABASE_URL ?? '',
      prismaDir,
      connectTimeoutMs,
      serviceRole: role === undefined ? undefined : { name: role, tableRights },
    });
    const done = applied.length === 0 ? 'no migration to apply' : `applied ${applied.join(', ')}`;
    process.stdout.write(`${service}: ${done}\n`);
    return 0;
  } catch (error) {
    process.stderr.write(`${service}: ${error instanceof Error ? error.message : String(error)}\n`);
    return 1;
  }
}

function helpFor(service: string): string {
  return `Usage: node dist/migrate.js

Applies the migrations that the database of ${service} lacks. Two migrators at once are safe: one waits for the other.
If it is interrupted, run it again: it continues.

Options:
  --wait SECONDS           How long to wait for a server that does not accept connections yet, or is a standby; at most 9999.
                           Default: 0.
  -h, --help               Print this help.

Environment:
  DATABASE_URL             postgresql:// URL of the database. Required unless MIGRATION_DATABASE_URL is set.
  MIGRATION_DATABASE_URL   URL of the role that owns the tables. Default: DATABASE_URL.
  SERVICE_DATABASE_ROLE    The service's own role, which gets its rights after the migrations.
  DATABASE_URL_FILE and MIGRATION_DATABASE_URL_FILE name a file with the value instead.

Exit codes: 0 success, 1 failure, 2 invalid command line.

Example:
  DATABASE_URL=postgresql://${service}:secret@localhost/${service} node dist/migrate.js
`;
}
