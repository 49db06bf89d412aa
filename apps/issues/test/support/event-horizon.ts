import { setTimeout as pause } from 'node:timers/promises';
import type { TestApp } from './test-app.ts';

/**
 * Waits until the feed can deliver all events that are committed now. Transactions of other tests hold it back, because
 * all databases of a server share their transaction ids.
 */
export async function untilDeliverable(app: Pick<TestApp, 'sql'>): Promise<void> {
  const [now] = await app.sql<{ id: string }>('SELECT pg_snapshot_xmax(pg_current_snapshot())::text AS id');
  for (;;) {
    const [row] = await app.sql<{ passed: boolean }>(
      'SELECT pg_snapshot_xmin(pg_current_snapshot()) >= $1::xid8 AS passed',
      [now?.id],
    );
    if (row?.passed === true) return;
    await pause(20);
  }
}
