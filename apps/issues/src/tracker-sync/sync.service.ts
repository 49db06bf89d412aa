import { ProblemError } from '@tessera/service-kit';
import { assertMay } from '../access/issue-access.ts';
import type { Actor } from '../authentication/actor.ts';
import type { IssueRepository } from '../issues/issue.repository.ts';
import { found } from '../issues/issue.service.ts';
import type { IssueView } from '../issues/issue.ts';
import type { IssueReference } from '../issues/issue-reference.ts';
import { trackerProblem } from '../trackers/tracker-error.ts';
import type { SyncRepository } from './sync.repository.ts';
import type { Syncer } from './syncer.ts';

interface SyncServiceDependencies {
  issues: IssueRepository;
  /** Undefined where no tracker is configured. */
  tracker: { repository: SyncRepository; syncer: Syncer } | undefined;
  /** How long the person who asks is kept waiting at most, in milliseconds. */
  deadlineMs: number;
}

// A claim outlives the sync that it is for, so that it ends by itself only where a process died.
const claimMarginMs = 2_000;

/** How long a sync that may take so many milliseconds is claimed, in seconds. */
export function claimSeconds(timeoutMs: number): number {
  return (timeoutMs + claimMarginMs) / 1000;
}

/** Synchronisation with the external tracker, as people ask for it (issue-tracking.md 4). */
export class SyncService {
  readonly #dependencies: SyncServiceDependencies;

  constructor(dependencies: SyncServiceDependencies) {
    this.#dependencies = dependencies;
  }

  /** Syncs an issue at once; of several at the same time one does it, and the others are refused. */
  async sync(actor: Actor, reference: IssueReference, requestId: string): Promise<IssueView> {
    const { issues, tracker, deadlineMs } = this.#dependencies;
    const issue = found(await issues.findState(reference));
    assertMay(actor, 'sync', issue);
    if (tracker === undefined) throw notConfigured();
    const link = await tracker.repository.claim(issue.id, actor.id, claimSeconds(deadlineMs));
    if (link === undefined) throw inProgress();
    const failure = await tracker.syncer.sync(link, requestId, deadlineMs);
    if (failure !== undefined) throw trackerProblem(failure.error, failure.nextAttemptAt);
    return found(await issues.find({ id: issue.id }));
  }
}

export function notConfigured(): ProblemError {
  return new ProblemError({
    status: 409,
    code: 'tracker_not_configured',
    detail: 'This service has no external issue tracker.',
  });
}

export function inProgress(): ProblemError {
  return new ProblemError({
    status: 409,
    code: 'sync_in_progress',
    detail: 'Another sync of this issue is running.',
    headers: { 'Retry-After': '1' },
  });
}
