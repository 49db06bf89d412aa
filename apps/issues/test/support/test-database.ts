import { randomBytes } from 'node:crypto';
import { createLogger } from '@tessera/service-kit';
import { cloneDatabase } from '@tessera/stack/postgres';
import { recordingLog } from '@tessera/testing/leaks';
import pg from 'pg';
import { createDatabase } from '../../src/database.ts';

export type TestDatabase = ReturnType<typeof openTestDatabase>;

/**
 * The database that test files copy. Its name differs from that in the tests of identity, where another role owns the tables:
 * with TEST_DATABASE_URL, both are on one server.
 */
export const templateOf = (role: 'issues' | 'identity') => `issues_tests_${role}`;

/** Copies the migrated template of a service for one test file and returns the URL of the copy. */
export async function createTestDatabase(role: 'issues' | 'identity' = 'issues'): Promise<string> {
  const adminUrl = process.env.TEST_ADMIN_URL ?? '';
  const name = `${role}_${randomBytes(6).toString('hex')}`;
  await cloneDatabase(adminUrl, templateOf(role), name, role);
  const url = new URL(adminUrl);
  url.username = role;
  url.password = role;
  url.pathname = `/${name}`;
  return url.href;
}

/** Opens separate connections for repositories under test, and for reading and arranging rows. */
export function openTestDatabase(url: string) {
  const logger = createLogger({ service: 'issues', level: 'debug', destination: recordingLog() });
  const { database, close } = createDatabase({ url, poolMax: 10, statementTimeoutMs: 5_000 }, logger);
  const client = new pg.Pool({ connectionString: url, max: 2 });
  return {
    url,
    database,
    logger,
    sql: async <Row extends pg.QueryResultRow>(text: string, values: unknown[] = []) =>
      (await client.query<Row>(text, values)).rows,
    close: async () => {
      await Promise.all([close(), client.end()]);
    },
  };
}
