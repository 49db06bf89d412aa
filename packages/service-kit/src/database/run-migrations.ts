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
  /** Where the service's own role may not do everything to rows. */
  tableRights?: TableRights;
}

/** A migrator's process: applies what is missing, says what it did, and exits with 1 naming what failed. */
export async function runMigrations({
  service,
  prismaDir,
  environment,
  tableRights = {},
}: RunMigrationsOptions): Promise<void> {
  try {
    const read = readConfig(migrationEnvironment, environment, migrationSecretNames, missingDatabaseUrl);
    const role = read.SERVICE_DATABASE_ROLE;
    const applied = await migrate({
      connectionString: read.MIGRATION_DATABASE_URL ?? read.DATABASE_URL ?? '',
      prismaDir,
      serviceRole: role === undefined ? undefined : { name: role, tableRights },
    });
    const done = applied.length === 0 ? 'no migration to apply' : `applied ${applied.join(', ')}`;
    process.stdout.write(`${service}: ${done}\n`);
  } catch (error) {
    process.stderr.write(`${service}: ${error instanceof Error ? error.message : String(error)}\n`);
    process.exit(1);
  }
}
