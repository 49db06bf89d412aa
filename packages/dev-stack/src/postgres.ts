export type { PostgresOptions, RunningPostgres } from './postgres-server.ts';
export { startPostgres } from './postgres-server.ts';
export type { ServiceDatabase } from './service-database.ts';
export { cloneDatabase, createServiceDatabase, dropDatabase, withDatabase } from './service-database.ts';
export { StackError } from './stack-error.ts';
export type { TestPostgres } from './test-postgres.ts';
export { startTestPostgres } from './test-postgres.ts';
