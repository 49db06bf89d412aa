// A migrator, started as both services' are. Its prisma folder, table rights and command line are the argument.
import { runMigrations } from '../../src/database/run-migrations.ts';

const { prismaDir, tableRights, args } = JSON.parse(process.argv[2] ?? '{}');
await runMigrations({ service: 'run-test', prismaDir, environment: process.env, tableRights, args });
