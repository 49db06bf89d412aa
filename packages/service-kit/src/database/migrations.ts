import { readdirSync } from 'node:fs';
import { join } from 'node:path';

/** The names of the migrations in a service's `prisma/` folder, in order of application. */
export function listMigrations(prismaDir: string): string[] {
  return readdirSync(join(prismaDir, 'migrations'), { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map((entry) => entry.name)
    .sort();
}
