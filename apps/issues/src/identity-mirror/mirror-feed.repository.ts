import type { Database } from '../database.ts';
import type { EndedSessions } from './identity-client.ts';

/** Until when other processes do not read, in seconds. */
export interface Pause {
  pauseSeconds: number;
}

/** A page that was read. */
interface Progress extends Pause {
  next: string;
  isEnd: boolean;
  endedSessions: readonly EndedSessions[];
}

/** Where to read from; null if the feed is not followed. */
interface Turn {
  cursor: string | null;
}

/**
 * The place of the mirror in identity's feed of events, which all replicas share. A write compares the cursor from which
 * the caller has read: of two processes that read the same page, one stores the next cursor.
 */
export class MirrorFeedRepository {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  /**
   * Returns the cursor if it is time to read and no other process is reading; otherwise no turn. Always returns the ids of
   * the deleted signing keys.
   */
  async takeTurn({ pauseSeconds }: Pause): Promise<{ turn: Turn | undefined; deletedKeys: string[] }> {
    const [row] = await this.#database.$queryRaw<(Turn & { isTurn: boolean; deletedKeys: string[] })[]>`
      WITH turn AS (
        UPDATE mirror_feed SET next_read_at = now() + make_interval(secs => ${pauseSeconds}::float8)
         WHERE next_read_at <= now() RETURNING cursor
      )
      SELECT turn.cursor, taken IS NOT NULL AS "isTurn", deleted_keys AS "deletedKeys"
        FROM mirror_feed LEFT JOIN (SELECT cursor, true AS taken FROM turn) turn ON true`;
    if (row === undefined) return { turn: undefined, deletedKeys: [] };
    return { turn: row.isTurn ? { cursor: row.cursor } : undefined, deletedKeys: row.deletedKeys };
  }

  /** Stores the ids of the deleted signing keys for all replicas. */
  async storeDeletedKeys(kids: readonly string[]): Promise<void> {
    await this.#database.$executeRaw`UPDATE mirror_feed SET deleted_keys = ${kids}::text[]`;
  }

  /**
   * Stores the next cursor after the events up to it are copied, and with it the session epochs of the events. Returns false if
   * another process has stored a cursor.
   */
  async advance(from: string, page: Progress): Promise<boolean> {
    const { next, isEnd, endedSessions, pauseSeconds } = page;
    const ends = endedSessions.filter(({ session_epoch }) => session_epoch !== undefined);
    const [feed] = await this.#database.$queryRaw<[{ isStored: boolean }]>`
      WITH feed AS (
        UPDATE mirror_feed
           SET cursor = ${next}, read_at = CASE WHEN ${isEnd}::boolean THEN now() ELSE read_at END,
               next_read_at = now() + make_interval(secs => ${pauseSeconds}::float8)
         WHERE cursor = ${from} RETURNING 1
      ), epochs AS (
        UPDATE session_ends s SET session_epoch = greatest(s.session_epoch, e.epoch)
          FROM (SELECT id, max(epoch) AS epoch
                  FROM unnest(${ends.map((one) => one.identity_id)}::uuid[],
                              ${ends.map((one) => one.session_epoch)}::int[]) AS u (id, epoch) GROUP BY id) e
         WHERE s.identity_id = e.id AND EXISTS (SELECT FROM feed)
      )
      SELECT EXISTS (SELECT FROM feed) AS "isStored"`;
    return feed.isStored;
  }

  /**
   * Stores the cursor of the feed's end, and lets the backfill begin a new pass, also if one is running. The cursor is
   * older than the pass, so each change is read by the pass or follows the cursor. Forgets the session epochs, because those of
   * a restored database may be lower. Returns false if another process has stored a cursor.
   */
  async restart(from: string | null, { next, pauseSeconds }: { next: string } & Pause): Promise<boolean> {
    const restarted = await this.#database.$executeRaw`
      WITH feed AS (
        UPDATE mirror_feed
           SET cursor = ${next}, read_at = now(),
               next_read_at = now() + make_interval(secs => ${pauseSeconds}::float8)
         WHERE cursor IS NOT DISTINCT FROM ${from}::text RETURNING 1
      ), epochs AS (
        UPDATE session_ends SET session_epoch = 0 WHERE session_epoch > 0 AND EXISTS (SELECT FROM feed)
      )
      UPDATE mirror_backfill
         SET after = NULL, claim_id = NULL, claim_until = NULL, next_attempt_at = now(),
             pass_started_at = greatest(now(), pass_finished_at + interval '1 millisecond')
       WHERE EXISTS (SELECT FROM feed)`;
    return restarted > 0;
  }

  /** Returns the seconds since the feed was last read to its end; undefined before the first read. */
  async findStaleness(): Promise<number | undefined> {
    const [row] = await this.#database.$queryRaw<{ staleness: number | null }[]>`
      SELECT extract(epoch FROM now() - read_at)::float8 AS staleness FROM mirror_feed`;
    return row?.staleness ?? undefined;
  }
}
