import { v7 as uuidv7 } from 'uuid';
import type { Database, Transaction } from '../database.ts';
import { Prisma } from '../generated/prisma/client.ts';
import type { ChangedBy, TrackerIdentity } from '../issue-core/issue.ts';
import { joinPerson } from '../issue-store/issue.sql.ts';
import type { IssueWriter } from '../issue-store/write.ts';
import type { NewRemoteComment, UnsentComment } from './comment-merge.ts';
import { json } from './sync-lease.repository.ts';

type LocalComment = Omit<UnsentComment, 'attemptAge'>;

/** The comments that an issue and its remote issue have. */
export class SyncCommentRepository {
  readonly #database: Database;
  readonly #writer: IssueWriter;
  readonly #tracker: TrackerIdentity;
  readonly #isTracker: Prisma.Sql;

  constructor(database: Database, { tracker, writer }: { tracker: TrackerIdentity; writer: IssueWriter }) {
    this.#database = database;
    this.#writer = writer;
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
        ${joinPerson('author', 'c.author_id')}
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
        ${joinPerson('author', 'c.author_id')}
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
      SELECT c.body, author.username FROM c ${joinPerson('author', 'c.author_id')}`;
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

  /** Adds remote comments to an issue in order, each once. Returns the number of new comments. */
  async addRemote(issueId: string, comments: readonly NewRemoteComment[], by: ChangedBy): Promise<number> {
    return this.#database.$transaction(async (transaction) => {
      const decide = async () => {
        const fresh = await this.#withoutKnown(comments, transaction);
        const added = fresh.map(({ id, body }) => ({
          kind: 'added' as const,
          id,
          draft: { body, mentionIds: [] },
        }));
        return { change: { comments: added }, result: fresh };
      };
      const fresh = (await this.#writer.changeLocked(issueId, by, decide, transaction)) ?? [];
      if (fresh.length > 0) await this.#map(issueId, fresh, transaction);
      return fresh.length;
    });
  }

  async #withoutKnown(comments: readonly NewRemoteComment[], transaction: Transaction) {
    const ids = comments.map(({ remoteId }) => remoteId);
    const known = await transaction.$queryRaw<{ id: string }[]>`
      SELECT remote_id AS id FROM tracker_comments WHERE ${this.#isTracker} AND remote_id = ANY (${ids}::text[])`;
    const knownIds = new Set(known.map(({ id }) => id));
    return comments
      .filter(({ remoteId }) => !knownIds.has(remoteId))
      .map((comment) => ({ id: uuidv7(), ...comment }));
  }

  async #map(
    issueId: string,
    comments: readonly ({ id: string } & NewRemoteComment)[],
    transaction: Transaction,
  ) {
    const { provider, project } = this.#tracker;
    await transaction.$executeRaw`
      INSERT INTO tracker_comments
        (comment_id, issue_id, provider, project, remote_id, external_author, external_created_at)
      SELECT id, ${issueId}::uuid, ${provider}, ${project}, "remoteId", author, "createdAt"
        FROM jsonb_to_recordset(${json(comments)})
          AS r (id uuid, "remoteId" text, author text, "createdAt" timestamptz)`;
  }
}
