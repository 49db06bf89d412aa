import { v7 as uuidv7 } from 'uuid';
import type { Database } from '../database.ts';
import { Prisma } from '../generated/prisma/client.ts';
import type { TrackerIdentity } from '../issue-core/issue.ts';
import type { NewRemoteComment, UnsentComment } from './comment-merge.ts';
import { json } from './sync-lease.sql.ts';

type LocalComment = Omit<UnsentComment, 'attemptAge'>;

/** The comments that an issue and its remote issue have. */
export class SyncCommentRepository {
  readonly #database: Database;
  readonly #tracker: TrackerIdentity;
  readonly #isTracker: Prisma.Sql;

  constructor(database: Database, tracker: TrackerIdentity) {
    this.#database = database;
    this.#tracker = tracker;
    this.#isTracker = Prisma.sql`provider = ${tracker.provider} AND project = ${tracker.project}`;
  }

  /**
   * Returns the remote ids of the comments that both sides have, and the local comments that are not known to be in the
   * tracker.
   */
  async list(issueId: string): Promise<{ knownIds: Set<string>; unsent: UnsentComment[] }> {
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
  async find(issueId: string, ids: readonly string[]): Promise<Map<string, LocalComment>> {
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
  async addRemote(
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
}
