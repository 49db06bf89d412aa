import { readFileSync } from 'node:fs';
import pg from 'pg';
import { parseStat } from '../load/cpu-time.ts';

/** The parent of every process of a PostgreSQL; undefined where that cannot be told. */
export async function findPostmaster(adminUrl: string): Promise<number | undefined> {
  const client = new pg.Client({ connectionString: adminUrl });
  await client.connect();
  try {
    const { rows } = await client.query('SELECT pg_backend_pid() AS pid');
    return parseStat(readFileSync(`/proc/${rows[0]?.pid}/stat`, 'utf8')).parent;
  } catch {
    // Another machine's, or a system without /proc.
    return undefined;
  } finally {
    await client.end();
  }
}
