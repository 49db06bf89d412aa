import { setTimeout as pause } from 'node:timers/promises';

/** Runs a statement in the database of a test app. */
type Sql = (text: string, values?: unknown[]) => Promise<Record<string, unknown>[]>;

/**
 * Waits until the feed can deliver all events that are committed now. Transactions of other tests hold it back, because
 * all databases of a server share their transaction ids.
 */
export async function untilDeliverable(app: { sql: Sql }): Promise<void> {
  const [now] = await app.sql('SELECT pg_snapshot_xmax(pg_current_snapshot())::text AS id');
  for (;;) {
    const [row] = await app.sql('SELECT pg_snapshot_xmin(pg_current_snapshot()) >= $1::xid8 AS passed', [
      now?.id,
    ]);
    if (row?.passed === true) return;
    await pause(20);
  }
}
