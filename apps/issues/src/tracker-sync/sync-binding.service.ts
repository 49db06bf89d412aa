import { issueStatusSchema, type SyncConflict } from '@tessera/contracts';
import { ProblemError } from '@tessera/service-kit';
import { assertMay } from '../access/issue-access.ts';
import type { Actor } from '../authentication/actor.ts';
import type { IssueStatusService } from '../issue-status/issue-status.service.ts';
import type { IssueRepository } from '../issues/issue.repository.ts';
import { found } from '../issues/issue.service.ts';
import { etagOf, type IssueView } from '../issues/issue.ts';
import { planChange } from '../issues/issue-change.ts';
import type { IssueReference } from '../issues/issue-reference.ts';
import type { ExternalTracker } from '../trackers/external-tracker.ts';
import { TrackerError, trackerProblem } from '../trackers/tracker-error.ts';
import type { SyncRepository } from './sync.repository.ts';
import { claimSeconds, inProgress, notConfigured } from './sync.service.ts';
import type { SyncBindingRepository } from './sync-binding.repository.ts';
import type { Agreement } from './sync-merge.ts';
import type { TrackerLink } from './tracker-link.ts';

type Side = 'local' | 'remote';

/** The tracker, and what is known of it. */
interface Tracking {
  tracker: ExternalTracker;
  repository: SyncRepository;
  bindings: SyncBindingRepository;
}

interface SyncBindingDependencies {
  issues: IssueRepository;
  statuses: IssueStatusService;
  /** Undefined where no tracker is configured. */
  tracking: Tracking | undefined;
  deadlineMs: number;
}

/** What staff set right: which issue of the tracker belongs to an issue, and who wins a conflict. */
export class SyncBindingService {
  readonly #dependencies: SyncBindingDependencies;

  constructor(dependencies: SyncBindingDependencies) {
    this.#dependencies = dependencies;
  }

  /** Makes an issue of the tracker the counterpart, in place of a former one; the next sync brings them together. */
  async attach(actor: Actor, reference: IssueReference, remoteId: string): Promise<IssueView> {
    return this.#underClaim(actor, reference, async (link, { tracker, repository, bindings }) => {
      const owner = await bindings.findOwner(remoteId);
      if (owner !== undefined && owner !== link.issueId) throw taken(owner);
      if (owner === link.issueId) return;
      const remote = await tracker.get(remoteId, AbortSignal.timeout(this.#dependencies.deadlineMs));
      await bindings.detach(link);
      await repository.recordRemote(link, remote, {}, actor.id);
    });
  }

  /** Parts the issue from its counterpart, which stays as it is; the next sync creates another one. */
  async detach(actor: Actor, reference: IssueReference): Promise<IssueView> {
    return this.#underClaim(actor, reference, (link, { bindings }) => bindings.detach(link), {
      isDue: false,
    });
  }

  /** Decides a conflict: the value that did not win can be taken back, at once or later. */
  async resolve(
    actor: Actor,
    reference: IssueReference,
    conflictId: string,
    { keep, requestId }: { keep: Side; requestId: string },
  ): Promise<IssueView> {
    return this.#underClaim(actor, reference, async (link, { tracker, bindings }) => {
      const conflict = link.conflicts.find(({ id }) => id === conflictId);
      if (conflict === undefined) throw noSuchConflict();
      if (changesIssue(conflict, keep))
        await this.#take(actor, link.issueId, conflict, { keep, requestId, tracker });
      const conflicts = link.conflicts.filter((other) => other !== conflict);
      await bindings.settleConflict(link, conflicts, baseAfter(link.base, conflict, keep));
    });
  }

  async #take(
    actor: Actor,
    id: string,
    { field, reason, local, remote }: SyncConflict,
    { keep, requestId, tracker }: { keep: Side; requestId: string; tracker: ExternalTracker },
  ): Promise<void> {
    const { issues, statuses } = this.#dependencies;
    if (reason === 'not_storable') throw notStorable();
    if (field !== 'status') {
      const value = keep === 'local' ? local : remote;
      await issues.change({ id }, { actorId: actor.id, requestId }, async (issue) =>
        planChange(issue, { [field]: value, keepTrackerLinks: true }),
      );
      return;
    }
    const issue = found(await issues.findState({ id }));
    const status = keep === 'local' ? issueStatusSchema.parse(local) : tracker.statusOf(remote, issue.status);
    const precondition = { ifMatch: etagOf(issue) };
    await statuses.change(actor, { id }, { status, comment: null, precondition, requestId });
  }

  async #underClaim(
    actor: Actor,
    reference: IssueReference,
    act: (link: TrackerLink, tracking: Tracking) => Promise<void>,
    { isDue = true } = {},
  ): Promise<IssueView> {
    const { issues, tracking, deadlineMs } = this.#dependencies;
    const issue = found(await issues.findState(reference));
    assertMay(actor, 'linkTracker', issue);
    if (tracking === undefined) throw notConfigured();
    const link = await tracking.repository.claim(issue.id, actor.id, claimSeconds(deadlineMs));
    if (link === undefined) throw inProgress();
    try {
      await act(link, tracking);
    } catch (error) {
      await tracking.repository.release(link, { isDue: false });
      throw error instanceof TrackerError ? trackerProblem(error, null) : error;
    }
    await tracking.repository.release(link, { isDue });
    return found(await issues.find({ id: issue.id }));
  }
}

// What was decided one way and is now wanted the other; what is undecided is brought about by the next sync.
function changesIssue({ reason, kept }: SyncConflict, keep: Side): boolean {
  if (reason === 'both_changed') return kept !== null && kept !== keep;
  return keep === 'remote';
}

// The next merge follows the side that has changed since the base: what is to give way becomes the base.
function baseAfter(
  base: Agreement,
  { field, reason, kept, local, remote }: SyncConflict,
  keep: Side,
): Agreement {
  const isOpen = reason === 'not_storable' || (reason === 'both_changed' && kept === null);
  if (!isOpen) return base;
  if (field === 'status') {
    const status = issueStatusSchema.parse(local);
    return { ...base, status: keep === 'local' ? { local: null, remote } : { local: status, remote: '' } };
  }
  return { ...base, [field]: keep === 'local' ? remote : local };
}

function noSuchConflict(): ProblemError {
  return new ProblemError({ status: 404, code: 'conflict_not_found', detail: 'There is no such conflict.' });
}

function notStorable(): ProblemError {
  return new ProblemError({
    status: 409,
    code: 'not_storable',
    detail: 'What the tracker has is more than an issue can hold; only the local value can be kept.',
  });
}

function taken(owner: string): ProblemError {
  return new ProblemError({
    status: 409,
    code: 'external_taken',
    detail: 'That issue of the tracker belongs to another issue here.',
    members: { issue_id: owner },
  });
}
