import { Prisma } from '../generated/prisma/client.ts';

/**
 * The labels of the row `i`, sorted by name; NULL if it has none. PostgreSQL would execute a joined subquery for rows
 * without labels, too.
 */
export const labelColumn = Prisma.raw(`
  CASE WHEN i.label_ids <> '{}' THEN (
    SELECT json_agg(json_build_object('id', l.id, 'name', l.name, 'color', l.color) ORDER BY l.key COLLATE "C")
      FROM labels l WHERE l.id = ANY(i.label_ids)
  ) END AS labels`);

/**
 * The revision of all labels if the row `i` has labels, otherwise NULL. Cached labels are valid while it is unchanged.
 */
export const labelRevision = Prisma.raw(
  `CASE WHEN i.label_ids <> '{}' THEN (SELECT rev FROM label_catalog) END AS "labelRev"`,
);
