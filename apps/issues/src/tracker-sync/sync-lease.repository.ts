import type { SyncConflict, SyncResult } from '@tessera/contracts';
import type { Leases } from '../background/leases.ts';
import type { Database } from '../database.ts';
import { Prisma } from '../generated/prisma/client.ts';
import type { TrackerIdentity } from '../issue-core/issue.ts';
import { isOfDefaultProject } from '../issue-store/issue.sql.ts';
import { recordSynced } from '../issue-store/tracked.sql.ts';
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

/** A sync that ended with an error. */
export interface FailedSync {
  code: string;
  /** Error messages of the tracker. */
  messages?: readonly string[];
  /** The new URL of a moved remote issue. */
  movedTo: string | null;
  /** Null if the background does not retry the sync. */
  retry: Retry | null;
}

/** Consecutive failures after which the background stops retrying. */
const attemptsMax = 12;

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

/** The condition that a row of `tracker_links` has this lease of the tracker. */
export function isLeased(
  { issueId, leaseId }: SyncLease,
  { provider, project }: TrackerIdentity,
): Prisma.Sql {
  return Prisma.sql`issue_id = ${issueId}::uuid AND provider = ${provider} AND project = ${project} AND claim_id = ${leaseId}::uuid`;
}

/** Selects the row with this lease as it is before a statement changes it. */
export function selectLeased(lease: SyncLease, tracker: TrackerIdentity): Prisma.Sql {
  return Prisma.sql`SELECT issue_id, remote_id, last_error FROM tracker_links WHERE ${isLeased(lease, tracker)}`;
}

/** The leases of issues for syncs with the configured tracker, and their ends. A lost lease throws `LeaseLostError`. */
export class SyncLeaseRepository {
  readonly #database: Database;
  readonly #tracker: ConfiguredTracker;
  readonly #leases: Leases;

  constructor(database: Database, tracker: ConfiguredTracker, leases: Leases) {
    this.#database = database;
    this.#tracker = tracker;
    this.#leases = leases;
  }

