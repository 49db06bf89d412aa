import type { RetriedSyncs, RetrySyncs } from '@tessera/contracts';
import type { Leases } from '../background/leases.ts';
import type { Database } from '../database.ts';
import { Prisma } from '../generated/prisma/client.ts';
import { isOfDefaultProject, isSynced } from '../issue-store/issue.sql.ts';
import type { ChangedIssue, RemoteStamp } from '../trackers/external-tracker.ts';
import type { TrackerLimit } from '../trackers/tracker-config.ts';
import { issueErrorCodes, outageErrorCodes } from '../trackers/tracker-error.ts';
import {
  type ConfiguredTracker,
  jobColumns,
  leaseEnd,
  leaseMs,
  releaseUnknown,
  retryDelayMaxSeconds,
  type SyncJob,
} from './sync-lease.repository.ts';

/** Time between two retries by which an operator's correction is found if all syncs fail. */
const trialSeconds = 300;
/** Attempts until a missing remote issue counts as deleted or moved. A proxy can respond 404 during a deployment. */
const goneAttempts = 3;
/** The retries after an outage are spread over this time. */
const recoverySeconds = 60;

/** Makes the rows `t` due, also during a running sync, which may have read the remote issue before the change. */
const dueNow = Prisma.raw(
  'next_attempt_at = clock_timestamp(), changed_during_sync = t.claim_id IS NOT NULL',
);

/**
 * State that all replicas share: the queue of issues to sync in the background (`next_attempt_at` has passed), and the
 * tracker's rate limit.
 */
export class SyncQueueRepository implements TrackerLimit {
  readonly #database: Database;
  readonly #tracker: ConfiguredTracker;
  readonly #leases: Leases;

  constructor(database: Database, tracker: ConfiguredTracker, leases: Leases) {
    this.#database = database;
    this.#leases = leases;
    this.#tracker = tracker;
  }

