import { readConfig } from './config.ts';
import { migrate } from './migrate.ts';
import { migrationEnvironment } from './service-environment.ts';

interface RunMigrationsOptions {
  service: string;
  /** The folder with `schema.prisma` and `migrations/`. */
  prismaDir: string;
  environment: Record<string, string | undefined>;
}

/** A migrator's process: applies what is missing, says what it did, and exits with 1 naming what failed. */
export async function runMigrations({
  service,
  prismaDir,
  environment,
}: RunMigrationsOptions): Promise<void> {
  try {
    const { DATABASE_URL } = readConfig(migrationEnvironment, environment, ['DATABASE_URL']);
    const applied = await migrate({ connectionString: DATABASE_URL, prismaDir });
    const done = applied.length === 0 ? 'no migration to apply' : `applied ${applied.join(', ')}`;
    process.stdout.write(`${service}: ${done}\n`);
  } catch (error) {
    process.stderr.write(`${service}: ${error instanceof Error ? error.message : String(error)}\n`);
    process.exit(1);
  }
}
