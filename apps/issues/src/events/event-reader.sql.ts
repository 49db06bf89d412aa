/**
 * The common table expressions of a statement that processes a page of events, in the order of the feed:
 *
 * - `reader`: the reader's place in the feed, locked until the end of the transaction. No row if another process holds
 *   the lock.
 * - `page`: the events after that place, with the columns of `events`. All events of a change are on one page, which may
 *   therefore have more than `limit` rows.
 * - `moved`: stores the new place.
 *
 * The claim, the rows that the statement writes and the new place are one transaction, so each event is processed once
 * over all processes. If the database counts fewer transactions than the place, the rows are of a dump from another
 * server, and the reader continues at the end of the feed. `sql`: `Prisma.sql` of the service.
 */
export function unreadEvents<Sql>(
  sql: (text: readonly string[], ...values: unknown[]) => Sql,
  reader: string,
  limit: number,
): Sql {
  return sql`
    reader AS MATERIALIZED (
      SELECT horizon, tx > newest AS is_foreign,
             CASE WHEN tx > newest THEN horizon ELSE tx END AS tx,
             CASE WHEN tx > newest THEN 0 ELSE event_id END AS event_id
        FROM event_readers, (
          SELECT pg_snapshot_xmin(pg_current_snapshot())::text::bigint AS horizon,
                 pg_snapshot_xmax(pg_current_snapshot())::text::bigint AS newest
        ) snapshot
       WHERE name = ${reader} FOR UPDATE OF event_readers SKIP LOCKED
    ), page AS MATERIALIZED (
      SELECT e.* FROM reader CROSS JOIN LATERAL (
        SELECT * FROM events
         WHERE (tx, id) > (reader.tx, reader.event_id) AND tx < reader.horizon
         ORDER BY tx FETCH FIRST (${limit}::int) ROWS WITH TIES
      ) e
    ), moved AS (
      UPDATE event_readers r SET tx = place.tx, event_id = place.id
        FROM (
          SELECT tx, id FROM page
           UNION ALL SELECT tx, event_id FROM reader WHERE is_foreign
           ORDER BY tx DESC, id DESC LIMIT 1
        ) place
       WHERE name = ${reader}
    )`;
}
