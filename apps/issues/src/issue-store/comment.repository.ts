import type { TimelineOrder } from '@tessera/contracts';
import { pageBytesMax } from '@tessera/service-kit';
import { v7 as uuidv7 } from 'uuid';
import type { Database, Transaction } from '../database.ts';
import { Prisma } from '../generated/prisma/client.ts';
import type { Comment, CommentChange, CommentDraft, StoredComment } from '../issue-core/comment.ts';
import type { ChangedBy } from '../issue-core/issue.ts';
import type { IssueReference } from '../issue-core/issue-reference.ts';
import { insertActivity } from './activity.sql.ts';
import { commentColumns, commentRelations } from './comment.sql.ts';
import { isReferredTo } from './issue.sql.ts';
import { participants, startWatching, startWatchingAs } from './watching.sql.ts';

/** The keyset position of a comment: the last comment of a page. */
export interface CommentPlace {
  createdAt: string;
  id: string;
}

/** A page of comments, after the last one of the previous page. */
export interface CommentPage {
  limit: number;
  after: CommentPlace | undefined;
  order: TimelineOrder;
}

/** Comments in the database. Except in `change`, deleted comments are absent. */
export class CommentRepository {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  /**
   * Adds a comment, increments the comment count and writes the history, in one statement; returns undefined if the
   * issue does not exist. The statement locks the issue's row first, so concurrent comments on one issue are stored in
   * the order of their timestamps.
   */
  async create(
    reference: IssueReference,
    { body, mentionIds }: CommentDraft,
    by: ChangedBy,
    within: Transaction = this.#database,
  ): Promise<Comment | undefined> {
    const rows = await within.$queryRaw<Comment[]>`
      WITH i AS (
        UPDATE issues i SET comments_count = comments_count + 1, updated_at = clock_timestamp()
         WHERE ${isReferredTo(reference)}
        RETURNING i.id, i.updated_at
      ), c AS (
        INSERT INTO comments (id, issue_id, body, author_id, mention_ids, created_at, updated_at)
        SELECT ${uuidv7()}::uuid, id, ${body}, ${by.actorId}::uuid, ${[...mentionIds]}::uuid[], updated_at, updated_at FROM i
        RETURNING *
      ), logged AS (
        INSERT INTO activity (issue_id, actor_id, kind, new_value, at, request_id)
        SELECT issue_id, author_id, 'comment_added', jsonb_build_object('comment_id', id), created_at, ${by.requestId}
          FROM c
      ), watching AS (${startWatching(participants('c'))})
      SELECT ${commentColumns} FROM c ${commentRelations}`;
    return rows[0];
  }

  async find(reference: IssueReference, id: string): Promise<Comment | undefined> {
    const rows = await this.#database.$queryRaw<Comment[]>`
      SELECT ${commentColumns} FROM issues i JOIN comments c ON c.issue_id = i.id ${commentRelations}
       WHERE ${isReferredTo(reference)} AND c.id = ${id}::uuid AND c.deleted_at IS NULL`;
    return rows[0];
  }

  /**
   * Changes or deletes a comment while the row of its issue is locked. `decide` receives the comment, which may be
   * deleted, and returns the change. If it returns undefined or throws, nothing is written. Returns the comment after
   * the change; undefined if the issue or the comment does not exist.
   */
  async change(
    reference: IssueReference,
    id: string,
    by: ChangedBy,
    decide: (comment: StoredComment) => Promise<CommentChange | undefined>,
  ): Promise<Comment | undefined> {
    return this.#database.$transaction(async (transaction) => {
      // Two statements, because only a second statement sees the comment that the previous lock holder wrote.
      const [issue] = await transaction.$queryRaw<{ id: string }[]>`
        SELECT i.id FROM issues i WHERE ${isReferredTo(reference)} FOR NO KEY UPDATE`;
      if (issue === undefined) return undefined;
      const [comment] = await transaction.$queryRaw<StoredComment[]>`
        SELECT ${commentColumns}, c.deleted_at AS "deletedAt" FROM comments c ${commentRelations}
         WHERE c.issue_id = ${issue.id}::uuid AND c.id = ${id}::uuid`;
      if (comment === undefined) return undefined;
      const change = await decide(comment);
      if (change === undefined) return comment;
      const [changed] = await transaction.$queryRaw<Comment[]>(changeComment(comment, change, by));
      return changed;
    });
  }

  /**
   * Returns a page of the comments of an issue; undefined if the issue does not exist. Stops after the comment that exceeds
   * `pageBytesMax`. PostgreSQL knows the size of a text without reading it.
   */
  async list(
    reference: IssueReference,
    { limit, after, order }: CommentPage,
  ): Promise<Comment[] | undefined> {
    const isNewest = order === 'newest';
    const byTime = Prisma.raw(isNewest ? 'c.created_at DESC, c.id DESC' : 'c.created_at, c.id');
    const beyond =
      after === undefined
        ? Prisma.empty
        : Prisma.sql`AND (c.created_at, c.id) ${Prisma.raw(isNewest ? '<' : '>')} (${after.createdAt}::timestamptz, ${after.id}::uuid)`;
    const rows = await this.#database.$queryRaw<(Comment | { id: null })[]>`
      SELECT ${commentColumns} FROM issues i
        LEFT JOIN LATERAL (
          SELECT * FROM (
            SELECT *, sum(octet_length(c.body)) OVER (ORDER BY ${byTime}) - octet_length(c.body) AS bytes_before
              FROM (SELECT * FROM comments c WHERE c.issue_id = i.id AND c.deleted_at IS NULL ${beyond}
                     ORDER BY ${byTime} LIMIT ${limit}) c
          ) c WHERE c.bytes_before <= ${pageBytesMax}
        ) c ON true ${commentRelations}
       WHERE ${isReferredTo(reference)} ORDER BY ${byTime}`;
    return rows.length === 0 ? undefined : rows.filter((row) => row.id !== null);
  }
}

function changeComment(
  { id, issueId }: StoredComment,
  { draft, activity }: CommentChange,
  by: ChangedBy,
): Prisma.Sql {
  const set =
    draft === null
      ? Prisma.sql`deleted_at = i.updated_at`
      : Prisma.sql`body = ${draft.body}, mention_ids = ${[...draft.mentionIds]}::uuid[], updated_at = i.updated_at, sent_body = coalesce(sent_body, CASE WHEN EXISTS (
          SELECT FROM tracker_comments t WHERE t.comment_id = comments.id AND num_nonnulls(t.remote_id, t.attempted_at) > 0
        ) THEN body END)`;
  return Prisma.sql`
    WITH i AS (
      UPDATE issues SET updated_at = clock_timestamp(),
             comments_count = comments_count - ${draft === null ? 1 : 0}::int
       WHERE id = ${issueId}::uuid RETURNING id, updated_at
    ), c AS (
      UPDATE comments SET ${set} FROM i WHERE comments.id = ${id}::uuid RETURNING comments.*
    ), logged AS (${insertActivity(issueId, [activity], by)}),
      watching AS (${startWatchingAs(issueId, draft?.mentionIds ?? [])})
    SELECT ${commentColumns} FROM c ${commentRelations}`;
}