  /** Leases an issue for a sync with this time limit; undefined while another lease is valid. */
  async take(issueId: string, requestedBy: string, timeoutMs: number): Promise<SyncJob | undefined> {
    return this.#leases.take(leaseMs(timeoutMs), {
      lease: (leaseId) => this.#take(leaseId, issueId, requestedBy, timeoutMs),
      release: (leaseId) => this.#database.$executeRaw(releaseUnknown(leaseId)),
    });
  }

  async #take(
    leaseId: string,
    issueId: string,
    requestedBy: string,
    timeoutMs: number,
  ): Promise<SyncJob | undefined> {
    const { provider, project } = this.#tracker;
    const [job] = await this.#database.$queryRaw<SyncJob[]>`
      INSERT INTO tracker_links AS t (issue_id, provider, project, requested_by, claim_id, claim_until)
      SELECT i.id, ${provider}, ${project}, ${requestedBy}::uuid, ${leaseId}::uuid, ${leaseEnd(timeoutMs)}
        FROM issues i WHERE i.id = ${issueId}::uuid AND ${isOfDefaultProject} FOR KEY SHARE
      ON CONFLICT (issue_id, provider, project) DO UPDATE
        SET claim_id = excluded.claim_id, claim_until = excluded.claim_until, requested_by = excluded.requested_by,
            failures = CASE WHEN t.failures >= ${attemptsMax}::int THEN 0 ELSE t.failures END
        WHERE t.claim_until IS NULL OR t.claim_until < clock_timestamp()
      RETURNING ${jobColumns}`;
    return job;
  }

  /**
   * Ends a successful sync. `activityId`: the last local history entry that the sync has included. `seenUntil`: later
   * changes of the remote issue are not yet synced.
   */
  async finish(
    lease: SyncLease,
    result: SyncResult,
    { activityId, seenUntil }: { activityId: number; seenUntil: Date },
  ): Promise<void> {
    // A sync without effect has no event, unless it ends a failure.
    const ended = hasEffect(result) ? Prisma.sql`true` : Prisma.sql`before.last_error IS NOT NULL`;
    await this.#end(
      lease,
      Prisma.sql`last_synced_at = clock_timestamp(), last_result = ${json(result)}, last_error = NULL, last_messages = '[]',
        moved_to = NULL, failures = 0, synced_activity_id = ${activityId}::bigint, remote_seen_until = ${seenUntil},
        next_attempt_at = CASE WHEN changed_during_sync THEN clock_timestamp() END,
        duplicated_since = CASE WHEN changed_during_sync THEN duplicated_since END`,
      Prisma.sql`SELECT t.issue_id, t.remote_id FROM t JOIN before USING (issue_id) WHERE ${ended}`,
    );
    await this.#recordAnswer();
  }

  /**
   * Ends a failed sync. Returns the time of the retry; null if there is none. A permanent failure is retried at once if
   * the remote issue changed during the sync, and by `addStuck` if the local one has changed since the sync began.
   */
  async fail(job: SyncJob, { code, messages = [], movedTo, retry }: FailedSync): Promise<Date | null> {
    const failures = Prisma.sql`failures + ${retry?.isPostponed === true ? 0 : 1}`;
    const next =
      retry === null
        ? Prisma.sql`CASE WHEN changed_during_sync THEN clock_timestamp() END`
        : Prisma.sql`CASE WHEN ${failures} < ${attemptsMax}::int THEN ${fromNow(retryDelay(retry))} END`;
    return this.#end(
      job,
      Prisma.sql`last_error = ${code}, last_messages = ${json(messages)}, moved_to = ${movedTo}, failures = ${failures}, next_attempt_at = ${next},
        failed_at = clock_timestamp(), failed_configuration = ${this.#tracker.fingerprint},
        failed_activity_id = ${job.activityId}::bigint`,
    );
  }

  /** Ends a lease without a result. `isDue`: whether the issue becomes due at once. */
  async release(lease: SyncLease, { isDue }: { isDue: boolean }): Promise<void> {
    await this.#end(
      lease,
      Prisma.sql`next_attempt_at = ${isDue ? Prisma.sql`clock_timestamp()` : Prisma.sql`next_attempt_at`}`,
    );
  }

  async #recordAnswer(): Promise<void> {
    const { provider, project } = this.#tracker;
    await this.#database.$executeRaw`
      INSERT INTO tracker_states (provider, project, answered_at, recovered_at)
      SELECT ${provider}, ${project}, clock_timestamp(), clock_timestamp()
       WHERE NOT EXISTS (SELECT FROM tracker_states WHERE provider = ${provider} AND project = ${project}
                            AND answered_at > clock_timestamp() - interval '30 seconds')
      ON CONFLICT (provider, project) DO UPDATE SET ${recordAnswer}`;
  }

  // `synced`: the rows of `t` and `before` that get an event.
  async #end(lease: SyncLease, set: Prisma.Sql, synced?: Prisma.Sql): Promise<Date | null> {
    const recorded =
      synced === undefined
        ? Prisma.empty
        : Prisma.sql`, recorded AS (${recordSynced(synced, this.#tracker.provider)})`;
    const end = Prisma.sql`
      WITH before AS (${selectLeased(lease, this.#tracker)}), t AS (
        UPDATE tracker_links SET ${set}, claim_id = NULL, claim_until = NULL, changed_during_sync = false
         WHERE ${isLeased(lease, this.#tracker)}
        RETURNING issue_id, remote_id, next_attempt_at
      ) ${recorded}
      SELECT next_attempt_at AS "nextAttemptAt" FROM t`;
    return this.#leases.end(lease.leaseId, async (isRepeated) => {
      const [ended] = await this.#database.$queryRaw<{ nextAttemptAt: Date | null }[]>(end);
      if (ended !== undefined) return ended.nextAttemptAt;
      // The answer of the first run was lost.
      if (isRepeated) return new Date();
      throw new LeaseLostError();
    });
  }
}

function hasEffect({ created, pushed, pulled, comments_pushed, comments_pulled }: SyncResult): boolean {
  return created || pushed.length + pulled.length + comments_pushed + comments_pulled > 0;
}
