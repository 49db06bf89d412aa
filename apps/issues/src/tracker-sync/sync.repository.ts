import type { SyncConflict } from '@tessera/contracts';
import { v7 as uuidv7 } from 'uuid';
import type { Database, Transaction } from '../database.ts';
import { Prisma } from '../generated/prisma/client.ts';
import type { TrackerIdentity } from '../issues/issue-document.repository.ts';
import type { RemoteIssue } from '../trackers/external-tracker.ts';
import { TrackerError } from '../trackers/tracker-error.ts';
import type { Agreement } from './sync-merge.ts';
import type { SyncClaim, SyncOutcome, TrackerLink } from './tracker-link.ts';

const linkColumns = Prisma.raw(`t.issue_id AS "issueId", t.claim_id AS "claimId", t.remote_id AS "remoteId",
  coalesce(t.base, '{}') AS base, t.create_attempted_at AS "createAttemptedAt",
  extract(epoch FROM clock_timestamp() - t.create_attempted_at)::float8 AS "createAttemptAge",
  t.failures, t.conflicts, t.requested_by AS "requestedBy"`);

/** Attempts in a row that fail before nobody but a person tries again. */
export const attemptsMax = 12;

/** How the issues here and in the one configured tracker belong together. */
export class SyncRepository {
  readonly #database: Database;
  readonly #tracker: TrackerIdentity;

  constructor(database: Database, tracker: TrackerIdentity) {
    this.#database = database;
    this.#tracker = tracker;
  }

