// A migrator, started as both services' are; its prisma folder and table rights are the argument.
import { runMigrations } from '../../src/database/run-migrations.ts';

const { prismaDir, tableRights } = JSON.parse(process.argv[2] ?? '{}');
await runMigrations({ service: 'run-test', prismaDir, environment: process.env, tableRights });
