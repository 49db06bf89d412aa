import pg from 'pg';
import { StackError } from '../stack-error.ts';

const INVALID_PASSWORD = '28P01';

/**
 * Runs some statements over one connection and closes it.
 * @param url a PostgreSQL URL; PG* variables of the environment have no effect
 */
export async function withConnection<T>(url: string, work: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = new pg.Client({
    connectionString: url,
    connectionTimeoutMillis: 10_000,
    query_timeout: 60_000,
  });
  // Without a listener, a connection that the server closes between two statements would end this process.
  client.on('error', () => undefined);
  try {
    await client.connect();
    return await work(client);
  } finally {
    await client.end();
  }
}

/** @throws StackError naming the password file when the server rejects the password */
export async function assertPasswordFits(adminUrl: string, passwordFile: string): Promise<void> {
  try {
    await withConnection(adminUrl, (client) => client.query('SELECT 1'));
  } catch (error) {
    if (sqlState(error) !== INVALID_PASSWORD) throw error;
    throw new StackError(
      `The password in ${passwordFile} does not match this database. Restore the file, or move the database folder away to start with an empty database.`,
    );
  }
}

/** The SQLSTATE of a server error. */
export function sqlState(error: unknown): string | undefined {
  return error instanceof pg.DatabaseError ? error.code : undefined;
}
