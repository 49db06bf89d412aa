import type { IssueLabel } from '@tessera/contracts';
import { Prisma } from '../generated/prisma/client.ts';

/** Joins the labels of the row `i`, sorted by name, as `label`. */
export const labelRelation = Prisma.raw(`
  LEFT JOIN LATERAL (
    SELECT array_agg(l.id ORDER BY l.key COLLATE "C") AS ids, array_agg(l.name ORDER BY l.key COLLATE "C") AS names,
           array_agg(l.color ORDER BY l.key COLLATE "C") AS colors
      FROM labels l WHERE l.id = ANY(i.label_ids)
  ) label ON i.label_ids <> '{}'`);

/**
 * The revision of all labels if the row `i` has labels, otherwise NULL. Cached labels are valid while it is unchanged.
 */
export const labelRevision = Prisma.raw(
  `CASE WHEN i.label_ids <> '{}' THEN (SELECT rev FROM label_catalog) END AS "labelRev"`,
);

/** The columns of the labels of a row with `labelRelation`. */
export const labelColumns = Prisma.raw(
  'label.ids AS "labelIds", label.names AS "labelNames", label.colors AS "labelColors"',
);

/** The `labelColumns` of a row. */
export interface LabelColumns {
  labelIds: string[] | null;
  labelNames: string[] | null;
  labelColors: string[] | null;
}

export function toLabels({ labelIds, labelNames, labelColors }: LabelColumns): IssueLabel[] {
  return (labelIds ?? []).map((id, place) => ({
    id,
    name: labelNames?.[place] ?? '',
    color: labelColors?.[place] ?? '',
  }));
}
