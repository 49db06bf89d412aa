import type { TimelineOrder } from '@tessera/contracts';
import { pageBytesMax } from '@tessera/service-kit';
import { Prisma } from '../generated/prisma/client.ts';
import type { IssueReference } from '../issue-core/issue-reference.ts';
import { isReferredTo } from './issue.sql.ts';
import { commentColumns, commentRelations } from './snapshot.sql.ts';

/** The keyset position of a comment: the last comment of a page. */
export interface CommentPlace {
  createdAt: string;
  id: string;
}

/** Selects a comment that is not deleted. */
export function selectComment(reference: IssueReference, id: string): Prisma.Sql {
  return Prisma.sql`
    SELECT ${commentColumns()} FROM issues i JOIN comments c ON c.issue_id = i.id ${commentRelations}
     WHERE ${isReferredTo(reference)} AND c.id = ${id}::uuid AND c.deleted_at IS NULL`;
}

/** Selects a comment, which may be deleted, with the revision of its issue. */
export function selectStoredComment(reference: IssueReference, id: string): Prisma.Sql {
  return Prisma.sql`
    SELECT ${commentColumns()}, c.deleted_at AS "deletedAt", c.mention_ids AS "mentionIds", i.project_id AS "projectId", i.rev
      FROM issues i JOIN comments c ON c.issue_id = i.id ${commentRelations}
     WHERE ${isReferredTo(reference)} AND c.id = ${id}::uuid`;
}

/**
 * Selects a page of comments; one row without an id if there are none, no row if the issue does not exist. Stops after the
 * comment that exceeds `pageBytesMax`. PostgreSQL knows the size of a text without reading it.
 */
export function selectComments(
  reference: IssueReference,
  { limit, after, order }: { limit: number; after: CommentPlace | undefined; order: TimelineOrder },
): Prisma.Sql {
  const isNewest = order === 'newest';
  const byTime = Prisma.raw(isNewest ? 'c.created_at DESC, c.id DESC' : 'c.created_at, c.id');
  const beyond =
    after === undefined
      ? Prisma.empty
      : Prisma.sql`AND (c.created_at, c.id) ${Prisma.raw(isNewest ? '<' : '>')} (${after.createdAt}::timestamptz, ${after.id}::uuid)`;
  return Prisma.sql`
    SELECT ${commentColumns()} FROM issues i
      LEFT JOIN LATERAL (
        SELECT * FROM (
          SELECT *, sum(octet_length(c.body)) OVER (ORDER BY ${byTime}) - octet_length(c.body) AS bytes_before
            FROM (SELECT * FROM comments c WHERE c.issue_id = i.id AND c.deleted_at IS NULL ${beyond}
                   ORDER BY ${byTime} LIMIT ${limit}) c
        ) c WHERE c.bytes_before <= ${pageBytesMax}
      ) c ON true ${commentRelations}
     WHERE ${isReferredTo(reference)} ORDER BY ${byTime}`;
}
