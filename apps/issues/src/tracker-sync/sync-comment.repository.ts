import { v7 as uuidv7 } from 'uuid';
import type { Database } from '../database.ts';
import type { TrackerIdentity } from '../issues/issue-document.repository.ts';

/** A comment from here that the tracker does not have yet, as far as is known. */
export interface UnsentComment {
  id: string;
  body: string;
  username: string | null;
  /** How long ago sending it was last tried without an outcome that anybody saw, in seconds. */
  attemptAge: number | null;
}

/** A comment of the tracker that is not here yet. */
export interface NewRemoteComment {
  remoteId: string;
  body: string;
  author: string | null;
  createdAt: Date;
}

/** Which comments are on both sides. */
export class SyncCommentRepository {
  readonly #database: Database;
  readonly #tracker: TrackerIdentity;

  constructor(database: Database, tracker: TrackerIdentity) {
    this.#database = database;
    this.#tracker = tracker;
  }

  /** The comments of an issue that are in the tracker, by their ids there. */
  async listKnown(issueId: string): Promise<Map<string, string>> {
    const { provider, project } = this.#tracker;
    const rows = await this.#database.$queryRaw<{ remoteId: string; commentId: string }[]>`
      SELECT remote_id AS "remoteId", comment_id AS "commentId" FROM tracker_comments
       WHERE issue_id = ${issueId}::uuid AND provider = ${provider} AND project = ${project}
         AND remote_id IS NOT NULL`;
    return new Map(rows.map(({ remoteId, commentId }) => [remoteId, commentId]));
  }

  /** Comments from here that the tracker lacks, oldest first. */
  async listUnsent(issueId: string): Promise<UnsentComment[]> {
    const { provider, project } = this.#tracker;
    return this.#database.$queryRaw<UnsentComment[]>`
      SELECT c.id, c.body, author.username,
             extract(epoch FROM clock_timestamp() - t.attempted_at)::float8 AS "attemptAge"
        FROM comments c
        LEFT JOIN identity_mirror author ON author.id = c.author_id
        LEFT JOIN tracker_comments t
               ON t.comment_id = c.id AND t.provider = ${provider} AND t.project = ${project}
       WHERE c.issue_id = ${issueId}::uuid AND c.origin = 'local' AND t.remote_id IS NULL
       ORDER BY c.created_at, c.id`;
  }

  /** Writes down, before it happens, that a comment is sent. */
  async beginSend(issueId: string, commentId: string): Promise<void> {
    await this.#database.$executeRaw`
      INSERT INTO tracker_comments (comment_id, issue_id, provider, project, attempted_at)
      VALUES (${commentId}::uuid, ${issueId}::uuid, ${this.#tracker.provider}, ${this.#tracker.project},
              clock_timestamp())
      ON CONFLICT (comment_id, provider, project) DO UPDATE SET attempted_at = excluded.attempted_at`;
  }

  /** The tracker has the comment; null: it does not, and nothing is uncertain any more. */
  async recordSent(commentId: string, remoteId: string | null): Promise<void> {
    await this.#database.$executeRaw`
      UPDATE tracker_comments SET remote_id = ${remoteId}, attempted_at = NULL
       WHERE comment_id = ${commentId}::uuid AND provider = ${this.#tracker.provider}
         AND project = ${this.#tracker.project}`;
  }

  /**
   * Adds comments of the tracker to an issue, in their order, each one once, with the history, in one statement. Returns
   * how many were new.
   */
  async addRemote(
    issueId: string,
    comments: readonly NewRemoteComment[],
    requestId: string,
  ): Promise<number> {
    const rows = JSON.stringify(comments.map((comment) => ({ id: uuidv7(), ...comment })));
    const { provider, project } = this.#tracker;
    const added = await this.#database.$queryRaw<{ id: string }[]>`
      WITH fresh AS (
        SELECT r.* FROM jsonb_to_recordset(${rows}::jsonb)
            AS r (id uuid, "remoteId" text, body text, author text, "createdAt" timestamptz)
         WHERE NOT EXISTS (SELECT FROM tracker_comments t
                            WHERE t.provider = ${provider} AND t.project = ${project} AND t.remote_id = r."remoteId")
      ), i AS (
        UPDATE issues SET comments_count = comments_count + (SELECT count(*)::int FROM fresh), rev = rev + 1,
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
}
