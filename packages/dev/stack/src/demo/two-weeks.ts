import pg from 'pg';

/**
 * Spreads issues that were created at once over the last two weeks, with their comments and history: the API has no way to
 * create anything in the past. Needs the owner of the database.
 */
export async function spreadOverTwoWeeks(databaseUrl: string, keys: readonly string[]): Promise<void> {
  const numbers = keys.map((key) => Number(key.split('-').at(-1)));
  const client = new pg.Client({ connectionString: databaseUrl });
  await client.connect();
  try {
    await client.query('BEGIN');
    // The history is append-only for the service.
    await client.query('ALTER TABLE activity DISABLE TRIGGER USER');
    await client.query(planTimes, [numbers]);
    for (const [table, issue, columns] of tables) await client.query(moveTimes(table, issue, columns));
    await client.query('ALTER TABLE activity ENABLE TRIGGER USER');
    await client.query('COMMIT');
  } finally {
    await client.end();
  }
}

// The first issue is two weeks old. An issue lives for a part of the time since, which depends on its id.
const planTimes = `
  CREATE TEMPORARY TABLE plan ON COMMIT DROP AS
  SELECT id, created_at AS was, begins,
         extract(epoch FROM now() - begins) * (0.15 + 0.7 * (hashtext(id::text) & 1023) / 1023.0)
           / greatest(extract(epoch FROM now() - created_at), 0.001) AS stretch
    FROM (SELECT id, created_at,
                 now() - interval '14 days' * (1 - (row_number() OVER (ORDER BY number))::float / (count(*) OVER () + 1)) AS begins
            FROM issues WHERE number = ANY($1::bigint[])) AS placed`;

const tables: readonly [string, string, readonly string[]][] = [
  ['issues', 'id', ['created_at', 'updated_at', 'resolved_at', 'closed_at']],
  ['comments', 'issue_id', ['created_at', 'updated_at']],
  ['activity', 'issue_id', ['at']],
];

const moveTimes = (table: string, issue: string, columns: readonly string[]) => `
  UPDATE ${table} SET ${columns.map((column) => `${column} = begins + (${column} - was) * stretch`).join(', ')}
    FROM plan WHERE plan.id = ${table}.${issue}`;
