import type { IssueStatus, RelationDirection, RelationKind } from '@tessera/contracts';

/** A relation as one of its two issues sees it, with the other one. */
export interface StoredRelation {
  id: string;
  kind: RelationKind;
  direction: RelationDirection;
  issueId: string;
  number: number;
  projectKey: string | null;
  title: string;
  status: IssueStatus;
  createdBy: string;
  createdAt: Date;
}

interface RelationValue {
  relation: RelationKind;
  direction: RelationDirection;
  issue_id: string;
  number: number;
}

export type RelationHistoryEntry =
  | { kind: 'relation_added'; new: RelationValue }
  | { kind: 'relation_removed'; old: RelationValue };

const opposite = { outgoing: 'incoming', incoming: 'outgoing' } as const;

export const oppositeOf = (direction: RelationDirection): RelationDirection => opposite[direction];

/** Returns what the history of an issue has of a relation to another one. */
export function relationValue(
  { kind, direction }: Pick<StoredRelation, 'kind' | 'direction'>,
  other: { id: string; number: number },
): RelationValue {
  return { relation: kind, direction, issue_id: other.id, number: other.number };
}
