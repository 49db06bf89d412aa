import { guestLinksMax, guestLinksOfOneMax, guestLinkTypes, type LinkType } from '@tessera/contracts';
import { ProblemError, validationProblem } from '@tessera/service-kit';
import type { Actor } from '../issue-core/actor.ts';
import type { IssueSnapshot, IssueWithLinks } from '../issue-core/issue.ts';
import { assertMay, may } from '../issue-core/issue-access.ts';
import { assertFound, type IssueReference } from '../issue-core/issue-reference.ts';
import {
  findSameTarget,
  type LinkChanges,
  type LinkDraft,
  planLinks,
  type StoredLink,
} from '../issue-core/link.ts';
import { resolveLinks } from '../issue-core/link-resolver.ts';
import type { PersonResolver } from '../issue-core/person.ts';
import { assertMatches, type Precondition } from '../issue-core/precondition.ts';
import type { IssueReader } from '../issue-store/read.ts';
import type { IssueWriter } from '../issue-store/write.ts';

interface LinkServiceDependencies {
  reader: IssueReader;
  writer: IssueWriter;
  people: PersonResolver;
}

/** The precondition of a change of links, and the id of its request. */
export interface LinkContext {
  precondition: Precondition;
  requestId: string;
}

/** Adds and removes single links of an issue. */
export class LinkService {
  readonly #reader: IssueReader;
  readonly #writer: IssueWriter;
  readonly #people: PersonResolver;

  constructor({ reader, writer, people }: LinkServiceDependencies) {
    this.#reader = reader;
    this.#writer = writer;
    this.#people = people;
  }

  /** Adds a link, or replaces the details of the existing link with the same target. */
  async put(
    actor: Actor,
    reference: IssueReference,
    draft: LinkDraft,
    context: LinkContext,
  ): Promise<{ issue: IssueSnapshot; link: StoredLink; isNew: boolean }> {
    const seen = assertFound(await this.#reader.findWithLinks(reference));
    assertMayLink(actor, seen, draft.type);
    const mayLinkTracker = may(actor, 'linkTracker', seen);
    const resolving = {
      actor,
      people: this.#people,
      fieldOf: (_: number, member: string) => member,
      mayLinkTracker,
    };
    const links = await resolveLinks([draft], { ...resolving, current: seen.links });
    const [link] = links;
    if (link === undefined) throw new Error('one draft is one link');
    let isNew = false;
    const issue = await this.#change(actor, { id: seen.id, scope: reference.scope }, context, (locked) => {
      const present = findSameTarget(locked.links, link);
      isNew = present === undefined;
      assertMayLink(actor, locked, link.type);
      if (!may(actor, 'update', locked)) assertGuestMayPut(actor, locked, present);
      return planLinks(locked.links, links, []);
    });
    const stored = findSameTarget(issue.links, link);
    if (stored === undefined) throw new Error('the link was written and is not there');
    return { issue, link: stored, isNew };
  }

  async remove(actor: Actor, reference: IssueReference, linkId: string, context: LinkContext): Promise<void> {
    await this.#change(actor, reference, context, (issue) => {
      const link = issue.links.find(({ id }) => id === linkId);
      if (!may(actor, 'update', issue)) assertOwn(actor, issue, link);
      if (link === undefined) {
        throw new ProblemError({ status: 404, code: 'link_not_found', detail: 'There is no such link.' });
      }
      if (link.type === 'external_issue' && !may(actor, 'linkTracker', issue)) {
        throw validationProblem([
          { field: 'link_id', message: 'is written by the synchronisation, and by staff' },
        ]);
      }
      return planLinks(issue.links, [], [link]);
    });
  }

  async #change(
    actor: Actor,
    reference: IssueReference,
    { precondition, requestId }: LinkContext,
    plan: (issue: IssueWithLinks) => LinkChanges,
  ): Promise<IssueSnapshot> {
    const changed = await this.#writer.change(reference, { actorId: actor.id, requestId }, async (issue) => {
      assertMatches(precondition, issue);
      return { links: plan(issue) };
    });
    return assertFound(changed);
  }
}

/** Throws a 403 problem if the actor may not add a link of this type. */
function assertMayLink(actor: Actor, issue: IssueWithLinks, type: LinkType): void {
  if (!guestLinkTypes.includes(type) || !may(actor, 'link', issue)) assertMay(actor, 'update', issue);
}

/** Throws a problem if a person who may not change the issue may not add a link, or change the present one. */
function assertGuestMayPut(actor: Actor, issue: IssueWithLinks, present: StoredLink | undefined): void {
  if (present !== undefined) {
    assertOwn(actor, issue, present);
    return;
  }
  const { length } = issue.links.filter(({ createdBy }) => createdBy === actor.id);
  if (issue.links.length < guestLinksMax && length < guestLinksOfOneMax) return;
  const message = `must be fewer than ${guestLinksMax} on one issue, and at most ${guestLinksOfOneMax} by each person who may not change it`;
  throw validationProblem([{ field: 'links', message }]);
}

/** Throws a 403 problem if a person who may not change the issue did not write the link. */
function assertOwn(actor: Actor, issue: IssueWithLinks, link: StoredLink | undefined): void {
  const isOfGuest = may(actor, 'link', issue) && link?.createdBy === actor.id;
  if (isOfGuest && guestLinkTypes.includes(link.type)) return;
  const detail = 'Only the author of the link and people who may change the issue may do this.';
  throw new ProblemError({ status: 403, code: 'forbidden', detail });
}
