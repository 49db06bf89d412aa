import { issueStatusSchema, type SyncConflict } from '@tessera/contracts';
import { abortAfter, ProblemError } from '@tessera/service-kit';
import { assertMay } from '../access/issue-access.ts';
import type { Actor } from '../authentication/actor.ts';
import type { IssueStatusService } from '../issue-status/issue-status.service.ts';
import type { IssueRepository } from '../issues/issue.repository.ts';
import { found } from '../issues/issue.service.ts';
import { planChange } from '../issues/issue-change.ts';
import type { IssueReference } from '../issues/issue-reference.ts';
import { ifUnchanged } from '../issues/precondition.ts';
import type { ExternalTracker } from '../trackers/external-tracker.ts';
import { TrackerError, trackerProblem } from '../trackers/tracker-error.ts';
import type { SyncJob, SyncRepository } from './sync.repository.ts';
import { assertPublic, syncInProgress, trackerNotConfigured } from './sync-issue.ts';
import type { MergeBase } from './sync-merge.ts';

type Side = 'local' | 'remote';

interface Tracking {
  tracker: ExternalTracker;
  repository: SyncRepository;
  /** Time limit of a request to the tracker. */
  deadlineMs: number;
}

interface SyncBindingDependencies {
  issues: IssueRepository;
  statuses: IssueStatusService;
  /** Undefined if no tracker is configured. */
  tracking: Tracking | undefined;
}

/** Lets staff change the remote issue of an issue, and decide conflicts. */
export class SyncBindingService {
  readonly #dependencies: SyncBindingDependencies;

  constructor(dependencies: SyncBindingDependencies) {
    this.#dependencies = dependencies;
  }

  /** Replaces the remote issue of an issue; the next sync merges the two. */
  async attach(actor: Actor, reference: IssueReference, remoteId: string) {
    return this.#underLease(actor, reference, async (job, { tracker, repository, deadlineMs }) => {
      const owner = await repository.findOwner(remoteId);
      if (owner !== undefined && owner !== job.issueId) throw externalTaken(owner);
      if (owner === job.issueId) return;
      const remote = assertPublic(await tracker.get(remoteId, abortAfter(deadlineMs)));
      await repository.detach(job);
      await repository.recordRemote(job, remote, {}, actor.id);
    });
  }

  /** Removes the remote issue from an issue without changing it; the next sync creates another one. */
  async detach(actor: Actor, reference: IssueReference) {
    return this.#underLease(actor, reference, (job, { repository }) => repository.detach(job), {
      isDue: false,
    });
  }

  /** Decides a conflict, or reverses its decision. */
  async resolve(
    actor: Actor,
    reference: IssueReference,
    conflictId: string,
    { keep, requestId }: { keep: Side; requestId: string },
  ) {
    return this.#underLease(actor, reference, async (job, { tracker, repository }) => {
      const conflict = job.conflicts.find(({ id }) => id === conflictId);
      if (conflict === undefined) throw conflictNotFound();
      if (conflict.field === 'external' && keep === 'remote') throw attachInstead();
      if (changesIssue(conflict, keep)) {
        await this.#changeIssue(actor, job.issueId, conflict, { keep, requestId, tracker });
      }
      const remaining = job.conflicts.filter((other) => other !== conflict);
      await repository.recordDecision(job, remaining, baseAfter(job.base, conflict, keep));
    });
  }

  async #changeIssue(
    actor: Actor,
    id: string,
    { field, reason, local, remote }: SyncConflict,
    { keep, requestId, tracker }: { keep: Side; requestId: string; tracker: ExternalTracker },
  ): Promise<void> {
    const { issues, statuses } = this.#dependencies;
    if (reason === 'not_storable' || reason === 'not_representable') throw notStorable();
    if (field !== 'status') {
      const value = keep === 'local' ? local : remote;
      await issues.change({ id }, { actorId: actor.id, requestId }, async (issue) =>
        planChange(issue, { [field]: value, keepTrackerLinks: true }),
      );
      return;
    }
    const issue = found(await issues.findWithLinks({ id }));
    const status = keep === 'local' ? issueStatusSchema.parse(local) : tracker.statusOf(remote, issue.status);
    const precondition = ifUnchanged(issue);
    await statuses.change(actor, { id }, { status, comment: null, precondition, requestId });
  }

  async #underLease(
    actor: Actor,
    reference: IssueReference,
    act: (job: SyncJob, tracking: Tracking) => Promise<void>,
    { isDue = true } = {},
  ) {
    const { issues, tracking } = this.#dependencies;
    const issue = found(await issues.findState(reference));
    assertMay(actor, 'linkTracker', issue);
    if (tracking === undefined) throw trackerNotConfigured();
    const { repository, deadlineMs } = tracking;
    const job = await repository.lease(issue.id, actor.id, deadlineMs);
    if (job === undefined) throw syncInProgress();
    try {
      await act(job, tracking);
    } catch (error) {
      await repository.release(job, { isDue: false });
      throw error instanceof TrackerError ? trackerProblem(error, null) : error;
    }
    await repository.release(job, { isDue });
    return found(await issues.find({ id: issue.id }));
  }
}

// Deciding an open conflict only changes the base: the next sync pushes or pulls the value.
function changesIssue({ reason, kept }: SyncConflict, keep: Side): boolean {
  if (reason === 'both_changed' || reason === 'overwritten') return kept !== null && kept !== keep;
  return keep === 'remote';
}

// A merge follows the side that differs from the base, so the losing value becomes the base.
function baseAfter(
  base: MergeBase,
  { field, reason, kept, local, remote }: SyncConflict,
  keep: Side,
): MergeBase {
  const isOpen =
    reason === 'not_storable' ||
    reason === 'not_representable' ||
    (reason === 'both_changed' && kept === null);
  if (!isOpen) return base;
  if (field === 'status') {
    const status = issueStatusSchema.parse(local);
    return { ...base, status: keep === 'local' ? { local: null, remote } : { local: status, remote: '' } };
  }
  return { ...base, [field]: keep === 'local' ? remote : local };
}

function conflictNotFound(): ProblemError {
  return new ProblemError({ status: 404, code: 'conflict_not_found', detail: 'Conflict not found.' });
}

function attachInstead(): ProblemError {
  return new ProblemError({
    status: 409,
    code: 'external_conflict',
    detail: 'Attach the other remote issue with PUT …/external/ instead.',
  });
}

function notStorable(): ProblemError {
  return new ProblemError({
    status: 409,
    code: 'not_storable',
    detail: 'An issue cannot hold the value in the tracker; only the local value can be kept.',
  });
}

function externalTaken(owner: string): ProblemError {
  return new ProblemError({
    status: 409,
    code: 'external_taken',
    detail: 'This issue of the tracker belongs to another issue here.',
    members: { issue_id: owner },
  });
}
