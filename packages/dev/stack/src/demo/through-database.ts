import pg from 'pg';
import { Progress } from './progress.ts';

const batch = 10_000;

/**
 * Writes `count` issues straight into the issues database, for measurements: about 20,000 a second. Every eighth title
 * contains the word `common`, every hundred-thousandth the word `rare`. Reporters are identities of the mirror.
 */
export async function fillThroughDatabase(databaseUrl: string, count: number): Promise<void> {
  const client = new pg.Client({ connectionString: databaseUrl });
  await client.connect();
  const progress = new Progress('issues', count);
  try {
    for (let written = 0; written < count; written += batch) {
      const size = Math.min(batch, count - written);
      await client.query(insertIssues, [written, size]);
      progress.advance(size);
    }
    // Updates the planner's statistics and flushes the pending list of the search index.
    await client.query('VACUUM ANALYZE issues');
  } finally {
    await client.end();
  }
}

const insertIssues = `
  WITH people AS (
    SELECT array_agg(id) AS ids FROM (SELECT id FROM identity_mirror ORDER BY id LIMIT 100) AS known
  )
  INSERT INTO issues (id, title, description, priority, status, reporter_id, assignee_id, created_at, updated_at, search)
  SELECT *, to_tsvector('simple', title || ' ' || description) FROM (
  SELECT gen_random_uuid(),
         'Issue ' || n || CASE WHEN n % 8 = 0 THEN ' common' ELSE '' END || CASE WHEN n % 100000 = 0 THEN ' rare' ELSE '' END AS title,
         'Written for measurements.' AS description,
         (enum_range(NULL::issue_priority))[1 + n % 5],
         (enum_range(NULL::issue_status))[1 + n % 5],
         coalesce(ids[1 + n % array_length(ids, 1)], gen_random_uuid()),
         CASE WHEN n % 3 = 0 THEN ids[1 + n % array_length(ids, 1)] END,
         now() - n * interval '1 second', now() - n * interval '1 second'
    FROM people, generate_series($1::int + 1, $1::int + $2::int) AS n) made`;
