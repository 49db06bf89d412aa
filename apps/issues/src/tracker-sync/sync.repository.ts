import type { SyncConflict, SyncedField, SyncResult } from '@tessera/contracts';
import { violatedUniqueIndex } from '@tessera/service-kit';
import { v7 as uuidv7 } from 'uuid';
import type { Leases } from '../background/leases.ts';
import type { Database, Transaction } from '../database.ts';
import { Prisma } from '../generated/prisma/client.ts';
import { isOfDefaultProject } from '../issue-store/issue.sql.ts';
import { deleteTrackerLinks, insertTrackerLink, recordSynced } from '../issue-store/tracked.sql.ts';
import type { RemoteIssue } from '../trackers/external-tracker.ts';
import type { MergeBase } from './field-merge.ts';
import {
  type ConfiguredTracker,
  fromNow,
  jobColumns,
  json,
  LeaseLostError,
  leaseEnd,
  leaseMs,
  type Retry,
  recordAnswer,
  releaseUnknown,
  retryDelay,
  type SyncJob,
  type SyncLease,
} from './sync-lease.sql.ts';
import type { UnverifiedPush } from './sync-merge.ts';

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

export interface RecordedMerge {
  base: MergeBase;
  conflicts: SyncConflict[];
  remote: RemoteIssue;
  /** The push that follows the merge; null if there is none. */
  push: UnverifiedPush | null;
}

/** The changes that people made to an issue, according to its history. */
export interface LocalHistory {
  /** The id of the last entry; 0 if there is none. */
  lastId: number;
  /** When each field was last changed. */
  changedAt: Map<SyncedField, Date>;
}

/** Consecutive failures after which the background stops retrying. */
const attemptsMax = 12;

/** The state of each issue's sync with the configured tracker. Methods that take a `SyncLease` throw `LeaseLostError`. */
export class SyncRepository {
  readonly #database: Database;
  readonly #tracker: ConfiguredTracker;
  readonly #isTracker: Prisma.Sql;
  readonly #leases: Leases;

  constructor(database: Database, tracker: ConfiguredTracker, leases: Leases) {
    this.#database = database;
    this.#leases = leases;
    this.#tracker = tracker;
    this.#isTracker = Prisma.sql`provider = ${tracker.provider} AND project = ${tracker.project}`;
  }

  /** Runs several methods in one transaction. */
  async transaction<Result>(run: (transaction: Transaction) => Promise<Result>): Promise<Result> {
    return this.#database.$transaction(run);
  }

