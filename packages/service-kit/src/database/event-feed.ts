import type pg from 'pg';
import { z } from 'zod';
import { decodeCursor, encodeCursor } from '../http/keyset-page.ts';
import type { Metrics } from '../observability/metrics.ts';
import { timeline } from './standby.ts';

/** A row of the table `events`. */
export interface StoredEvent {
  id: number;
  type: string;
  subjectId: string;
  data: Record<string, unknown>;
  at: Date;
}

/** A place in the feed: the events after it have a higher (`tx`, `id`). */
export interface EventPlace {
  database: string;
  tx: bigint;
  id: bigint;
}

/** An event with its place, for readers that give each event its own cursor. */
export interface PlacedEvent extends StoredEvent {
  place: EventPlace;
}

/**
 * A page for readers in this process. `horizon`: the place before which no further event can appear. `newest`: the
 * horizon at which every event that is committed now can be read.
 */
export interface PlacedEventPage {
  events: PlacedEvent[];
  horizon: EventPlace;
  newest: bigint;
  isReset: boolean;
}

/** A page of the feed. `isReset`: events after the cursor were deleted or never existed, so the page is empty. */
export interface EventPage {
  events: StoredEvent[];
  next: string;
  isReset: boolean;
}

interface EventRow extends Omit<StoredEvent, 'id'> {
  database: string;
  horizon: string;
  newest: string;
  isReset: boolean;
  tx: string;
  id: string | null;
}

const integer = z.string().regex(/^\d{1,18}$/);
const place = z.tuple([z.string(), integer, integer]);

/** The setting for standbys that may lack the last transactions. */
const asynchronous = 'asynchronous';

/** The cursor of the end of the feed. */
export const feedEnd = 'now';

/** Returns the cursor of a place. */
export function eventCursor({ database, tx, id }: EventPlace): string {
  return encodeCursor([database, `${tx}`, `${id}`], 'events');
}

/** Returns the place of a cursor. Throws a 422 problem for `field` if it is invalid. */
export function parseEventCursor(cursor: string, field = 'after'): EventPlace {
  const [database, tx, id] = decodeCursor(cursor, place, 'events', field);
  return { database, tx: BigInt(tx), id: BigInt(id) };
}

/**
 * Reads the table `events` in the order of (`tx`, `id`). A page ends before the oldest running transaction: a transaction
 * with a lower id has ended, so no event can appear before a cursor. A cursor names its database, timeline and table: another
 * database counts transactions differently, a standby that takes over may lack the last ones, and a restored dump creates the
 * table again.
 */
export class EventFeed {
  readonly #pool: pg.Pool;
  readonly #standbys: string;

  /** `standbys`: `EVENTS_STANDBYS`. Unless it is `asynchronous`, cursors contain it in place of the timeline. */
  constructor(pool: pg.Pool, { standbys = asynchronous }: { standbys?: string } = {}) {
    this.#pool = pool;
    this.#standbys = standbys;
  }

  /** Returns the events after a cursor; without one, from the oldest. Throws a 422 problem for an invalid cursor. */
  async read(after: string | undefined, limit: number): Promise<EventPage> {
    const isEnd = after === feedEnd;
    const place = after === undefined || isEnd ? undefined : parseEventCursor(after);
    const { events, horizon, isReset } = await this.readAfter(place, isEnd ? 0 : limit);
    const end = events.at(-1)?.place ?? {
      database: horizon.database,
      tx: place?.tx ?? 0n,
      id: place?.id ?? 0n,
    };
    return { events, next: eventCursor(isEnd || isReset ? horizon : end), isReset };
  }

  /** Returns the cursor of the end of the feed. */
  async findEnd(): Promise<string> {
    return (await this.read(feedEnd, 0)).next;
  }

