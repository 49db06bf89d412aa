// A migrator, started as in both services; the argument has its prisma folder, table rights and command line.
import { runMigrations } from '../../src/database/run-migrations.ts';

const { prismaDir, tableRights, args } = JSON.parse(process.argv[2] ?? '{}');
await runMigrations({ service: 'run-test', prismaDir, environment: process.env, tableRights, args });
