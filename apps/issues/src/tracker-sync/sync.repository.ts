import type { SyncConflict, SyncedField, SyncResult } from '@tessera/contracts';
import { violatedUniqueIndex } from '@tessera/service-kit';
import { v7 as uuidv7 } from 'uuid';
import type { Database, Transaction } from '../database.ts';
import { Prisma } from '../generated/prisma/client.ts';
import type { TrackerIdentity } from '../issue-core/issue.ts';
import type { RemoteIssue } from '../trackers/external-tracker.ts';
import { TrackerError } from '../trackers/tracker-error.ts';
import type { MergeBase, NewRemoteComment, UnsentComment, UnverifiedPush } from './sync-merge.ts';

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
  requestedBy: string;
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

/** The schedule of the next attempt after a failure. */
export interface Retry {
  firstDelaySeconds: number;
  minSeconds: number;
  /** Whether the attempt does not count as a failure. It is then repeated after `minSeconds`. */
  isPostponed: boolean;
}

export interface RecordedMerge {
  base: MergeBase;
  conflicts: SyncConflict[];
  remote: RemoteIssue;
  /** The push that follows the merge; null if there is none. */
  push: UnverifiedPush | null;
}

type LocalComment = Omit<UnsentComment, 'attemptAge'>;

/** The changes that people made to an issue, according to its history. */
export interface LocalHistory {
  /** The id of the last entry; 0 if there is none. */
  lastId: number;
  /** When each field was last changed. */
  changedAt: Map<SyncedField, Date>;
}

/** The sync took longer than its lease: another process may be syncing the issue. */
export class LeaseLostError extends TrackerError {
  override readonly name = 'LeaseLostError';

  constructor() {
    super('tracker_timeout', 'the lease has expired');
  }
}

/** Consecutive failures after which the background stops retrying. */
const attemptsMax = 12;
export const retryDelayMaxSeconds = 3_600;
/** The minimum duration of an outage: the next response after this time without one ends an outage. */
const outageMinSeconds = 120;
// A lease outlasts the time limit of its sync, so that it expires only if the process dies.
const leaseMarginMs = 2_000;

/** The columns of a `SyncJob` in the row `t`. */
export const jobColumns =
  Prisma.raw(`t.issue_id AS "issueId", t.claim_id AS "leaseId", t.remote_id AS "remoteId", t.remote_since AS "remoteSince",
  coalesce(t.base, '{}') AS base, t.conflicts, t.unverified_push AS "unverifiedPush", t.create_attempted_at AS "createAttemptedAt", t.create_refused_at AS "createRefusedAt",
  extract(epoch FROM clock_timestamp() - t.create_attempted_at)::float8 AS "createAttemptAge",
  least(t.duplicated_since, CASE WHEN t.uncertain_since > clock_timestamp() - interval '1 day' THEN t.uncertain_since END) AS "uncertainSince",
  t.remote_seen_until AS "remoteSeenUntil", extract(epoch FROM clock_timestamp() - t.last_synced_at)::float8 AS "lastSyncAge", t.requested_by AS "requestedBy"`);

