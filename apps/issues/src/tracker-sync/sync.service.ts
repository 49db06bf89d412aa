import { ProblemError } from '@tessera/service-kit';
import { assertMay } from '../access/issue-access.ts';
import type { Actor } from '../authentication/actor.ts';
import type { IssueRepository } from '../issues/issue.repository.ts';
import { found } from '../issues/issue.service.ts';
import type { IssueView } from '../issues/issue.ts';
import type { IssueReference } from '../issues/issue-reference.ts';

/** Synchronisation with an external tracker, of which none is configured. */
export class SyncService {
  readonly #issues: IssueRepository;

  constructor({ issues }: { issues: IssueRepository }) {
    this.#issues = issues;
  }

  async sync(actor: Actor, reference: IssueReference): Promise<IssueView> {
    const issue = found(await this.#issues.findState(reference));
    assertMay(actor, 'sync', issue);
    throw new ProblemError({
      status: 409,
      code: 'tracker_not_configured',
      detail: 'This service has no external issue tracker.',
    });
  }
}
