import { withDatabase } from '@tessera/stack/postgres';
import pg from 'pg';

/** Runs a script on a new connection, and returns the rows of its last statement. */
export async function run<Row extends pg.QueryResultRow>(url: string, sql: string): Promise<Row[]> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    const results = [await client.query<Row>(sql)].flat();
    return results.at(-1)?.rows ?? [];
  } finally {
    await client.end();
  }
}

const names: string[] = [];

/** Registers a database to be dropped with the others, and returns its name. */
export function adoptDatabase(name: string): string {
  names.push(name);
  return name;
}

/** Creates an empty database for a test, and returns its URL. `options` follow its name in SQL. */
export async function createDatabase(options = ''): Promise<string> {
  const name = `kit_test_${process.pid}_${Date.now()}_${names.length}`;
  names.push(name);
  await run(adminUrl(), `CREATE DATABASE ${name} ${options}`);
  return withDatabase(adminUrl(), name);
}

/** Drops the databases that a test file has created. */
export async function dropDatabases(): Promise<void> {
  for (const name of names.splice(0)) await run(adminUrl(), `DROP DATABASE IF EXISTS ${name} WITH (FORCE)`);
}

/** A superuser's URL. */
export function adminUrl(): string {
  const url = process.env.TEST_ADMIN_URL;
  if (url === undefined) throw new Error('The global set-up has not started a PostgreSQL.');
  return url;
}
