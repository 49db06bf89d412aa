import { runMigrations } from '@tessera/service-kit/run-migrations';
import { environment } from './config.ts';
import { prismaDir, tableRights } from './database.ts';

await runMigrations({
  service: 'identity',
  prismaDir,
  environment,
  tableRights,
  args: process.argv.slice(2),
});
