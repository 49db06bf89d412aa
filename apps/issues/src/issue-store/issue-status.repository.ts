import type { IssueStatus } from '@tessera/contracts';
import { v7 as uuidv7 } from 'uuid';
import type { Database, Transaction } from '../database.ts';
import { Prisma } from '../generated/prisma/client.ts';
import type { CommentDraft } from '../issue-core/comment.ts';
import type { ChangedBy, IssueSnapshot, IssueState, TrackerIdentity } from '../issue-core/issue.ts';
import {
  allComments,
  allLinks,
  issueColumns,
  type SnapshotRow,
  selectSnapshots,
  toSnapshots,
} from './issue.sql.ts';
import { participants, startWatching } from './watching.sql.ts';

export interface StatusChange {
  /** The state of the issue that the rules have checked. */
  seen: IssueState;
  status: IssueStatus;
  comment: CommentDraft | null;
  /**
   * Whether any change of the issue since `seen` prevents this change. True if the client sent `If-Match`, which is
   * then checked again.
   */
  exactly: boolean;
}

/** Writes changes of status. */
export class IssueStatusRepository {
  readonly #database: Database;
  readonly #tracker: TrackerIdentity | undefined;

  constructor(database: Database, tracker?: TrackerIdentity) {
    this.#database = database;
    this.#tracker = tracker;
  }

  /**
   * Changes the status and writes the history and the comment in one statement, if the issue still has the status in
   * `seen`. Of several concurrent changes exactly one succeeds; the others wait for the row lock and then match no row.
   * Returns undefined if no row matched: read the issue again.
   */
  async change(
    change: StatusChange,
    by: ChangedBy,
    within: Transaction = this.#database,
  ): Promise<IssueSnapshot | undefined> {
    const { comment } = change;
    const commented =
      comment === null
        ? Prisma.empty
        : Prisma.sql`new_comment AS (${addComment(comment, by)}), watching AS (${startWatching(participants('new_comment'))}),`;
    const sources = {
      issues: Prisma.raw('SELECT * FROM changed'),
      links: allLinks,
      comments: comment === null ? allComments : withNewComment,
    };
    const rows = await within.$queryRaw<SnapshotRow[]>`
      WITH changed AS (${updateStatus(change)}), ${commented} logged AS (${log(change, by)})
      ${selectSnapshots(sources, this.#tracker)}`;
    return toSnapshots(rows)[0];
  }

  /** Changes the status step by step, each with its history entry. The transaction must hold the issue's lock. */
  async walk(
    issue: IssueState,
    steps: readonly IssueStatus[],
    by: ChangedBy,
    within: Transaction,
  ): Promise<void> {
    let seen = issue;
    for (const status of steps) {
      const change = { seen, status, comment: null, exactly: false };
      await within.$executeRaw`
        WITH changed AS (${updateStatus(change)}) ${log(change, by)}`;
      seen = { ...seen, status };
    }
  }
}

const withNewComment = Prisma.raw('(SELECT * FROM comments UNION ALL SELECT * FROM new_comment)');

function updateStatus({ seen, status, comment, exactly }: StatusChange): Prisma.Sql {
  return Prisma.sql`
    UPDATE issues SET status = ${status}::issue_status, updated_at = clock_timestamp(),
      comments_count = comments_count + ${comment === null ? 0 : 1}::int,
      ${datesOf(status)}
     WHERE id = ${seen.id}::uuid AND status = ${seen.status}::issue_status AND version = ${seen.version}::int
       AND assignee_id IS NOT DISTINCT FROM ${seen.assigneeId}::uuid
       AND (rev = ${seen.rev}::int OR NOT ${exactly})
    RETURNING ${issueColumns}`;
}

// `resolved_at` and `closed_at` are set on entry to the status. Closing keeps `resolved_at`; reopening clears both.
function datesOf(status: IssueStatus): Prisma.Sql {
  switch (status) {
    case 'RESOLVED':
      return Prisma.sql`resolved_at = clock_timestamp()`;
    case 'CLOSED':
      return Prisma.sql`closed_at = clock_timestamp()`;
    default:
      return Prisma.sql`resolved_at = NULL, closed_at = NULL`;
  }
}

function addComment({ body, mentionIds }: CommentDraft, by: ChangedBy): Prisma.Sql {
  return Prisma.sql`
    INSERT INTO comments (id, issue_id, body, author_id, mention_ids, created_at, updated_at)
    SELECT ${uuidv7()}::uuid, id, ${body}, ${by.actorId}::uuid, ${[...mentionIds]}::uuid[], updated_at, updated_at FROM changed
    RETURNING *`;
}

// One INSERT, because several INSERTs in one statement have no defined order.
function log({ seen, status, comment }: StatusChange, by: ChangedBy): Prisma.Sql {
  return Prisma.sql`
    INSERT INTO activity (issue_id, actor_id, origin, kind, field, old_value, new_value, at, request_id)
    SELECT id, ${by.actorId}::uuid, ${by.origin ?? 'local'}, 'status_changed', 'status',
           to_jsonb(${seen.status}::text), to_jsonb(${status}::text), updated_at, ${by.requestId}
      FROM changed
    ${comment === null ? Prisma.empty : logComment(by)}`;
}

function logComment(by: ChangedBy): Prisma.Sql {
  return Prisma.sql`
    UNION ALL
    SELECT issue_id, author_id, origin, 'comment_added', NULL, NULL, jsonb_build_object('comment_id', id), created_at,
           ${by.requestId}
      FROM new_comment`;
}