  /** Leases an issue for a sync with this time limit; undefined while another lease is valid. */
  async lease(issueId: string, requestedBy: string, timeoutMs: number): Promise<SyncJob | undefined> {
    return this.#leases.take(leaseMs(timeoutMs), {
      lease: (leaseId) => this.#lease(leaseId, issueId, requestedBy, timeoutMs),
      release: (leaseId) => this.#database.$executeRaw(releaseUnknown(leaseId)),
    });
  }

  async #lease(
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

  /** Records a request to create the remote issue, before it is sent. */
  async beginCreate(lease: SyncLease, draft: MergeBase): Promise<void> {
    await this.#updateUnderLease(
      lease,
      Prisma.sql`create_attempted_at = clock_timestamp(), create_refused_at = NULL, base = ${json(draft)},
        uncertain_since = coalesce(create_attempted_at, uncertain_since)`,
    );
  }

  /**
   * Records that the request to create the remote issue had no effect. `isCertain`: whether no request was sent, or no
   * proxy can have sent the response to an applied request.
   */
  async cancelCreate(lease: SyncLease, { isCertain }: { isCertain: boolean }): Promise<void> {
    const refusedAt = isCertain ? Prisma.sql`NULL` : Prisma.sql`create_attempted_at`;
    await this.#updateUnderLease(
      lease,
      Prisma.sql`create_refused_at = ${refusedAt}, create_attempted_at = NULL`,
    );
  }

  /**
   * Records the remote issue and adds a link to it. A Redmine on SQLite reuses the ids of deleted issues, so another
   * local issue with this remote id and another time of creation has lost its remote issue. If the remote issue belongs to
   * another local issue, `isTaken` is true of the error.
   */
  async recordRemote(
    { issueId, leaseId }: SyncLease,
    remote: RemoteIssue,
    base: MergeBase,
    requestedBy: string,
    within: Transaction = this.#database,
  ): Promise<void> {
    const { provider } = this.#tracker;
    const link = {
      id: uuidv7(),
      ref: `${provider}:${remote.id}`,
      title: remote.title,
      url: remote.url,
      createdBy: requestedBy,
    };
    const bound = Prisma.sql`
      SELECT issue_id, NULL AS remote_id FROM stale
      UNION ALL SELECT t.issue_id, t.remote_id FROM t JOIN before USING (issue_id)
       WHERE t.remote_id IS DISTINCT FROM before.remote_id`;
    const rows = await within.$queryRaw<unknown[]>`
      WITH before AS (${this.#selectLeased({ issueId, leaseId })}), stale AS (
        UPDATE tracker_links SET remote_id = NULL, base = NULL, synced_activity_id = NULL,
          last_error = 'remote_gone', next_attempt_at = NULL, failed_at = clock_timestamp()
         WHERE ${this.#isTracker} AND remote_id = ${remote.id} AND issue_id <> ${issueId}::uuid
           AND remote_since IS DISTINCT FROM ${remote.createdAt}::timestamptz
        RETURNING issue_id
      ), t AS (
        UPDATE tracker_links SET remote_id = ${remote.id}, remote_key = ${remote.key}, remote_url = ${remote.url},
          remote_state = ${remote.state}, remote_since = ${remote.createdAt}, remote_author = NULL, remote_created_at = NULL,
          base = ${json(base)}, create_attempted_at = NULL, create_refused_at = NULL, unverified_push = NULL
         WHERE issue_id = ${issueId}::uuid AND ${this.#isTracker} AND claim_id = ${leaseId}::uuid
           AND (SELECT count(*) FROM stale) >= 0
        RETURNING issue_id, remote_id
      ), link AS (${insertTrackerLink(Prisma.raw('SELECT * FROM t'), link)}),
        recorded AS (${recordSynced(bound, provider)})
      SELECT issue_id FROM t`;
    if (rows.length === 0) throw new LeaseLostError();
  }

  /**
   * Reads the local changes. The transaction must hold the issue's lock, under which all history entries are written.
   */
  async localHistory(issueId: string, within: Transaction): Promise<LocalHistory> {
    const rows = await within.$queryRaw<{ field: SyncedField; at: Date; id: number }[]>`
      SELECT field, max(at) AS at, max(id)::float8 AS id FROM activity
       WHERE issue_id = ${issueId}::uuid AND origin = 'local' GROUP BY field`;
    return {
      lastId: Math.max(0, ...rows.map(({ id }) => id)),
      changedAt: new Map(rows.map(({ field, at }) => [field, at])),
    };
  }

  /** Records a merge and the push that follows, within the transaction that changes the issue. */
  async recordMerge(
    lease: SyncLease,
    { base, conflicts, remote, push }: RecordedMerge,
    within: Transaction,
  ): Promise<void> {
    await this.#updateUnderLease(
      lease,
      Prisma.sql`base = ${json(base)}, conflicts = ${json(conflicts)},
        unverified_push = ${push === null ? null : json(push)},
        remote_url = ${remote.url}, remote_state = ${remote.state}, remote_since = ${remote.createdAt}`,
      within,
    );
  }

  /**
   * Records the decision of a conflict by staff, within the transaction that changes the issue: the remaining conflicts,
   * and the base with which the next merge applies the decision.
   */
  async recordDecision(
    lease: SyncLease,
    conflicts: readonly SyncConflict[],
    base: MergeBase,
    within: Transaction,
  ): Promise<void> {
    await this.#updateUnderLease(
      lease,
      Prisma.sql`base = ${json(base)}, conflicts = ${json(conflicts)}, synced_activity_id = NULL`,
      within,
    );
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

  /** The id of the local issue with this remote issue. */
  async findOwner(remoteId: string): Promise<string | undefined> {
    const [row] = await this.#database.$queryRaw<{ issueId: string }[]>`
      SELECT issue_id AS "issueId" FROM tracker_links WHERE ${this.#isTracker} AND remote_id = ${remoteId}`;
    return row?.issueId;
  }

  /** Removes the remote issue from an issue. Local comments count as not sent; comments from the tracker stay. */
  async detach({ issueId, leaseId }: SyncLease, within: Transaction = this.#database): Promise<void> {
    const { provider } = this.#tracker;
    const unbound = Prisma.sql`
      SELECT issue_id, NULL AS remote_id FROM t JOIN before USING (issue_id) WHERE before.remote_id IS NOT NULL`;
    await within.$executeRaw`
      WITH before AS (${this.#selectLeased({ issueId, leaseId })}), t AS (
        UPDATE tracker_links SET remote_id = NULL, remote_key = NULL, remote_url = NULL, remote_state = NULL,
          remote_since = NULL, remote_author = NULL, remote_created_at = NULL, base = NULL, unverified_push = NULL, create_attempted_at = NULL, create_refused_at = NULL, uncertain_since = NULL, duplicated_since = NULL, synced_activity_id = NULL, last_synced_at = NULL,
          remote_seen_until = NULL, last_result = NULL, last_error = NULL, last_messages = '[]', moved_to = NULL, failures = 0, next_attempt_at = NULL,
          conflicts = '[]'
         WHERE issue_id = ${issueId}::uuid AND ${this.#isTracker} AND claim_id = ${leaseId}::uuid
        RETURNING issue_id
      ), links AS (${deleteTrackerLinks(Prisma.raw('SELECT * FROM t'), provider)}),
        recorded AS (${recordSynced(unbound, provider)})
      DELETE FROM tracker_comments c USING t, comments
       WHERE c.issue_id = t.issue_id AND ${this.#isTracker} AND comments.id = c.comment_id
         AND comments.origin = 'local'`;
  }

  async #recordAnswer(): Promise<void> {
    const { provider, project } = this.#tracker;
    await this.#database.$executeRaw`
      INSERT INTO tracker_states (provider, project, answered_at, recovered_at)
      SELECT ${provider}, ${project}, clock_timestamp(), clock_timestamp()
       WHERE NOT EXISTS (SELECT FROM tracker_states WHERE ${this.#isTracker}
                            AND answered_at > clock_timestamp() - interval '30 seconds')
      ON CONFLICT (provider, project) DO UPDATE SET ${recordAnswer}`;
  }

  async #updateUnderLease(
    { issueId, leaseId }: SyncLease,
    set: Prisma.Sql,
    within: Transaction = this.#database,
  ): Promise<void> {
    const updated = await within.$executeRaw`
      UPDATE tracker_links SET ${set}
       WHERE issue_id = ${issueId}::uuid AND ${this.#isTracker} AND claim_id = ${leaseId}::uuid`;
    if (updated === 0) throw new LeaseLostError();
  }

  // The row of a leased issue before the statement changes it.
  #selectLeased({ issueId, leaseId }: SyncLease): Prisma.Sql {
    return Prisma.sql`
      SELECT issue_id, remote_id, last_error FROM tracker_links
       WHERE issue_id = ${issueId}::uuid AND ${this.#isTracker} AND claim_id = ${leaseId}::uuid`;
  }

  // `synced`: the rows of `t` and `before` that get an event.
  async #end(lease: SyncLease, set: Prisma.Sql, synced?: Prisma.Sql): Promise<Date | null> {
    const { issueId, leaseId } = lease;
    const recorded =
      synced === undefined
        ? Prisma.empty
        : Prisma.sql`, recorded AS (${recordSynced(synced, this.#tracker.provider)})`;
    const end = Prisma.sql`
      WITH before AS (${this.#selectLeased(lease)}), t AS (
        UPDATE tracker_links SET ${set}, claim_id = NULL, claim_until = NULL, changed_during_sync = false
         WHERE issue_id = ${issueId}::uuid AND ${this.#isTracker} AND claim_id = ${leaseId}::uuid
        RETURNING issue_id, remote_id, next_attempt_at
      ) ${recorded}
      SELECT next_attempt_at AS "nextAttemptAt" FROM t`;
    return this.#leases.end(leaseId, async (isRepeated) => {
      const [ended] = await this.#database.$queryRaw<{ nextAttemptAt: Date | null }[]>(end);
      if (ended !== undefined) return ended.nextAttemptAt;
      // The answer of the first run was lost.
      if (isRepeated) return new Date();
      throw new LeaseLostError();
    });
  }
}

/** Whether a write failed because its remote issue belongs to another local issue. */
export function isTaken(error: unknown): boolean {
  return violatedUniqueIndex(error) === 'tracker_links_remote_key';
}

function hasEffect({ created, pushed, pulled, comments_pushed, comments_pulled }: SyncResult): boolean {
  return created || pushed.length + pulled.length + comments_pushed + comments_pulled > 0;
}