  /** Claims an issue for a sync, in one statement; undefined while somebody else has it. */
  async claim(issueId: string, requestedBy: string, seconds: number): Promise<TrackerLink | undefined> {
    const { provider, project } = this.#tracker;
    const [link] = await this.#database.$queryRaw<TrackerLink[]>`
      INSERT INTO tracker_links AS t (issue_id, provider, project, requested_by, claim_id, claim_until)
      VALUES (${issueId}::uuid, ${provider}, ${project}, ${requestedBy}::uuid, ${uuidv7()}::uuid, ${inSeconds(seconds)})
      ON CONFLICT (issue_id, provider, project) DO UPDATE
        SET claim_id = excluded.claim_id, claim_until = excluded.claim_until, requested_by = excluded.requested_by,
            failures = CASE WHEN t.failures >= ${attemptsMax}::int THEN 0 ELSE t.failures END
        WHERE t.claim_until IS NULL OR t.claim_until < clock_timestamp()
      RETURNING ${linkColumns}`;
    return link;
  }

  /** Claims the one that has waited longest of those that are due, or whose sync died; undefined where there is none. */
  async claimDue(seconds: number): Promise<TrackerLink | undefined> {
    const [link] = await this.#database.$queryRaw<TrackerLink[]>`
      UPDATE tracker_links t SET claim_id = ${uuidv7()}::uuid, claim_until = ${inSeconds(seconds)}
       WHERE (t.issue_id, t.provider, t.project) IN (
         SELECT issue_id, provider, project FROM tracker_links
          WHERE provider = ${this.#tracker.provider} AND project = ${this.#tracker.project}
            AND (claim_until < clock_timestamp() OR (claim_until IS NULL AND next_attempt_at <= clock_timestamp()))
          ORDER BY next_attempt_at NULLS FIRST LIMIT 1 FOR UPDATE SKIP LOCKED)
      RETURNING ${linkColumns}`;
    return link;
  }

  /** Writes down, before it happens, that the tracker is asked to create, and with what. */
  async beginCreate(claim: SyncClaim, draft: Agreement): Promise<void> {
    await this.#hold(
      claim,
      Prisma.sql`create_attempted_at = clock_timestamp(), base = ${JSON.stringify(draft)}::jsonb`,
    );
  }

  /** The attempt took no effect: nothing is uncertain any more. */
  async forgetCreate(claim: SyncClaim): Promise<void> {
    await this.#hold(claim, Prisma.sql`create_attempted_at = NULL`);
  }

  /**
   * The issue is in the tracker; from now on it has a link to it. Another issue's claim to the same counterpart is stale:
   * the tracker has given the number of one that it deleted again.
   */
  async recordRemote(
    { issueId, claimId }: SyncClaim,
    remote: RemoteIssue,
    base: Agreement,
    requestedBy: string,
  ): Promise<void> {
    const { provider, project } = this.#tracker;
    const rows = await this.#database.$queryRaw<{ id: string }[]>`
      WITH stale AS (
        UPDATE tracker_links SET remote_id = NULL, base = NULL, synced_activity_id = NULL, last_error = 'remote_gone',
          next_attempt_at = NULL
         WHERE provider = ${provider} AND project = ${project} AND remote_id = ${remote.id}
           AND issue_id <> ${issueId}::uuid
        RETURNING issue_id
      ), t AS (
        UPDATE tracker_links SET remote_id = ${remote.id}, remote_key = ${remote.key}, remote_url = ${remote.url},
          remote_state = ${remote.state}, base = ${JSON.stringify(base)}::jsonb, create_attempted_at = NULL
         WHERE issue_id = ${issueId}::uuid AND provider = ${provider} AND project = ${project}
           AND claim_id = ${claimId}::uuid AND (SELECT count(*) FROM stale) >= 0
        RETURNING issue_id
      ), others AS (
        UPDATE issues SET rev = rev + 1 FROM stale WHERE id = stale.issue_id
      ), link AS (
        INSERT INTO issue_links (id, issue_id, type, ref, title, url, created_by)
        SELECT ${uuidv7()}::uuid, issue_id, 'external_issue', ${`${provider}:${remote.id}`},
               left(${remote.title}, 255), ${remote.url}, ${requestedBy}::uuid FROM t
        ON CONFLICT (issue_id, type, ref) DO NOTHING
      )
      UPDATE issues SET rev = rev + 1 FROM t WHERE id = t.issue_id RETURNING id`;
    if (rows.length === 0) throw new ClaimLostError();
  }

  /** The last line of an issue's history that was written here and not by the tracker. */
  async lastLocalActivity(issueId: string, within: Transaction): Promise<number> {
    const [row] = await within.$queryRaw<{ id: number }[]>`SELECT ${localActivity(issueId)}::float8 AS id`;
    return row?.id ?? 0;
  }

  /** What a merge has come to, within the transaction that writes it into the issue. */
  async recordMerge(
    claim: SyncClaim,
    { base, conflicts, remote }: { base: Agreement; conflicts: SyncConflict[]; remote: RemoteIssue },
    within: Transaction = this.#database,
  ): Promise<void> {
    await this.#hold(
      claim,
      Prisma.sql`base = ${JSON.stringify(base)}::jsonb, conflicts = ${JSON.stringify(conflicts)}::jsonb,
        remote_url = ${remote.url}, remote_state = ${remote.state}`,
      within,
    );
  }

  /** When the fields of an issue were last changed here, by people. */
  async lastChanges(issueId: string, within: Transaction = this.#database): Promise<Map<string, Date>> {
    const rows = await within.$queryRaw<{ field: string; at: Date }[]>`
      SELECT field, max(at) AS at FROM activity
       WHERE issue_id = ${issueId}::uuid AND origin = 'local' AND kind IN ('updated', 'status_changed')
       GROUP BY field`;
    return new Map(rows.map(({ field, at }) => [field, at]));
  }

  /** Ends a sync that succeeded. An issue that was changed after the merge counts as changed. */
  async finish(claim: SyncClaim, { result, activityId }: SyncOutcome): Promise<void> {
    await this.#end(
      claim,
      Prisma.sql`last_synced_at = clock_timestamp(), last_result = ${JSON.stringify(result)}::jsonb,
        last_error = NULL, moved_to = NULL, failures = 0, next_attempt_at = NULL,
        synced_activity_id = ${activityId}::bigint`,
    );
  }

  /** Ends a sync that failed; answers when it is tried again, if it is. */
  async fail(
    claim: SyncClaim,
    {
      code,
      movedTo,
      retryInSeconds,
    }: { code: string; movedTo: string | null; retryInSeconds: number | null },
  ): Promise<Date | null> {
    const next =
      retryInSeconds === null
        ? Prisma.sql`NULL`
        : Prisma.sql`CASE WHEN failures + 1 < ${attemptsMax}::int THEN ${inSeconds(retryInSeconds)} END`;
    return this.#end(
      claim,
      Prisma.sql`last_error = ${code}, moved_to = ${movedTo}, failures = failures + 1, next_attempt_at = ${next},
        failed_activity_id = ${localActivity(claim.issueId)}`,
    );
  }

  /** Gives a claim back; `isDue`: the issue is to be synced as soon as anybody can. */
  async release(claim: SyncClaim, { isDue }: { isDue: boolean }): Promise<void> {
    await this.#end(
      claim,
      Prisma.sql`next_attempt_at = ${isDue ? Prisma.sql`clock_timestamp()` : Prisma.sql`next_attempt_at`}`,
    );
  }

  async #hold({ issueId, claimId }: SyncClaim, set: Prisma.Sql, within: Transaction = this.#database) {
    const held = await within.$executeRaw`
      UPDATE tracker_links SET ${set}
       WHERE issue_id = ${issueId}::uuid AND provider = ${this.#tracker.provider}
         AND project = ${this.#tracker.project} AND claim_id = ${claimId}::uuid`;
    if (held === 0) throw new ClaimLostError();
  }

  // The issue's representation shows how its sync stands, so that its ETag moves. Its row comes first, as everywhere.
  async #end({ issueId, claimId }: SyncClaim, set: Prisma.Sql): Promise<Date | null> {
    const [ended] = await this.#database.$queryRaw<{ nextAttemptAt: Date | null }[]>`
      WITH i AS (UPDATE issues SET rev = rev + 1 WHERE id = ${issueId}::uuid RETURNING rev)
      UPDATE tracker_links SET ${set}, claim_id = NULL, claim_until = NULL FROM i
       WHERE issue_id = ${issueId}::uuid AND provider = ${this.#tracker.provider}
         AND project = ${this.#tracker.project} AND claim_id = ${claimId}::uuid
      RETURNING next_attempt_at AS "nextAttemptAt"`;
    if (ended === undefined) throw new ClaimLostError();
    return ended.nextAttemptAt;
  }
}

function localActivity(issueId: string): Prisma.Sql {
  return Prisma.sql`(SELECT max(id) FROM activity WHERE issue_id = ${issueId}::uuid AND origin = 'local')`;
}

function inSeconds(seconds: number): Prisma.Sql {
  return Prisma.sql`clock_timestamp() + make_interval(secs => ${seconds}::float8)`;
}

/** The sync took longer than its claim: another process may have begun to sync the issue. */
export class ClaimLostError extends TrackerError {
  override readonly name = 'ClaimLostError';

  constructor() {
    super('tracker_timeout', 'the claim has expired');
  }
}
