import pg from 'pg';
import { StackError } from '../stack-error.ts';

const INVALID_PASSWORD = '28P01';

/**
 * Runs some statements over one connection and closes it.
 * @param url a PostgreSQL URL; no ambient PG* variable changes where it leads
 */
export async function withConnection<T>(url: string, work: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = new pg.Client({
    connectionString: url,
    connectionTimeoutMillis: 10_000,
    query_timeout: 60_000,
  });
  // A server that goes away between two statements tells the next one; without a listener it would end this process.
  client.on('error', () => undefined);
  try {
    await client.connect();
    return await work(client);
  } finally {
    await client.end();
  }
}

/** @throws StackError when the server does not know this password, naming the file that it came from */
export async function assertPasswordFits(adminUrl: string, passwordFile: string): Promise<void> {
  try {
    await withConnection(adminUrl, (client) => client.query('SELECT 1'));
  } catch (error) {
    if (sqlState(error) !== INVALID_PASSWORD) throw error;
    throw new StackError(
      `The password in ${passwordFile} is not the one this database was made with. Bring the file back, or move the database folder away to begin anew.`,
    );
  }
}

/** The five-character SQLSTATE of a server's error. */
export function sqlState(error: unknown): string | undefined {
  return error instanceof pg.DatabaseError ? error.code : undefined;
}
