import { isDeepStrictEqual } from 'node:util';
import { type LinkRelation, type LinkType, linksMax } from '@tessera/contracts';
import { validationProblem } from '@tessera/service-kit';
import type { ActivityEntry } from '../activity/activity-entry.ts';
import type { PersonReference } from '../people/person-resolver.ts';

/** A link to be; unique within its issue by type and ref. */
export interface NewLink {
  type: LinkType;
  ref: string;
  title: string | null;
  url: string | null;
  relation: LinkRelation;
  metadata: Record<string, unknown> | null;
}

/** A link as it is asked for: a person may be named by something else than the id. */
export type LinkDraft = Omit<NewLink, 'ref'> & ({ ref: string } | { person: PersonReference });

export interface StoredLink extends NewLink {
  id: string;
  issueId: string;
  createdBy: string;
  createdAt: Date;
}

/** What becomes of an issue's links. */
export interface LinkChanges {
  /** New ones, and those whose details change. */
  put: NewLink[];
  removed: StoredLink[];
}

/** The link of a list that has the same target. */
export function findSameTarget<Link extends NewLink>(
  links: readonly Link[],
  target: NewLink,
): Link | undefined {
  return links.find((link) => link.type === target.type && link.ref === target.ref);
}

export function isSameLink(left: NewLink, right: NewLink): boolean {
  return isDeepStrictEqual(linkValue(left), linkValue(right));
}

/** One link for each target: the last one says how it is. */
export function withoutRepeats(links: readonly NewLink[]): NewLink[] {
  return links.filter((link, index) => findSameTarget(links.slice(index + 1), link) === undefined);
}

/**
 * What has to be written so that `wanted` are there, and of the `current` ones none of `unwanted`. Throws a 422 problem
 * where they would become too many.
 */
export function planLinks(
  current: readonly StoredLink[],
  wanted: readonly NewLink[],
  unwanted: readonly StoredLink[],
): LinkChanges {
  const put = wanted.filter((link) => {
    const present = findSameTarget(current, link);
    return present === undefined || !isSameLink(present, link);
  });
  const removed = unwanted.filter((link) => findSameTarget(wanted, link) === undefined);
  const added = put.filter((link) => findSameTarget(current, link) === undefined);
  if (added.length > 0 && current.length + added.length - removed.length > linksMax) {
    throw validationProblem([{ field: 'links', message: `must be at most ${linksMax} on one issue` }]);
  }
  return { put, removed };
}

/** The history of a plan. */
export function describeLinkChanges(
  current: readonly StoredLink[],
  { put, removed }: LinkChanges,
): ActivityEntry[] {
  return [
    ...put.map((link): ActivityEntry => {
      const before = findSameTarget(current, link);
      return before === undefined
        ? { kind: 'link_added', new: linkValue(link) }
        : { kind: 'link_changed', old: linkValue(before), new: linkValue(link) };
    }),
    ...removed.map((link): ActivityEntry => ({ kind: 'link_removed', old: linkValue(link) })),
  ];
}

/** What a client writes of a link. */
export function linkValue({ type, ref, title, url, relation, metadata }: NewLink) {
  return { type, ref, title, url, relation, metadata };
}
