import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export interface PrismaFolder {
  path: string;
  /** Writes or replaces a migration. */
  write: (name: string, sql: string) => void;
  remove: () => void;
}

/** A service's `prisma/` folder without models and migrations. */
export function createPrismaFolder(): PrismaFolder {
  const path = mkdtempSync(join(tmpdir(), 'prisma-test-'));
  mkdirSync(join(path, 'migrations'));
  writeFileSync(join(path, 'migrations', 'migration_lock.toml'), 'provider = "postgresql"\n');
  writeFileSync(join(path, 'schema.prisma'), 'datasource db {\n  provider = "postgresql"\n}\n');
  return {
    path,
    write: (name, sql) => {
      mkdirSync(join(path, 'migrations', name), { recursive: true });
      writeFileSync(join(path, 'migrations', name, 'migration.sql'), sql);
    },
    remove: () => rmSync(path, { recursive: true }),
  };
}
