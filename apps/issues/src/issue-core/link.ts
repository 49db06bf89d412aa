import { isDeepStrictEqual } from 'node:util';
import { type LinkRelation, type LinkType, linksMax } from '@tessera/contracts';
import { validationProblem } from '@tessera/service-kit';
import type { PersonReference } from './person.ts';

/** A link to write. Type and ref are unique within an issue. */
export interface NewLink {
  type: LinkType;
  ref: string;
  title: string | null;
  url: string | null;
  relation: LinkRelation;
  metadata: Record<string, unknown> | null;
}

/** A requested link. The person can be referenced by e-mail or SSO pair instead of the id. */
export type LinkDraft = Omit<NewLink, 'ref'> & ({ ref: string } | { person: PersonReference });

export interface StoredLink extends NewLink {
  id: string;
  issueId: string;
  createdBy: string;
  createdAt: Date;
}

/** The changes of an issue's links. */
export interface LinkChanges {
  /** New links, and links whose details change. */
  put: NewLink[];
  removed: StoredLink[];
}

type LinkValue = ReturnType<typeof linkValue>;

export type LinkHistoryEntry =
  | { kind: 'link_added'; new: LinkValue }
  | { kind: 'link_changed'; old: LinkValue; new: LinkValue }
  | { kind: 'link_removed'; old: LinkValue };

/** Returns the link with the same target; undefined if there is none. */
export function findSameTarget<Link extends NewLink>(
  links: readonly Link[],
  target: NewLink,
): Link | undefined {
  return links.find((link) => link.type === target.type && link.ref === target.ref);
}

export function isSameLink(left: NewLink, right: NewLink): boolean {
  return isDeepStrictEqual(linkValue(left), linkValue(right));
}

/** Keeps one link for each target: the last one. */
export function withoutRepeats(links: readonly NewLink[]): NewLink[] {
  return links.filter((link, index) => findSameTarget(links.slice(index + 1), link) === undefined);
}

/**
 * Plans the changes that add or update `wanted` and delete those `current` links that are in `unwanted`. Throws a 422
 * problem if the issue would have too many links.
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

/** Returns the history entries of the changes. */
export function describeLinkChanges(
  current: readonly StoredLink[],
  { put, removed }: LinkChanges,
): LinkHistoryEntry[] {
  return [
    ...put.map((link): LinkHistoryEntry => {
      const before = findSameTarget(current, link);
      return before === undefined
        ? { kind: 'link_added', new: linkValue(link) }
        : { kind: 'link_changed', old: linkValue(before), new: linkValue(link) };
    }),
    ...removed.map((link): LinkHistoryEntry => ({ kind: 'link_removed', old: linkValue(link) })),
  ];
}

/** Returns the members of a link that a client can write. */
export function linkValue({ type, ref, title, url, relation, metadata }: NewLink) {
  return { type, ref, title, url, relation, metadata };
}
