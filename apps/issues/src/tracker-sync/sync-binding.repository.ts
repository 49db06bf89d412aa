import type { SyncConflict } from '@tessera/contracts';
import type { Database } from '../database.ts';
import type { TrackerIdentity } from '../issues/issue-document.repository.ts';
import type { Agreement } from './sync-merge.ts';
import type { SyncClaim } from './tracker-link.ts';

/** What staff set right about how an issue belongs to the tracker. */
export class SyncBindingRepository {
  readonly #database: Database;
  readonly #tracker: TrackerIdentity;

  constructor(database: Database, tracker: TrackerIdentity) {
    this.#database = database;
    this.#tracker = tracker;
  }

  /**
   * Under a claim: the issue has no counterpart any more, and what was sent to the former one counts as not sent. What
   * came from there stays.
   */
  async detach({ issueId, claimId }: SyncClaim): Promise<void> {
    const { provider, project } = this.#tracker;
    await this.#database.$executeRaw`
      WITH t AS (
        UPDATE tracker_links SET remote_id = NULL, remote_key = NULL, remote_url = NULL, remote_state = NULL,
          base = NULL, create_attempted_at = NULL, synced_activity_id = NULL, last_synced_at = NULL, last_result = NULL,
          last_error = NULL, moved_to = NULL, failures = 0, next_attempt_at = NULL, conflicts = '[]'
         WHERE issue_id = ${issueId}::uuid AND provider = ${provider} AND project = ${project}
           AND claim_id = ${claimId}::uuid
        RETURNING issue_id
      ), links AS (
        DELETE FROM issue_links l USING t WHERE l.issue_id = t.issue_id AND l.type = 'external_issue'
           AND starts_with(l.ref, ${`${provider}:`})
      )
      DELETE FROM tracker_comments c USING t, comments
       WHERE c.issue_id = t.issue_id AND c.provider = ${provider} AND c.project = ${project}
         AND comments.id = c.comment_id AND comments.origin = 'local'`;
  }

  /** The id of the issue here that a remote issue belongs to; undefined where none does. */
  async findOwner(remoteId: string): Promise<string | undefined> {
    const [row] = await this.#database.$queryRaw<{ issueId: string }[]>`
      SELECT issue_id AS "issueId" FROM tracker_links
       WHERE provider = ${this.#tracker.provider} AND project = ${this.#tracker.project}
         AND remote_id = ${remoteId}`;
    return row?.issueId;
  }

  /** Under a claim: the conflicts that remain, and the base that the next merge starts from. */
  async settleConflict(
    { issueId, claimId }: SyncClaim,
    conflicts: readonly SyncConflict[],
    base: Agreement,
  ): Promise<void> {
    await this.#database.$executeRaw`
      UPDATE tracker_links SET base = ${JSON.stringify(base)}::jsonb, conflicts = ${JSON.stringify(conflicts)}::jsonb,
             synced_activity_id = NULL
       WHERE issue_id = ${issueId}::uuid AND provider = ${this.#tracker.provider}
         AND project = ${this.#tracker.project} AND claim_id = ${claimId}::uuid`;
  }
}