/** Returns the expiry of a lease for a sync with this time limit. */
export function leaseEnd(timeoutMs: number): Prisma.Sql {
  return fromNow(Prisma.sql`${(timeoutMs + leaseMarginMs) / 1000}::float8`);
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

/** The state of each issue's sync with the configured tracker. Methods that take a `SyncLease` throw `LeaseLostError`. */
export class SyncRepository {
  readonly #database: Database;
  readonly #tracker: ConfiguredTracker;
  readonly #isTracker: Prisma.Sql;

  constructor(database: Database, tracker: ConfiguredTracker) {
    this.#database = database;
    this.#tracker = tracker;
    this.#isTracker = Prisma.sql`provider = ${tracker.provider} AND project = ${tracker.project}`;
  }

  /** Runs several methods in one transaction. */
  async transaction<Result>(run: (transaction: Transaction) => Promise<Result>): Promise<Result> {
    return this.#database.$transaction(run);
  }

  /** Leases an issue for a sync with this time limit; undefined while another lease is valid. */
  async lease(issueId: string, requestedBy: string, timeoutMs: number): Promise<SyncJob | undefined> {
    const { provider, project } = this.#tracker;
    const [job] = await this.#database.$queryRaw<SyncJob[]>`
      INSERT INTO tracker_links AS t (issue_id, provider, project, requested_by, claim_id, claim_until)
      VALUES (${issueId}::uuid, ${provider}, ${project}, ${requestedBy}::uuid, ${uuidv7()}::uuid, ${leaseEnd(timeoutMs)})
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
    const rows = await within.$queryRaw<unknown[]>`
      WITH stale AS (
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
        RETURNING issue_id
      ), link AS (
        INSERT INTO issue_links (id, issue_id, type, ref, title, url, created_by)
        SELECT ${uuidv7()}::uuid, issue_id, 'external_issue', ${`${provider}:${remote.id}`},
               left(${remote.title}, 255), ${remote.url}, ${requestedBy}::uuid FROM t
        ON CONFLICT (issue_id, type, ref) DO NOTHING
      )
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
   * Returns the remote ids of the comments that both sides have, and the local comments that are not known to be in the
   * tracker.
   */
  async listComments(issueId: string): Promise<{ knownIds: Set<string>; unsent: UnsentComment[] }> {
    const known = await this.#database.$queryRaw<{ id: string }[]>`
      SELECT remote_id AS id FROM tracker_comments
       WHERE issue_id = ${issueId}::uuid AND ${this.#isTracker} AND remote_id IS NOT NULL`;
    const unsent = await this.#database.$queryRaw<UnsentComment[]>`
      SELECT c.id, c.body, c.sent_body AS "sentBody", author.username,
             extract(epoch FROM clock_timestamp() - t.attempted_at)::float8 AS "attemptAge"
        FROM comments c
        LEFT JOIN identity_mirror author ON author.id = c.author_id
        LEFT JOIN tracker_comments t ON t.comment_id = c.id AND ${this.#isTracker}
       WHERE c.issue_id = ${issueId}::uuid AND c.origin = 'local' AND c.deleted_at IS NULL AND t.remote_id IS NULL
       ORDER BY c.created_at, c.id`;
    return { knownIds: new Set(known.map(({ id }) => id)), unsent };
  }

  /** Returns local comments of an issue by id, also deleted ones: the tracker may have them. */
  async findComments(issueId: string, ids: readonly string[]): Promise<Map<string, LocalComment>> {
    if (ids.length === 0) return new Map();
    const rows = await this.#database.$queryRaw<LocalComment[]>`
      SELECT c.id, c.body, c.sent_body AS "sentBody", author.username FROM comments c
        LEFT JOIN identity_mirror author ON author.id = c.author_id
       WHERE c.issue_id = ${issueId}::uuid AND c.origin = 'local' AND c.id = ANY (${[...ids]}::uuid[])`;
    return new Map(rows.map((comment) => [comment.id, comment]));
  }

  /** Records that a comment is about to be sent, and returns its current text; undefined if it was deleted. */
  async beginSend(commentId: string): Promise<Pick<UnsentComment, 'body' | 'username'> | undefined> {
    const { provider, project } = this.#tracker;
    const [comment] = await this.#database.$queryRaw<Pick<UnsentComment, 'body' | 'username'>[]>`
      WITH c AS (
        SELECT id, issue_id, author_id, body FROM comments
         WHERE id = ${commentId}::uuid AND deleted_at IS NULL FOR SHARE
      ), begun AS (
        INSERT INTO tracker_comments (comment_id, issue_id, provider, project, attempted_at)
        SELECT id, issue_id, ${provider}, ${project}, clock_timestamp() FROM c
        ON CONFLICT (comment_id, provider, project) DO UPDATE SET attempted_at = excluded.attempted_at
      )
      SELECT c.body, author.username FROM c LEFT JOIN identity_mirror author ON author.id = c.author_id`;
    return comment;
  }

  /** Records the remote id of a sent comment; null: the request had no effect. */
  async recordSent(issueId: string, commentId: string, remoteId: string | null): Promise<void> {
    const { provider, project } = this.#tracker;
    await this.#database.$executeRaw`
      INSERT INTO tracker_comments (comment_id, issue_id, provider, project, remote_id)
      VALUES (${commentId}::uuid, ${issueId}::uuid, ${provider}, ${project}, ${remoteId})
      ON CONFLICT (comment_id, provider, project) DO UPDATE SET remote_id = excluded.remote_id, attempted_at = NULL`;
  }

  /** Adds remote comments to an issue in order, each once, with history entries. Returns the number of new comments. */
  async addRemoteComments(
    issueId: string,
    comments: readonly NewRemoteComment[],
    requestId: string,
  ): Promise<number> {
    const rows = comments.map((comment) => ({ id: uuidv7(), ...comment }));
    const { provider, project } = this.#tracker;
    const added = await this.#database.$queryRaw<{ id: string }[]>`
      WITH fresh AS (
        SELECT r.* FROM jsonb_to_recordset(${json(rows)})
            AS r (id uuid, "remoteId" text, body text, author text, "createdAt" timestamptz)
         WHERE NOT EXISTS (SELECT FROM tracker_comments t WHERE ${this.#isTracker} AND t.remote_id = r."remoteId")
      ), i AS (
        UPDATE issues SET comments_count = comments_count + (SELECT count(*)::int FROM fresh),
          updated_at = clock_timestamp()
         WHERE id = ${issueId}::uuid AND EXISTS (SELECT FROM fresh)
        RETURNING id, updated_at
      ), c AS (
        INSERT INTO comments (id, issue_id, body, origin, created_at, updated_at)
        SELECT fresh.id, i.id, fresh.body, ${provider}, i.updated_at, i.updated_at FROM fresh, i
        RETURNING id, issue_id, created_at
      ), mapped AS (
        INSERT INTO tracker_comments
          (comment_id, issue_id, provider, project, remote_id, external_author, external_created_at)
        SELECT id, ${issueId}::uuid, ${provider}, ${project}, "remoteId", author, "createdAt" FROM fresh
      ), logged AS (
        INSERT INTO activity (issue_id, origin, kind, new_value, at, request_id)
        SELECT issue_id, ${provider}, 'comment_added', jsonb_build_object('comment_id', id), created_at, ${requestId}
          FROM c ORDER BY id
      )
      SELECT id FROM c`;
    return added.length;
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
    await this.#end(
      lease,
      Prisma.sql`last_synced_at = clock_timestamp(), last_result = ${json(result)}, last_error = NULL, last_messages = '[]',
        moved_to = NULL, failures = 0, synced_activity_id = ${activityId}::bigint, remote_seen_until = ${seenUntil},
        next_attempt_at = CASE WHEN changed_during_sync THEN clock_timestamp() END,
        duplicated_since = CASE WHEN changed_during_sync THEN duplicated_since END`,
    );
    await this.#recordAnswer();
  }

  /**
   * Ends a failed sync. Returns the time of the retry; null if there is none. A permanent failure is retried at once if
   * the remote issue changed during the sync.
   */
  async fail(lease: SyncLease, { code, messages = [], movedTo, retry }: FailedSync): Promise<Date | null> {
    const failures = Prisma.sql`failures + ${retry?.isPostponed === true ? 0 : 1}`;
    const next =
      retry === null
        ? Prisma.sql`CASE WHEN changed_during_sync THEN clock_timestamp() END`
        : Prisma.sql`CASE WHEN ${failures} < ${attemptsMax}::int THEN ${fromNow(retryDelay(retry))} END`;
    return this.#end(
      lease,
      Prisma.sql`last_error = ${code}, last_messages = ${json(messages)}, moved_to = ${movedTo}, failures = ${failures}, next_attempt_at = ${next},
        failed_at = clock_timestamp(), failed_configuration = ${this.#tracker.fingerprint},
        failed_activity_id = (
          SELECT max(id) FROM activity WHERE issue_id = ${lease.issueId}::uuid AND origin = 'local')`,
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
    await within.$executeRaw`
      WITH t AS (
        UPDATE tracker_links SET remote_id = NULL, remote_key = NULL, remote_url = NULL, remote_state = NULL,
          remote_since = NULL, remote_author = NULL, remote_created_at = NULL, base = NULL, unverified_push = NULL, create_attempted_at = NULL, create_refused_at = NULL, uncertain_since = NULL, duplicated_since = NULL, synced_activity_id = NULL, last_synced_at = NULL,
          remote_seen_until = NULL, last_result = NULL, last_error = NULL, last_messages = '[]', moved_to = NULL, failures = 0, next_attempt_at = NULL,
          conflicts = '[]'
         WHERE issue_id = ${issueId}::uuid AND ${this.#isTracker} AND claim_id = ${leaseId}::uuid
        RETURNING issue_id
      ), links AS (
        DELETE FROM issue_links l USING t WHERE l.issue_id = t.issue_id AND l.type = 'external_issue'
           AND starts_with(l.ref, ${`${provider}:`})
      )
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

  async #end({ issueId, leaseId }: SyncLease, set: Prisma.Sql): Promise<Date | null> {
    const [ended] = await this.#database.$queryRaw<{ nextAttemptAt: Date | null }[]>`
      UPDATE tracker_links SET ${set}, claim_id = NULL, claim_until = NULL, changed_during_sync = false
       WHERE issue_id = ${issueId}::uuid AND ${this.#isTracker} AND claim_id = ${leaseId}::uuid
      RETURNING next_attempt_at AS "nextAttemptAt"`;
    if (ended === undefined) throw new LeaseLostError();
    return ended.nextAttemptAt;
  }
}

/** Whether a write failed because its remote issue belongs to another local issue. */
export function isTaken(error: unknown): boolean {
  return violatedUniqueIndex(error) === 'tracker_links_remote_key';
}

function fromNow(seconds: Prisma.Sql): Prisma.Sql {
  return Prisma.sql`clock_timestamp() + make_interval(secs => ${seconds})`;
}

function json(value: unknown): Prisma.Sql {
  return Prisma.sql`${JSON.stringify(value)}::jsonb`;
}
