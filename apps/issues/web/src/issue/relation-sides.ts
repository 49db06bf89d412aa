import type { Relation } from '@tessera/contracts';

/** How an issue sees a relation to another one. */
export interface RelationSide extends Pick<Relation, 'kind' | 'direction'> {
  heading: string;
  /** What the issue is to the other one, in a sentence. */
  says: string;
  key?: string;
  command: string;
}

/** In the order of the page. */
export const relationSides: readonly RelationSide[] = [
  {
    kind: 'parent',
    direction: 'incoming',
    heading: 'Parent',
    says: 'is a part of',
    key: 'M P',
    command: 'Set the parent',
  },
  {
    kind: 'parent',
    direction: 'outgoing',
    heading: 'Sub-issues',
    says: 'is the parent of',
    key: 'M S',
    command: 'Add a sub-issue',
  },
  {
    kind: 'blocks',
    direction: 'incoming',
    heading: 'Blocked by',
    says: 'is blocked by',
    key: 'M B',
    command: 'Mark as blocked',
  },
  {
    kind: 'blocks',
    direction: 'outgoing',
    heading: 'Blocks',
    says: 'blocks',
    key: 'M X',
    command: 'Mark as blocking',
  },
  {
    kind: 'relates',
    direction: 'outgoing',
    heading: 'Related to',
    says: 'is related to',
    key: 'M R',
    command: 'Relate to an issue',
  },
  {
    kind: 'duplicate',
    direction: 'outgoing',
    heading: 'Duplicate of',
    says: 'is a duplicate of',
    key: 'M M',
    command: 'Mark as a duplicate',
  },
  {
    kind: 'duplicate',
    direction: 'incoming',
    heading: 'Duplicates',
    says: 'is duplicated by',
    command: 'Add a duplicate',
  },
];

/** Finds the side of a relation. One that relates issues has no direction. */
export const sideOf = (kind: unknown, direction: unknown): RelationSide | undefined =>
  relationSides.find((side) => side.kind === kind && (kind === 'relates' || side.direction === direction));

export const sayingOf = (kind: unknown, direction: unknown): string =>
  sideOf(kind, direction)?.says ?? 'is related to';
