import { timeline } from './standby.ts';

/** The primary at one moment: what had been committed before has a place in the log up to `lsn`. */
export interface PrimaryPlace {
  /** The cluster and the database in it. A physical standby has the same. */
  database: string;
  timeline: number;
  /** 16 hexadecimal digits, which compare as texts. */
  lsn: string;
}

/** A server that should be a standby, at one moment. */
export interface StandbyPlace extends PrimaryPlace {
  /** False after it has taken over. */
  isStandby: boolean;
}

interface PlaceRow {
  database: string;
  timeline: number;
  lsn: string;
}

const database =
  "concat_ws('.', system_identifier, (SELECT oid FROM pg_database WHERE datname = current_database())) AS database";

/**
 * Reads a `PlaceRow` of the primary. A commit waits until its place is flushed, unless `synchronous_commit` is off; places that
 * are not flushed yet do not reach a standby, so a list would wait in vain.
 */
export const primaryPlaceStatement = `
  SELECT ${database}, ${timeline} AS timeline,
         (CASE current_setting('synchronous_commit') WHEN 'off' THEN pg_current_wal_insert_lsn()
               ELSE pg_current_wal_flush_lsn() END)::text AS lsn
    FROM pg_control_system()`;

/**
 * Reads a `PlaceRow` with `isStandby`. A standby refuses the functions that tell the timeline, and shows the state of its receiver
 * only to superusers. The control file has the timeline of the last checkpoint, and of the last place to which a page was
 * written: the standby has replayed a record of it. After a failover this is behind until one of both happens; then lists stay
 * on the primary.
 */
export const standbyPlaceStatement = `
  SELECT ${database}, greatest(checkpoint.timeline_id, recovery.min_recovery_end_timeline) AS timeline,
         coalesce(pg_last_wal_replay_lsn(), '0/0')::text AS lsn, pg_is_in_recovery() AS "isStandby"
    FROM pg_control_system(), pg_control_checkpoint() checkpoint, pg_control_recovery() recovery`;

/** Converts a row of either statement. */
export function placeOf<Row extends PlaceRow>(row: Row | undefined): Row {
  if (row === undefined) throw new Error('the statement returns one row');
  // The driver has two halves: `16/B374D848`.
  const lsn = row.lsn.split('/').map((half) => half.padStart(8, '0'));
  return { ...row, lsn: lsn.join('').toUpperCase() };
}

/**
 * Returns a place in the log of the database (WAL) as clients have it: the timeline and the LSN, 24 hexadecimal digits. A later
 * one is greater as a text, also after a failover, which begins a higher timeline.
 */
export function positionOf({ timeline: number, lsn }: PrimaryPlace): string {
  return number.toString(16).toUpperCase().padStart(8, '0') + lsn;
}

/** 64 MiB: more than ten thousand changes, many times what a service writes between two looks at the place. */
const leap = 1n << 26n;

/** Returns a position after all that the database has written shortly after a place. */
export function positionBeyond({ lsn, ...place }: PrimaryPlace): string {
  const beyond = (BigInt(`0x${lsn}`) + leap).toString(16).toUpperCase().padStart(16, '0');
  return positionOf({ ...place, lsn: beyond.slice(-16) });
}

/**
 * Returns the place that a standby of `primary` must have replayed for a position: `nothing` if the position is of a timeline
 * before, whose end every standby of this one has; `elsewhere` if only the primary can know it.
 */
export function placeNeeded(
  position: string,
  { timeline: current }: PrimaryPlace,
): { lsn: string } | 'nothing' | 'elsewhere' {
  const own = Number.parseInt(position.slice(0, 8), 16);
  if (own === current) return { lsn: position.slice(8) };
  return own < current ? 'nothing' : 'elsewhere';
}
