import { fileURLToPath } from 'node:url';
import { PrismaPg } from '@prisma/adapter-pg';
import {
  connectionTimeoutDefaultMs,
  createDatabase as createServiceDatabase,
  type DatabaseConfig,
  type DatabasePool,
  type Logger,
  SqlClient,
} from '@tessera/service-kit';
import type { TableRights } from '@tessera/service-kit/migrate';
import { Prisma, PrismaClient } from './generated/prisma/client.ts';

type Timeouts = Pick<DatabaseConfig, 'connectionTimeoutMs' | 'statementTimeoutMs'>;

/** Prisma's models, and a shorter way for statements in SQL, over one pool. */
export class Database extends SqlClient {
  readonly models: PrismaClient;

  constructor(
    { pool, nameOf }: DatabasePool,
    { connectionTimeoutMs = connectionTimeoutDefaultMs, statementTimeoutMs }: Timeouts,
  ) {
    super({ pool, nameOf, sql: Prisma.sql });
    const adapter = new PrismaPg(pool, { statementNameGenerator: nameOf });
    // Prisma has limits of its own for transactions, which a configured one would not change.
    const transactionOptions = { maxWait: connectionTimeoutMs, timeout: statementTimeoutMs };
    this.models = new PrismaClient({ adapter, errorFormat: 'minimal', transactionOptions });
  }
}

/** Contains the schema and the migrations. */
export const prismaDir = fileURLToPath(new URL('../prisma', import.meta.url));

/**
 * Restricts the service's role on some tables: it cannot delete identities (deletes are soft), can only append to
 * the audit trail and cannot change events. Rules for every role are triggers in the migrations.
 */
export const tableRights: TableRights = {
  identities: ['INSERT', 'UPDATE'],
  audit_events: ['INSERT'],
  events: ['INSERT', 'DELETE'],
};

/** Connects on first use: if the database is down at start, `/readyz` fails instead of the process. */
export function createDatabase(config: DatabaseConfig, logger: Logger) {
  return createServiceDatabase({
    config,
    applicationName: 'identity',
    logger,
    prismaDir,
    createClient: (connections) => new Database(connections, config),
  });
}