  /** Returns the events after a place; without one, from the oldest. */
  async readAfter(place: EventPlace | undefined, limit: number): Promise<PlacedEventPage> {
    // Without a name, because poolers in transaction mode move prepared statements to other connections.
    const { rows } = await this.#pool.query<EventRow>(eventPageStatement, [
      place?.database ?? null,
      place?.tx ?? 0n,
      place?.id ?? 0n,
      limit,
      this.#standbys === asynchronous ? null : this.#standbys,
    ]);
    const [first] = rows;
    if (first === undefined) throw new Error('the statement returns at least one row');
    const { database, horizon, newest, isReset } = first;
    return {
      events: rows
        .filter((row): row is EventRow & { id: string } => row.id !== null)
        .map((row) => ({
          id: Number(row.id),
          type: row.type,
          subjectId: row.subjectId,
          data: row.data,
          at: row.at,
          place: { database, tx: BigInt(row.tx), id: BigInt(row.id) },
        })),
      horizon: { database, tx: BigInt(horizon), id: 0n },
      newest: BigInt(newest),
      isReset,
    };
  }

  /** Returns the age of the oldest committed event that a running transaction holds back; 0 if there is none. */
  async lagSeconds(): Promise<number> {
    const { rows } = await this.#pool.query<{ lag: number }>(lagStatement);
    return rows[0]?.lag ?? 0;
  }
}

/**
 * Reads a page. Parameters: the database, the transaction id and the id of a cursor, the limit, and what replaces the timeline.
 * The timeline is that of the WAL: the control file has a new one only after the next checkpoint. The migrations write a
 * first row, and the cleanup keeps the newest expired event. So a cursor before the oldest row has missed deleted events,
 * or at least that one.
 */
export const eventPageStatement = `
  WITH here AS MATERIALIZED (
    SELECT hashtextextended(concat_ws('.', system_identifier, coalesce($5::text, (${timeline})::text),
             (SELECT oid FROM pg_database WHERE datname = current_database()), 'events'::regclass::oid), 0)::text AS database,
           pg_snapshot_xmin(pg_current_snapshot())::text::bigint AS horizon,
           pg_snapshot_xmax(pg_current_snapshot())::text::bigint AS newest
      FROM pg_control_system()
  ), place AS MATERIALIZED (
    SELECT database, horizon, newest, $1::text IS NOT NULL AND (
             database <> $1::text OR $2::bigint > newest
             OR coalesce(($2::bigint, $3::bigint) < (SELECT tx, id FROM events ORDER BY tx, id LIMIT 1), false)
           ) AS "isReset"
      FROM here
  )
  SELECT place.*, e.tx, e.id, e.type, e.subject_id AS "subjectId", e.data, e.at
    FROM place LEFT JOIN LATERAL (
      SELECT * FROM events
       WHERE NOT place."isReset" AND (tx, id) > ($2::bigint, $3::bigint) AND tx < place.horizon
       ORDER BY tx, id LIMIT $4::int
    ) e ON true
   ORDER BY e.tx, e.id`;

// Without rows of a dump from a server that had counted more transactions.
const lagStatement = `
  SELECT coalesce(greatest(0, extract(epoch FROM clock_timestamp() - (
    SELECT at FROM events
     WHERE tx >= pg_snapshot_xmin(pg_current_snapshot())::text::bigint
       AND tx < pg_snapshot_xmax(pg_current_snapshot())::text::bigint
     ORDER BY tx, id LIMIT 1
  ))), 0)::float8 AS lag`;

/**
 * Deletes expired events in the order of the feed, without the newest expired one. `sql`: `Prisma.sql` of the
 * service, for `deleteBatch`.
 */
export function deleteExpiredEvents<Sql>(
  sql: (text: readonly string[], ...values: unknown[]) => Sql,
  { retentionDays, batchSize }: { retentionDays: number; batchSize: number },
): Sql {
  return sql`
    DELETE FROM events WHERE (tx, id) IN (
      SELECT tx, id FROM (
        SELECT tx, id, lead(at) OVER place AS next_at,
               max(at) OVER (place ROWS BETWEEN UNBOUNDED PRECEDING AND 1 FOLLOWING) AS newest
          FROM (
            SELECT tx, id, at FROM events WHERE (SELECT held FROM guard) ORDER BY tx, id LIMIT ${batchSize + 1}::int
          ) oldest
        WINDOW place AS (ORDER BY tx, id)
      ) events WHERE next_at IS NOT NULL AND newest < now() - make_interval(days => ${retentionDays}::int)
    ) RETURNING 1`;
}

/** Exposes the delay of the feed. If the query fails, the gauge keeps its last value. */
export function observeEventFeed(metrics: Metrics, feed: Pick<EventFeed, 'lagSeconds'>): void {
  const help = 'Age of the oldest committed event that a running transaction holds back.';
  const gauge = metrics.gauge('events_horizon_lag_seconds', help, [], async () => {
    const lag = await feed.lagSeconds().catch(() => undefined);
    if (lag !== undefined) gauge.set(lag);
  });
}
