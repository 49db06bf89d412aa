import type { SyncConflict } from '@tessera/contracts';
import { Prisma } from '../generated/prisma/client.ts';
import type { TrackerIdentity } from '../issue-core/issue.ts';
import { TrackerError } from '../trackers/tracker-error.ts';
import type { MergeBase } from './field-merge.ts';
import type { UnverifiedPush } from './sync-merge.ts';

/** The exclusive right to sync an issue until it expires. */
export interface SyncLease {
  issueId: string;
  /** Part of the condition of every write under the lease, so that a write after its expiry has no effect. */
  leaseId: string;
}

/** The configured tracker. */
export interface ConfiguredTracker extends TrackerIdentity {
  /** Differs between configurations, without revealing the credentials. */
  fingerprint: string;
}

/** A leased issue with the state that its sync starts from. */
export interface SyncJob extends SyncLease {
  /** Null if the issue is not known to exist in the tracker. */
  remoteId: string | null;
  /** When the remote issue was created, by the tracker's clock; null if that is not known. */
  remoteSince: Date | null;
  base: MergeBase;
  conflicts: SyncConflict[];
  /** The last push if the process ended before it was verified. */
  unverifiedPush: UnverifiedPush | null;
  /** When a request to create the remote issue was last sent without a known outcome. */
  createAttemptedAt: Date | null;
  /** Seconds since `createAttemptedAt`, by the database's clock. */
  createAttemptAge: number | null;
  /** When a request to create the remote issue was refused, unless another was sent since. */
  createRefusedAt: Date | null;
  /** Changes of the remote issue up to this time were synced, by the tracker's clock. */
  remoteSeenUntil: Date | null;
  /** Seconds since the last sync that succeeded. */
  lastSyncAge: number | null;
  /**
   * Time from which a second remote issue may have been created: of an earlier create request, for a day, or of a remote
   * issue that a poll found. Null if there is no sign of one.
   */
  uncertainSince: Date | null;
  /** The last entry of the local history when the sync began; 0 if there was none. */
  activityId: string;
  requestedBy: string;
}

/** The sync took longer than its lease: another process may be syncing the issue. */
export class LeaseLostError extends TrackerError {
  override readonly name = 'LeaseLostError';

  constructor() {
    super('tracker_timeout', 'the lease has expired');
  }
}

/** The schedule of the next attempt after a failure. */
export interface Retry {
  firstDelaySeconds: number;
  minSeconds: number;
  /** Whether the attempt does not count as a failure. It is then repeated after `minSeconds`. */
  isPostponed: boolean;
}

export const retryDelayMaxSeconds = 3_600;
/** The minimum duration of an outage: the next response after this time without one ends an outage. */
const outageMinSeconds = 120;
// A lease outlasts the time limit of its sync, so that it expires only if the process dies or the database is down.
const leaseMarginMs = 2_000;

/** The columns of a `SyncJob` in the row `t`. */
export const jobColumns =
  Prisma.raw(`t.issue_id AS "issueId", t.claim_id AS "leaseId", t.remote_id AS "remoteId", t.remote_since AS "remoteSince",
  coalesce(t.base, '{}') AS base, t.conflicts, t.unverified_push AS "unverifiedPush", t.create_attempted_at AS "createAttemptedAt", t.create_refused_at AS "createRefusedAt",
  extract(epoch FROM clock_timestamp() - t.create_attempted_at)::float8 AS "createAttemptAge",
  least(t.duplicated_since, CASE WHEN t.uncertain_since > clock_timestamp() - interval '1 day' THEN t.uncertain_since END) AS "uncertainSince",
  t.remote_seen_until AS "remoteSeenUntil", extract(epoch FROM clock_timestamp() - t.last_synced_at)::float8 AS "lastSyncAge",
  (SELECT coalesce(max(a.id), 0)::text FROM activity a WHERE a.issue_id = t.issue_id AND a.origin = 'local') AS "activityId",
  t.requested_by AS "requestedBy"`);

/** Returns the duration of a lease for a sync with this time limit, in milliseconds. */
export function leaseMs(timeoutMs: number): number {
  return timeoutMs + leaseMarginMs;
}

/** Returns the expiry of a lease for a sync with this time limit. */
export function leaseEnd(timeoutMs: number): Prisma.Sql {
  return fromNow(Prisma.sql`${leaseMs(timeoutMs) / 1000}::float8`);
}

/** Releases a lease whose row is not known, because the answer was lost. The issue is due. */
export function releaseUnknown(leaseId: string): Prisma.Sql {
  // The condition of the time is for the index.
  return Prisma.sql`
    UPDATE tracker_links SET claim_id = NULL, claim_until = NULL, next_attempt_at = clock_timestamp()
     WHERE claim_id = ${leaseId}::uuid AND claim_until > clock_timestamp() - interval '1 day'`;
}

/** Sets the columns of a row in `tracker_states` after a successful request. */
export const recordAnswer = Prisma.raw(`answered_at = clock_timestamp(),
  recovered_at = CASE WHEN tracker_states.answered_at > clock_timestamp() - interval '${outageMinSeconds} seconds'
    THEN tracker_states.recovered_at ELSE clock_timestamp() END`);

/** Returns the delay before the next attempt, which doubles with each of the `failures`, with jitter. */
export function retryDelay({ firstDelaySeconds, minSeconds, isPostponed }: Retry): Prisma.Sql {
  if (isPostponed) return Prisma.sql`${minSeconds}::float8 * (1 + random() / 2)`;
  return Prisma.sql`greatest(${minSeconds}::float8, (0.5 + random() / 2) *
    least(${retryDelayMaxSeconds}::float8, ${firstDelaySeconds}::float8 * 2 ^ least(failures, 20)))`;
}

export function fromNow(seconds: Prisma.Sql): Prisma.Sql {
  return Prisma.sql`clock_timestamp() + make_interval(secs => ${seconds})`;
}

export function json(value: unknown): Prisma.Sql {
  return Prisma.sql`${JSON.stringify(value)}::jsonb`;
}
