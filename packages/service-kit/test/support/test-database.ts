import { startTestPostgres, type TestPostgres, withDatabase } from '@tessera/dev-stack/postgres';
import pg from 'pg';

/** Runs one script on a connection of its own, and answers the rows of its last statement. */
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

/** A real PostgreSQL, and as many empty databases in it as a test asks for. */
export async function startDatabases(): Promise<{ create: () => Promise<string>; stop: TestPostgres['stop'] }> {
  const postgres = await startTestPostgres();
  const prefix = `kit_test_${process.pid}_${Date.now()}`;
  const names: string[] = [];
  return {
    create: async () => {
      const name = `${prefix}_${names.length}`;
      names.push(name);
      await run(postgres.adminUrl, `CREATE DATABASE ${name}`);
      return withDatabase(postgres.adminUrl, name);
    },
    stop: async () => {
      for (const name of names) await run(postgres.adminUrl, `DROP DATABASE ${name} WITH (FORCE)`);
      await postgres.stop();
    },
  };
}