  /**
   * Leases the issue that has been due longest, or whose lease has expired because its process died. Imported issues
   * come last: there can be many, and their comments are not urgent.
   */
  async leaseDue(timeoutMs: number): Promise<SyncJob | undefined> {
    return this.#leases.take(leaseMs(timeoutMs), {
      lease: (leaseId) => this.#leaseDue(leaseId, timeoutMs),
      release: (leaseId) => this.#database.$executeRaw(releaseUnknown(leaseId)),
    });
  }

  async #leaseDue(leaseId: string, timeoutMs: number): Promise<SyncJob | undefined> {
    const { provider, project } = this.#tracker;
    const [job] = await this.#database.$queryRaw<SyncJob[]>`
      UPDATE tracker_links t SET claim_id = ${leaseId}::uuid, claim_until = ${leaseEnd(timeoutMs)}
       WHERE (t.issue_id, t.provider, t.project) IN (
         SELECT issue_id, provider, project FROM tracker_links
          WHERE provider = ${provider} AND project = ${project}
            AND (claim_until < clock_timestamp() OR (claim_until IS NULL AND next_attempt_at <= clock_timestamp()))
            AND EXISTS (SELECT FROM issues i WHERE i.id = issue_id AND ${isOfDefaultProject})
            AND NOT EXISTS (SELECT FROM tracker_states s WHERE s.provider = ${provider} AND s.project = ${project}
                               AND s.limited_until > clock_timestamp())
          ORDER BY remote_id IS NOT NULL AND last_synced_at IS NULL, next_attempt_at NULLS FIRST LIMIT 1 FOR UPDATE SKIP LOCKED)
      RETURNING ${jobColumns}`;
    return job;
  }

  /**
   * Makes issues due that were changed since a time (by default within a day) and not synced since: those with a remote
   * issue, or all. `addStuck` handles failed syncs. Returns the time to continue from, which overlaps by `overlapMs`
   * for transactions and syncs that are still running.
   */
  async addChanged(
    since: Date | undefined,
    { which, overlapMs }: { which: 'linked' | 'all'; overlapMs: number },
  ): Promise<Date> {
    const { provider, project } = this.#tracker;
    const [row] = await this.#database.$queryRaw<{ next: Date }[]>`
      WITH changed AS (
        SELECT id, reporter_id,
               (SELECT max(a.id) FROM activity a WHERE a.issue_id = i.id AND a.origin = 'local') AS activity_id
          FROM issues i
         WHERE ${isOfDefaultProject} AND updated_at > coalesce(${since ?? null}::timestamptz, clock_timestamp() - interval '1 day')
      ), changed_again AS (
        UPDATE tracker_links t SET next_attempt_at = clock_timestamp() FROM changed
         WHERE t.issue_id = changed.id AND t.provider = ${provider} AND t.project = ${project}
           AND t.remote_id IS NOT NULL AND t.claim_id IS NULL AND t.next_attempt_at IS NULL
           AND changed.activity_id > coalesce(t.synced_activity_id, 0) AND t.last_error IS NULL
      ), never_synced AS (
        INSERT INTO tracker_links (issue_id, provider, project, requested_by, next_attempt_at)
        SELECT id, ${provider}, ${project}, reporter_id, clock_timestamp() FROM changed WHERE ${which === 'all'}
        ON CONFLICT (issue_id, provider, project) DO NOTHING
      )
      SELECT clock_timestamp() - make_interval(secs => ${overlapMs / 1000}::float8) AS next`;
    return row?.next ?? new Date(0);
  }

  /**
   * Makes issues due whose sync failed without a scheduled retry, if the cause may be gone: the configuration or the
   * issue was changed, another issue was synced since, or a day has passed. As long as all syncs fail, one issue at a
   * time tries again, so that the others follow as soon as an operator has removed the cause. Skips an issue whose remote
   * issue was deleted and its id reused: its sync would create a new remote issue, so staff decide.
   */
  async addStuck(): Promise<void> {
    const { provider, project, fingerprint } = this.#tracker;
    const isOfAll = Prisma.sql`last_error <> ALL (${issueErrorCodes}::text[])`;
    await this.#database.$executeRaw`
      WITH trial AS (
        SELECT issue_id FROM tracker_links
         WHERE provider = ${provider} AND project = ${project} AND attention = 'failed' AND claim_id IS NULL AND ${isOfAll}
           AND NOT EXISTS (
                 SELECT FROM tracker_links
                  WHERE provider = ${provider} AND project = ${project} AND attention IS NOT NULL AND ${isOfAll}
                    AND (attention = 'stale' OR claim_id IS NOT NULL
                      OR failed_at > clock_timestamp() - make_interval(secs => ${trialSeconds}::float8)))
         ORDER BY failed_at LIMIT 1
      )
      UPDATE tracker_links t SET next_attempt_at = clock_timestamp()
       WHERE provider = ${provider} AND project = ${project}
         AND last_error IS NOT NULL AND next_attempt_at IS NULL AND claim_id IS NULL
         AND NOT (last_error = 'remote_gone' AND remote_id IS NULL)
         AND (failed_at IS NULL OR failed_at < clock_timestamp() - interval '1 day'
           OR failed_configuration IS DISTINCT FROM ${fingerprint}
           OR failed_activity_id < (
                SELECT max(id) FROM activity a WHERE a.issue_id = t.issue_id AND a.origin = 'local')
           OR t.issue_id IN (SELECT issue_id FROM trial)
           OR (failed_at < clock_timestamp() - make_interval(secs => least(${retryDelayMaxSeconds}::float8, 60 * 2 ^ least(failures, 20)))
             AND ((last_error IN ('remote_gone', 'remote_moved') AND failures < ${goneAttempts}::int)
               OR (${isOfAll} AND failed_at < (
                     SELECT max(last_synced_at) FROM tracker_links WHERE provider = ${provider} AND project = ${project})))))`;
  }

  /**
   * Makes issues due whose first sync failed with another tracker or project, which was corrected since. Reads all rows, so
   * it is called once per process: a new configuration starts a new process.
   */
  async addOfOtherProjects(): Promise<void> {
    const { provider, project } = this.#tracker;
    await this.#database.$executeRaw`
      INSERT INTO tracker_links (issue_id, provider, project, requested_by, next_attempt_at)
      SELECT issue_id, ${provider}, ${project}, requested_by, clock_timestamp() FROM tracker_links
       WHERE (provider, project) <> (${provider}, ${project}) AND remote_id IS NULL AND create_attempted_at IS NULL
         AND last_synced_at IS NULL AND last_error IS NOT NULL
      ON CONFLICT (issue_id, provider, project) DO NOTHING`;
  }

  /**
   * Makes the import and the syncs that failed during an outage due as soon as the tracker responds again, and resets
   * their failure counts. A sync that fails after the outage waits as usual.
   */
  async addRecovered(): Promise<void> {
    const { provider, project } = this.#tracker;
    await this.#database.$executeRaw`
      WITH recovered AS (
        SELECT recovered_at AS at, clock_timestamp() + make_interval(secs => ${recoverySeconds}) AS latest FROM tracker_states
         WHERE provider = ${provider} AND project = ${project} AND recovered_at > clock_timestamp() - interval '10 minutes'
      ), import AS (
        UPDATE tracker_imports i SET next_attempt_at = clock_timestamp(), failures = 0 FROM recovered
         WHERE provider = ${provider} AND project = ${project} AND finished_at IS NULL AND claim_id IS NULL
           AND last_error = ANY (${[...outageErrorCodes]}::text[]) AND next_attempt_at > latest
      )
      UPDATE tracker_links t SET failures = 0,
        next_attempt_at = clock_timestamp() + random() * make_interval(secs => ${recoverySeconds})
        FROM recovered
       WHERE provider = ${provider} AND project = ${project} AND claim_id IS NULL
         AND last_error = ANY (${[...outageErrorCodes]}::text[]) AND failed_at < recovered.at
         AND coalesce(next_attempt_at, 'infinity') > latest`;
  }

  /**
   * Makes at most `limit` issues due that match a filter and are not due yet, the earliest failures first. Skips the
   * same issues as `addStuck`. Returns the number, and whether more exist.
   */
  async addMatching({ sync, last_error: error, limit }: RetrySyncs): Promise<RetriedSyncs> {
    const [row] = await this.#database.$queryRaw<{ matching: number; made_due: number }[]>`
      WITH matching AS (
        SELECT issue_id, provider, project FROM tracker_links
         WHERE ${isSynced(sync, this.#tracker)} AND claim_id IS NULL
           AND (next_attempt_at IS NULL OR next_attempt_at > clock_timestamp())
           AND (${error ?? null}::text IS NULL OR last_error = ${error ?? null})
           AND NOT (coalesce(last_error, '') = 'remote_gone' AND remote_id IS NULL)
         ORDER BY failed_at NULLS LAST, issue_id LIMIT ${limit + 1} FOR UPDATE SKIP LOCKED
      ), made_due AS (
        UPDATE tracker_links t SET next_attempt_at = clock_timestamp(), failures = 0
         WHERE (t.issue_id, t.provider, t.project) IN (SELECT * FROM matching LIMIT ${limit})
        RETURNING t.issue_id
      )
      SELECT (SELECT count(*)::int FROM matching) AS matching, (SELECT count(*)::int FROM made_due) AS made_due`;
    const { matching = 0, made_due = 0 } = row ?? {};
    return { made_due, has_more: matching > made_due };
  }

  /**
   * Makes issues due that may have a second remote issue (see `SyncJob.uncertainSince`), four times in the hour after the
   * request.
   */
  async addUncertain(): Promise<void> {
    const { provider, project } = this.#tracker;
    await this.#database.$executeRaw`
      UPDATE tracker_links SET next_attempt_at = clock_timestamp()
       WHERE provider = ${provider} AND project = ${project} AND uncertain_since IS NOT NULL
         AND next_attempt_at IS NULL AND claim_id IS NULL AND last_synced_at < uncertain_since + interval '1 hour'
         AND last_synced_at < clock_timestamp() - interval '15 minutes'`;
  }

  async remainingSeconds(): Promise<number> {
    const { provider, project } = this.#tracker;
    const [row] = await this.#database.$queryRaw<{ seconds: number }[]>`
      SELECT extract(epoch FROM limited_until - clock_timestamp())::float8 AS seconds FROM tracker_states
       WHERE provider = ${provider} AND project = ${project} AND limited_until > clock_timestamp()`;
    return row?.seconds ?? 0;
  }

  async extend(seconds: number): Promise<void> {
    const { provider, project } = this.#tracker;
    await this.#database.$executeRaw`
      INSERT INTO tracker_states AS t (provider, project, limited_until)
      VALUES (${provider}, ${project}, clock_timestamp() + make_interval(secs => ${seconds}::float8))
      ON CONFLICT (provider, project) DO UPDATE SET limited_until = greatest(t.limited_until, excluded.limited_until)`;
  }

  /** Counts the issues with a failed sync and no scheduled retry, by error code. */
  async countStuck(): Promise<{ error: string; count: number }[]> {
    const { provider, project } = this.#tracker;
    return this.#database.$queryRaw<{ error: string; count: number }[]>`
      SELECT last_error AS error, count(*)::int AS count FROM tracker_links
       WHERE provider = ${provider} AND project = ${project} AND last_error IS NOT NULL AND next_attempt_at IS NULL
       GROUP BY last_error`;
  }

  /**
   * Makes the issues due whose remote issues were changed after their last sync; failed syncs once per change. Includes
   * issues that are being synced, because that sync may have read the remote issue before the change.
   */
  async addChangedRemotes(changed: readonly RemoteStamp[]): Promise<void> {
    const { provider, project } = this.#tracker;
    await this.#database.$executeRaw`
      WITH changed AS (
        SELECT t.issue_id, t.provider, t.project, c."updatedAt" FROM tracker_links t
          JOIN jsonb_to_recordset(${JSON.stringify(changed)}::jsonb) AS c (id text, "updatedAt" timestamptz)
            ON t.provider = ${provider} AND t.project = ${project} AND t.remote_id = c.id
         WHERE t.remote_seen_until IS DISTINCT FROM c."updatedAt"
           AND (t.next_attempt_at IS NULL OR t.claim_id IS NOT NULL)
           AND (t.last_error IS NULL OR t.remote_reported_at IS DISTINCT FROM c."updatedAt")
         ORDER BY t.issue_id FOR UPDATE OF t
      )
      UPDATE tracker_links t SET ${dueNow}, remote_reported_at = changed."updatedAt" FROM changed
       WHERE (t.issue_id, t.provider, t.project) = (changed.issue_id, changed.provider, changed.project)`;
  }

  /**
   * Makes the issues due whose marker is in a remote issue without a local one: a request that a proxy repeats creates
   * two, and a person can copy a marker. Their next sync records a conflict. If the only request to create a remote issue
   * was refused, the next sync adopts the remote issue.
   */
  async addDuplicated(changed: readonly ChangedIssue[]): Promise<void> {
    const marked = changed.filter(({ markedId }) => markedId !== null);
    if (marked.length === 0) return;
    const { provider, project } = this.#tracker;
    await this.#database.$executeRaw`
      WITH duplicated AS (
        SELECT t.issue_id, t.provider, t.project, min(c."createdAt") AS since FROM tracker_links t
          JOIN jsonb_to_recordset(${JSON.stringify(marked)}::jsonb) AS c (id text, "markedId" uuid, "createdAt" timestamptz)
            ON t.provider = ${provider} AND t.project = ${project} AND t.issue_id = c."markedId"
         WHERE (t.remote_id <> c.id OR (t.remote_id IS NULL AND t.create_refused_at IS NOT NULL AND t.last_error IS NOT NULL))
           AND NOT EXISTS (SELECT FROM tracker_links other
                            WHERE other.provider = ${provider} AND other.project = ${project} AND other.remote_id = c.id)
         GROUP BY t.issue_id, t.provider, t.project ORDER BY t.issue_id
      )
      UPDATE tracker_links t SET duplicated_since = duplicated.since, changed_during_sync = t.claim_id IS NOT NULL,
        next_attempt_at = CASE WHEN t.claim_id IS NULL THEN coalesce(t.next_attempt_at, clock_timestamp()) ELSE clock_timestamp() END
        FROM duplicated
       WHERE (t.issue_id, t.provider, t.project) = (duplicated.issue_id, duplicated.provider, duplicated.project)`;
  }

  /** Records a webhook delivery and makes its issue due. Returns false if the delivery was recorded before. */
  async addDelivery(deliveryId: string, remoteId: string | undefined): Promise<boolean> {
    const { provider, project } = this.#tracker;
    const rows = await this.#database.$queryRaw<{ id: string }[]>`
      WITH delivery AS (
        INSERT INTO tracker_deliveries (provider, delivery_id) VALUES (${provider}, ${deliveryId})
        ON CONFLICT DO NOTHING RETURNING delivery_id AS id
      ), made_due AS (
        UPDATE tracker_links t SET ${dueNow} FROM delivery
         WHERE provider = ${provider} AND project = ${project} AND remote_id = ${remoteId ?? null}
      )
      SELECT id FROM delivery`;
    return rows.length === 1;
  }
}
