import type { IssueStatus } from '@tessera/contracts';
import { v7 as uuidv7 } from 'uuid';
import type { Database, Transaction } from '../database.ts';
import { Prisma } from '../generated/prisma/client.ts';
import type { ChangedBy, IssueState, IssueView } from '../issues/issue.ts';
import { type IssueDocument, issueColumns } from '../issues/issue-document.repository.ts';

export interface StatusChange {
  /** The issue as the rules have seen it. */
  seen: IssueState;
  status: IssueStatus;
  comment: string | null;
  /** Whether nothing at all may have happened since: the client named an ETag. */
  exactly: boolean;
}

/** Changes of status. */
export class IssueStatusRepository {
  readonly #database: Database;
  readonly #document: IssueDocument;

  constructor(database: Database, document: IssueDocument) {
    this.#database = database;
    this.#document = document;
  }

  /**
   * Changes the status if the issue is still what the rules have seen, and with it the history and the comment, in one
   * statement: of any number of conflicting changes at once exactly one finds the status that it starts from, and the
   * others, after waiting for its row, find nothing. Undefined means: look again.
   */
  async change(change: StatusChange, by: ChangedBy, within: Transaction = this.#database) {
    const { seen, status, comment, exactly } = change;
    const withComment = comment !== null;
    const rows = await within.$queryRaw<IssueView[]>`
      WITH i AS (
        UPDATE issues SET status = ${status}::issue_status, rev = rev + 1, updated_at = clock_timestamp(),
          comments_count = comments_count + ${withComment ? 1 : 0}::int,
          ${datesOf(status)}
         WHERE id = ${seen.id}::uuid AND status = ${seen.status}::issue_status AND version = ${seen.version}::int
           AND assignee_id IS NOT DISTINCT FROM ${seen.assigneeId}::uuid
           AND (rev = ${seen.rev}::int OR NOT ${exactly})
        RETURNING ${issueColumns}
      )${withComment ? addComment(comment, by) : Prisma.empty}, logged AS (
        INSERT INTO activity (issue_id, actor_id, origin, kind, field, old_value, new_value, at, request_id)
        SELECT id, ${by.actorId}::uuid, ${by.origin ?? 'local'}, 'status_changed', 'status',
               to_jsonb(${seen.status}::text), to_jsonb(${status}::text), updated_at, ${by.requestId}
          FROM i
        ${withComment ? tellOfComment(by) : Prisma.empty}
      )
      SELECT i.id, i.version, i.rev,
        ${withComment ? this.#document.fullOf({ comments: allComments }) : this.#document.full} AS document
        FROM i ${this.#document.relations}`;
    return rows[0];
  }
}

const allComments = Prisma.sql`(SELECT * FROM comments UNION ALL SELECT * FROM new_comment)`;

// Set on entry; kept while the issue is closed after being resolved; cleared when it is taken up again.
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

function addComment(body: string, by: ChangedBy): Prisma.Sql {
  return Prisma.sql`, new_comment AS (
    INSERT INTO comments (id, issue_id, body, author_id, created_at, updated_at)
    SELECT ${uuidv7()}::uuid, id, ${body}, ${by.actorId}::uuid, updated_at, updated_at FROM i
    RETURNING *
  )`;
}

// In the one INSERT of the history: of several in a statement none is sure to come first.
function tellOfComment(by: ChangedBy): Prisma.Sql {
  return Prisma.sql`
    UNION ALL
    SELECT issue_id, author_id, origin, 'comment_added', NULL, NULL, jsonb_build_object('comment_id', id), created_at,
           ${by.requestId}
      FROM new_comment`;
}
