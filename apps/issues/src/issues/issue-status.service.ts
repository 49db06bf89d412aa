import type { IssueStatus } from '@tessera/contracts';
import { ProblemError, unavailableProblem } from '@tessera/service-kit';
import type { Transaction } from '../database.ts';
import type { Actor } from '../issue-core/actor.ts';
import type { CommentDraft } from '../issue-core/comment.ts';
import type { IssuePresenter } from '../issue-core/issue.presenter.ts';
import type { IssueSnapshot, IssueWithLinks } from '../issue-core/issue.ts';
import { assertMay } from '../issue-core/issue-access.ts';
import type { IssueReference } from '../issue-core/issue-reference.ts';
import { allowedTransitions, mayFollow } from '../issue-core/issue-status.ts';
import {
  assertConditional,
  assertMatches,
  isStale,
  type Precondition,
  versionConflict,
} from '../issue-core/precondition.ts';
import type { IssueRepository } from '../issue-store/issue.repository.ts';
import type { IssueStatusRepository } from '../issue-store/issue-status.repository.ts';
import { found } from './issue.service.ts';

interface StatusServiceDependencies {
  issues: IssueRepository;
  presenter: IssuePresenter;
  repository: IssueStatusRepository;
  /** Whether a change requires `If-Match` or `version`. */
  requirePrecondition: boolean;
}

export interface StatusRequest {
  status: IssueStatus;
  comment: CommentDraft | null;
  precondition: Precondition;
  requestId: string;
}

// Each retry means that a concurrent request changed the status.
const looksMax = 20;

/** Changes the status of an issue (issue-tracking.md 3). */
export class IssueStatusService {
  readonly #issues: IssueRepository;
  readonly #presenter: IssuePresenter;
  readonly #repository: IssueStatusRepository;
  readonly #requirePrecondition: boolean;

  constructor({ issues, presenter, repository, requirePrecondition }: StatusServiceDependencies) {
    this.#issues = issues;
    this.#presenter = presenter;
    this.#repository = repository;
    this.#requirePrecondition = requirePrecondition;
  }

  /** Changes the status. A request for the current status succeeds without a change, so that a client can retry. */
  async change(
    actor: Actor,
    reference: IssueReference,
    request: StatusRequest,
    within?: Transaction,
  ): Promise<IssueSnapshot> {
    const { status, comment, precondition, requestId } = request;
    for (let look = 0; look < looksMax; look += 1) {
      const seen = found(await this.#issues.findWithLinks(reference, within));
      assertMay(actor, 'changeStatus', seen);
      await this.#assertHolds(precondition, seen, within);
      if (seen.status === status) return found(await this.#issues.find({ id: seen.id }, within));
      assertMayFollow(seen.status, status);
      const exactly = precondition.ifMatch !== undefined;
      const by = { actorId: actor.id, requestId };
      const changed = await this.#repository.change({ seen, status, comment, exactly }, by, within);
      if (changed !== undefined) return changed;
    }
    throw unavailableProblem('Too many changes of this issue at once.', 1);
  }

  async #assertHolds(precondition: Precondition, seen: IssueWithLinks, within?: Transaction): Promise<void> {
    assertConditional(precondition, this.#requirePrecondition);
    assertMatches(precondition, seen);
    if (isStale(precondition, seen)) {
      const current = found(await this.#issues.find({ id: seen.id }, within));
      throw versionConflict(this.#presenter.issue(current));
    }
  }
}

/** Throws a 409 problem if the workflow does not allow the transition. */
export function assertMayFollow(from: IssueStatus, to: IssueStatus): void {
  if (mayFollow(from, to)) return;
  const allowed = allowedTransitions(from);
  throw new ProblemError({
    status: 409,
    code: 'illegal_transition',
    detail: `An issue that is ${from} cannot become ${to}; it can become ${allowed.join(', ')}.`,
    members: { current_status: from, allowed_transitions: allowed },
  });
}
