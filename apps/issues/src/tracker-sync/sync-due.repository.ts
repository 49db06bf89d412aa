import type { Database } from '../database.ts';
import type { TrackerIdentity } from '../issues/issue-document.repository.ts';

/** What is to be synced without anybody asking. */
export class SyncDueRepository {
  readonly #database: Database;
  readonly #tracker: TrackerIdentity;

  constructor(database: Database, tracker: TrackerIdentity) {
    this.#database = database;
    this.#tracker = tracker;
  }

  /**
   * Makes issues due that have changed since they were last synced: `linked` ones alone, or `all`. Looks at what has
   * changed since a moment, a day at most at first; answers the moment to look from next time, which leaves time for
   * transactions and syncs that were under way. What the tracker refused is tried again once it is another text.
   */
  async scheduleChanges(
    since: Date | undefined,
    { which, graceSeconds }: { which: 'linked' | 'all'; graceSeconds: number },
  ): Promise<Date> {
    const { provider, project } = this.#tracker;
    const [row] = await this.#database.$queryRaw<{ next: Date }[]>`
      WITH changed AS (
        SELECT id, reporter_id,
               (SELECT max(a.id) FROM activity a WHERE a.issue_id = issues.id AND a.origin = 'local') AS activity_id
          FROM issues
         WHERE updated_at > coalesce(${since ?? null}::timestamptz, clock_timestamp() - interval '1 day')
      ), renewed AS (
        UPDATE tracker_links t SET next_attempt_at = clock_timestamp() FROM changed
         WHERE t.issue_id = changed.id AND t.provider = ${provider} AND t.project = ${project}
           AND t.remote_id IS NOT NULL AND t.claim_id IS NULL AND t.next_attempt_at IS NULL
           AND changed.activity_id > coalesce(t.synced_activity_id, 0)
           AND (t.last_error IS NULL OR (t.last_error = 'tracker_rejected' AND changed.activity_id > t.failed_activity_id))
      ), begun AS (
        INSERT INTO tracker_links (issue_id, provider, project, requested_by, next_attempt_at)
        SELECT id, ${provider}, ${project}, reporter_id, clock_timestamp() FROM changed WHERE ${which === 'all'}
        ON CONFLICT (issue_id, provider, project) DO NOTHING
      )
      SELECT clock_timestamp() - make_interval(secs => ${graceSeconds}::float8) AS next`;
    return row?.next ?? new Date(0);
  }

  /**
   * Takes a webhook's delivery, once, and makes the issue due that it is about, where it has a counterpart here. False
   * where it was taken before.
   */
  async takeDelivery(deliveryId: string, remoteId: string | undefined): Promise<boolean> {
    const { provider, project } = this.#tracker;
    const rows = await this.#database.$queryRaw<{ id: string }[]>`
      WITH taken AS (
        INSERT INTO tracker_deliveries (provider, delivery_id) VALUES (${provider}, ${deliveryId})
        ON CONFLICT DO NOTHING RETURNING delivery_id AS id
      ), made_due AS (
        UPDATE tracker_links SET next_attempt_at = clock_timestamp() FROM taken
         WHERE provider = ${provider} AND project = ${project} AND remote_id = ${remoteId ?? null}
      )
      SELECT id FROM taken`;
    return rows.length === 1;
  }
}
