import { validationProblem } from '@tessera/service-kit';
import type { Actor } from './actor.ts';
import {
  findSameTarget,
  isSameLink,
  type LinkDraft,
  type NewLink,
  type StoredLink,
  withoutRepeats,
} from './link.ts';
import { assertMayName, type PersonResolver } from './person.ts';

interface ResolveOptions {
  actor: Actor;
  people: PersonResolver;
  /** The current links of the issue. Their people are not looked up again. */
  current: readonly StoredLink[];
  /** Returns the field name for a validation error, such as `links.2.ref`. */
  fieldOf: (place: number, member: 'type' | 'ref') => string;
  mayLinkTracker: boolean;
}

/**
 * Resolves people to ids and removes repeated targets. Throws a 422 problem for an unknown person, and for a link to an
 * external tracker that the actor may not write.
 */
export async function resolveLinks(
  drafts: readonly LinkDraft[],
  options: ResolveOptions,
): Promise<NewLink[]> {
  const { current, fieldOf, mayLinkTracker } = options;
  const links: NewLink[] = [];
  for (const [place, draft] of drafts.entries()) {
    const link = 'ref' in draft ? draft : await withPerson(draft, options, fieldOf(place, 'ref'));
    if (link.type === 'external_issue' && !mayLinkTracker)
      assertUnchanged(link, current, fieldOf(place, 'type'));
    links.push(link);
  }
  return withoutRepeats(links);
}

/** Whether the person of a link has to be looked up. */
export function needsLookUp(draft: LinkDraft, current: readonly StoredLink[]): boolean {
  if (!('person' in draft)) return false;
  const { person } = draft;
  return !('id' in person && current.some(({ type, ref }) => type === 'user' && ref === person.id));
}

async function withPerson(
  draft: Exclude<LinkDraft, { ref: string }>,
  { actor, people, current }: ResolveOptions,
  field: string,
): Promise<NewLink> {
  const { person, ...details } = draft;
  assertMayName(actor, person, field);
  const isKnown = 'id' in person && !needsLookUp(draft, current);
  const { id } = isKnown ? person : await people.resolveForAssignment(person, field);
  return { ...details, ref: id };
}

function assertUnchanged(link: NewLink, current: readonly StoredLink[], field: string): void {
  const present = findSameTarget(current, link);
  if (present !== undefined && isSameLink(present, link)) return;
  throw validationProblem([{ field, message: 'is written by the synchronisation, and by staff' }]);
}
