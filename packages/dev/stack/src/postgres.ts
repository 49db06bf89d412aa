export type { BreakablePostgres } from './postgres/breakable-postgres.ts';
export { startBreakablePostgres } from './postgres/breakable-postgres.ts';
export { joinSockets } from './postgres/forwarder.ts';
export { findFreePort } from './postgres/free-port.ts';
export { canRunPgBouncer, PgBouncer } from './postgres/pgbouncer.ts';
export type { Place, ReplicatedPostgres } from './postgres/replicated-postgres.ts';
export { startReplicatedPostgres } from './postgres/replicated-postgres.ts';
export type { PostgresOptions, RunningPostgres } from './postgres/server.ts';
export { startPostgres } from './postgres/server.ts';
export type { DatabaseRole, ServiceDatabase } from './postgres/service-database.ts';
export {
  cloneDatabase,
  createServiceDatabase,
  dropDatabase,
  withDatabase,
  withRole,
} from './postgres/service-database.ts';
export type { TestPostgres } from './postgres/test-postgres.ts';
export { manyDatabases, startTestPostgres } from './postgres/test-postgres.ts';
export { StackError } from './stack-error.ts';
