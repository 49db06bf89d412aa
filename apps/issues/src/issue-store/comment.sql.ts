import { Prisma } from '../generated/prisma/client.ts';
import { mentionedPeople } from './mention.sql.ts';

/** The columns that only rows of comments have, of `c` with `commentRelations`. */
export const commentDetails = Prisma.sql`${Prisma.raw(`c.body, c.author_id AS "authorId", author.names AS "authorName", c.origin,
  external.comment_id IS NOT NULL AS "isExternal", external.external_author AS "externalAuthor",
  external.external_created_at AS "externalCreatedAt"`)}, ${mentionedPeople('c')} AS mentioned`;

/** The columns of a `Comment`, of the row `c` with `commentRelations`. */
export const commentColumns = Prisma.sql`c.id, c.issue_id AS "issueId", c.created_at AS "createdAt",
  c.updated_at AS "updatedAt", ${commentDetails}`;

/**
 * Joins the author of the comment `c` as `author` and, for a comment from a tracker, its remote details as `external`.
 */
export const commentRelations = Prisma.raw(`
  LEFT JOIN identity_mirror author ON author.id = c.author_id
  LEFT JOIN tracker_comments external ON external.comment_id = c.id AND external.provider = c.origin`);
