import { Prisma } from '../generated/prisma/client.ts';

/** What only a comment `c` with its `commentRelations` has. */
export const commentDetails =
  Prisma.raw(`c.body, c.author_id AS "authorId", author.names AS "authorName", c.origin,
  external.comment_id IS NOT NULL AS "isExternal", external.external_author AS "externalAuthor",
  external.external_created_at AS "externalCreatedAt"`);

/** A `Comment` of the row `c` with its `commentRelations`. */
export const commentColumns = Prisma.sql`c.id, c.issue_id AS "issueId", c.created_at AS "createdAt",
  c.updated_at AS "updatedAt", ${commentDetails}`;

/** Joins who wrote the comment `c`, as `author`, and where it came from a tracker its details there, as `external`. */
export const commentRelations = Prisma.raw(`
  LEFT JOIN identity_mirror author ON author.id = c.author_id
  LEFT JOIN tracker_comments external ON external.comment_id = c.id AND external.provider = c.origin`);
