import type { SyncConflict, SyncedField } from '@tessera/contracts';
import { violatedUniqueIndex } from '@tessera/service-kit';
import { v7 as uuidv7 } from 'uuid';
import type { Database, Transaction } from '../database.ts';
import { Prisma } from '../generated/prisma/client.ts';
import type { TrackerIdentity } from '../issue-core/issue.ts';
import { deleteTrackerLinks, insertTrackerLink, recordSynced } from '../issue-store/tracked.sql.ts';
import type { RemoteIssue } from '../trackers/external-tracker.ts';
import type { MergeBase } from './field-merge.ts';
import { isLeased, json, LeaseLostError, type SyncLease, selectLeased } from './sync-lease.repository.ts';
import type { UnverifiedPush } from './sync-merge.ts';

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

/**
 * What syncs record of each issue and its remote issue in the configured tracker. Methods that take a `SyncLease` throw
 * `LeaseLostError`.
 */
export class SyncRepository {
  readonly #database: Database;
  readonly #tracker: TrackerIdentity;
  readonly #isTracker: Prisma.Sql;

  constructor(database: Database, tracker: TrackerIdentity) {
    this.#database = database;
    this.#tracker = tracker;
    this.#isTracker = Prisma.sql`provider = ${tracker.provider} AND project = ${tracker.project}`;
  }

  /** Runs several methods in one transaction. */
  async transaction<Result>(run: (transaction: Transaction) => Promise<Result>): Promise<Result> {
    return this.#database.$transaction(run);
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
    lease: SyncLease,
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
      WITH before AS (${selectLeased(lease, this.#tracker)}), stale AS (
        UPDATE tracker_links SET remote_id = NULL, base = NULL, synced_activity_id = NULL,
          last_error = 'remote_gone', next_attempt_at = NULL, failed_at = clock_timestamp()
         WHERE ${this.#isTracker} AND remote_id = ${remote.id} AND issue_id <> ${lease.issueId}::uuid
           AND remote_since IS DISTINCT FROM ${remote.createdAt}::timestamptz
        RETURNING issue_id
      ), t AS (
        UPDATE tracker_links SET remote_id = ${remote.id}, remote_key = ${remote.key}, remote_url = ${remote.url},
          remote_state = ${remote.state}, remote_since = ${remote.createdAt}, remote_author = NULL, remote_created_at = NULL,
          base = ${json(base)}, create_attempted_at = NULL, create_refused_at = NULL, unverified_push = NULL
         WHERE ${isLeased(lease, this.#tracker)} AND (SELECT count(*) FROM stale) >= 0
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

  /** The id of the local issue with this remote issue. */
  async findOwner(remoteId: string): Promise<string | undefined> {
    const [row] = await this.#database.$queryRaw<{ issueId: string }[]>`
      SELECT issue_id AS "issueId" FROM tracker_links WHERE ${this.#isTracker} AND remote_id = ${remoteId}`;
    return row?.issueId;
  }

  /** Removes the remote issue from an issue. Local comments count as not sent; comments from the tracker stay. */
  async detach(lease: SyncLease, within: Transaction = this.#database): Promise<void> {
    const { provider } = this.#tracker;
    const unbound = Prisma.sql`
      SELECT issue_id, NULL AS remote_id FROM t JOIN before USING (issue_id) WHERE before.remote_id IS NOT NULL`;
    await within.$executeRaw`
      WITH before AS (${selectLeased(lease, this.#tracker)}), t AS (
        UPDATE tracker_links SET remote_id = NULL, remote_key = NULL, remote_url = NULL, remote_state = NULL,
          remote_since = NULL, remote_author = NULL, remote_created_at = NULL, base = NULL, unverified_push = NULL, create_attempted_at = NULL, create_refused_at = NULL, uncertain_since = NULL, duplicated_since = NULL, synced_activity_id = NULL, last_synced_at = NULL,
          remote_seen_until = NULL, last_result = NULL, last_error = NULL, last_messages = '[]', moved_to = NULL, failures = 0, next_attempt_at = NULL,
          conflicts = '[]'
         WHERE ${isLeased(lease, this.#tracker)}
        RETURNING issue_id
      ), links AS (${deleteTrackerLinks(Prisma.raw('SELECT * FROM t'), provider)}),
        recorded AS (${recordSynced(unbound, provider)})
      DELETE FROM tracker_comments c USING t, comments
       WHERE c.issue_id = t.issue_id AND ${this.#isTracker} AND comments.id = c.comment_id
         AND comments.origin = 'local'`;
  }

  async #updateUnderLease(
    lease: SyncLease,
    set: Prisma.Sql,
    within: Transaction = this.#database,
  ): Promise<void> {
    const updated = await within.$executeRaw`
      UPDATE tracker_links SET ${set} WHERE ${isLeased(lease, this.#tracker)}`;
    if (updated === 0) throw new LeaseLostError();
  }
}

/** Whether a write failed because its remote issue belongs to another local issue. */
export function isTaken(error: unknown): boolean {
  return violatedUniqueIndex(error) === 'tracker_links_remote_key';
}
