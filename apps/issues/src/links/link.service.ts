import { ProblemError, validationProblem } from '@tessera/service-kit';
import type { Actor } from '../issue-core/actor.ts';
import type { IssueSnapshot, IssueWithLinks } from '../issue-core/issue.ts';
import { assertMay, may } from '../issue-core/issue-access.ts';
import type { IssueReference } from '../issue-core/issue-reference.ts';
import {
  describeLinkChanges,
  findSameTarget,
  type LinkChanges,
  type LinkDraft,
  planLinks,
  type StoredLink,
} from '../issue-core/link.ts';
import type { PersonResolver } from '../issue-core/person-resolver.ts';
import { assertMatches, type Precondition } from '../issue-core/precondition.ts';
import type { IssueRepository } from '../issue-store/issue.repository.ts';
import { found } from '../issues/issue.service.ts';
import { resolveLinks } from './link-resolver.ts';

interface LinkServiceDependencies {
  issues: IssueRepository;
  people: PersonResolver;
}

/** The precondition of a change of links, and the id of its request. */
export interface LinkContext {
  precondition: Precondition;
  requestId: string;
}

/** Adds and removes single links of an issue. */
export class LinkService {
  readonly #issues: IssueRepository;
  readonly #people: PersonResolver;

  constructor({ issues, people }: LinkServiceDependencies) {
    this.#issues = issues;
    this.#people = people;
  }

  /** Adds a link, or replaces the details of the existing link with the same target. */
  async put(
    actor: Actor,
    reference: IssueReference,
    draft: LinkDraft,
    context: LinkContext,
  ): Promise<{ issue: IssueSnapshot; link: StoredLink; isNew: boolean }> {
    const seen = found(await this.#issues.findWithLinks(reference));
    assertMay(actor, 'update', seen);
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
    const issue = await this.#change(actor, { id: seen.id }, context, (locked) => {
      isNew = findSameTarget(locked.links, link) === undefined;
      return planLinks(locked.links, links, []);
    });
    const stored = findSameTarget(issue.links, link);
    if (stored === undefined) throw new Error('the link was written and is not there');
    return { issue, link: stored, isNew };
  }

  async remove(actor: Actor, reference: IssueReference, linkId: string, context: LinkContext): Promise<void> {
    await this.#change(actor, reference, context, (issue) => {
      const link = issue.links.find(({ id }) => id === linkId);
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
    const changed = await this.#issues.change(reference, { actorId: actor.id, requestId }, async (issue) => {
      assertMay(actor, 'update', issue);
      assertMatches(precondition, issue);
      const links = plan(issue);
      const activity = describeLinkChanges(issue.links, links);
      return activity.length === 0 ? undefined : { fields: {}, links, activity };
    });
    return found(changed);
  }
}
