import { setTimeout } from 'node:timers/promises';
import pg from 'pg';

/**
 * Spreads issues that were created at once over the last two weeks, with their comments, history and notifications: the API has no
 * way to create anything in the past. Notifications of more than two days ago are done. Needs the owner of the database.
 */
export async function spreadOverTwoWeeks(databaseUrl: string, keys: readonly string[]): Promise<void> {
  const numbers = keys.map((key) => Number(key.split('-').at(-1)));
  const client = new pg.Client({ connectionString: databaseUrl });
  await client.connect();
  try {
    await untilNotified(client);
    await client.query('BEGIN');
    // The history is append-only for the service.
    await client.query('ALTER TABLE activity DISABLE TRIGGER USER');
    await client.query(planTimes, [numbers]);
    for (const [table, issue, columns] of tables) await client.query(moveTimes(table, issue, columns));
    for (const statement of orderNotifications) await client.query(statement);
    await client.query('ALTER TABLE activity ENABLE TRIGGER USER');
    await client.query('COMMIT');
  } finally {
    await client.end();
  }
}

const waitMs = 200;
const attempts = 300;

/** Waits until the service has made the notifications of all events. If it does not, they stay as they are. */
async function untilNotified(client: pg.Client): Promise<void> {
  for (let attempt = 0; attempt < attempts; attempt += 1) {
    const { rowCount } = await client.query(`
      SELECT FROM events e JOIN event_readers r ON (e.tx, e.id) > (r.tx, r.event_id) WHERE r.name = 'notifications' LIMIT 1`);
    if (rowCount === 0) return;
    await setTimeout(waitMs);
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
  ['notifications', 'issue_id', ['created_at']],
];

// The inbox has the order of the places. A place is given once, so all are freed first.
const ofPlan = 'issue_id IN (SELECT id FROM plan)';
const ofPeople = `identity_id IN (SELECT identity_id FROM notifications WHERE ${ofPlan})`;
const orderNotifications = [
  `UPDATE notifications SET place = -place WHERE ${ofPeople}`,
  `UPDATE notifications n SET place = ordered.place
     FROM (SELECT identity_id, event_id, row_number() OVER (PARTITION BY identity_id ORDER BY created_at, event_id) AS place
             FROM notifications WHERE ${ofPeople}) AS ordered
    WHERE n.identity_id = ordered.identity_id AND n.event_id = ordered.event_id`,
  `UPDATE notifications SET read_at = created_at + interval '1 hour', done_at = created_at + interval '1 hour'
    WHERE ${ofPlan} AND done_at IS NULL AND created_at < now() - interval '2 days'`,
];

const moveTimes = (table: string, issue: string, columns: readonly string[]) => `
  UPDATE ${table} SET ${columns.map((column) => `${column} = begins + (${column} - was) * stretch`).join(', ')}
    FROM plan WHERE plan.id = ${table}.${issue}`;
