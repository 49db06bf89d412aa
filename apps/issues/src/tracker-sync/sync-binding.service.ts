import { type IssueStatus, issueStatusSchema, type SyncConflict } from '@tessera/contracts';
import { ProblemError } from '@tessera/service-kit';
import { abortAfter } from '../background/abort-after.ts';
import type { Actor } from '../issue-core/actor.ts';
import type { IssueFields, IssueWithLinks } from '../issue-core/issue.ts';
import { assertMay } from '../issue-core/issue-access.ts';
import { planChange } from '../issue-core/issue-change.ts';
import { assertFound, type IssueReference } from '../issue-core/issue-reference.ts';
import { assertMayFollow } from '../issue-core/issue-status.ts';
import { defaultProjectId } from '../issue-core/project.ts';
import type { IssueReader } from '../issue-store/read.ts';
import type { IssueWriter } from '../issue-store/write.ts';
import { type ExternalTracker, type LocalState, stepTowards } from '../trackers/external-tracker.ts';
import { withFileLinks } from '../trackers/file-links.ts';
import { TrackerError } from '../trackers/tracker-error.ts';
import { trackerNotConfigured, trackerProblem } from '../trackers/tracker-problem.ts';
import { displayText } from '../trackers/tracker-text.ts';
import { isRepresented, isStorable, type MergeBase, stepsFrom, stepsTowards } from './field-merge.ts';
import { assertBound, assertPublic, isSameIssue } from './remote-binding.ts';
import { isTaken, type SyncRepository } from './sync.repository.ts';
import type { SyncJob, SyncLeaseRepository } from './sync-lease.repository.ts';
import { syncInProgress } from './sync-runner.ts';

type Side = 'local' | 'remote';

interface Tracking {
  tracker: ExternalTracker;
  leases: SyncLeaseRepository;
  repository: SyncRepository;
  /** Time limit of a request to the tracker. */
  deadlineMs: number;
  /** The address of the page of an issue. */
  pageOf: (issueId: string) => string;
}

interface SyncBindingDependencies {
  reader: IssueReader;
  writer: IssueWriter;
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
      const remote = assertPublic(await tracker.get(remoteId, abortAfter(deadlineMs)));
      if (owner === job.issueId && isSameIssue(remote, job.remoteSince)) return;
      await repository
        .transaction(async (transaction) => {
          await repository.detach(job, transaction);
          await repository.recordRemote(job, remote, {}, actor.id, transaction);
        })
        .catch(async (error: unknown) => {
          const other = isTaken(error) ? await repository.findOwner(remoteId) : undefined;
          throw other === undefined ? error : externalTaken(other);
        });
    });
  }

  /** Removes the remote issue from an issue without changing it; the next sync creates another one. */
  async detach(actor: Actor, reference: IssueReference) {
    return this.#underLease(actor, reference, (job, { repository }) => repository.detach(job), {
      isDue: false,
    });
  }

  /** Decides a conflict, or reverses its decision. If the issue cannot hold the chosen value, the conflict stays. */
  async resolve(
    actor: Actor,
    reference: IssueReference,
    conflictId: string,
    { keep, requestId }: { keep: Side; requestId: string },
  ) {
    return this.#underLease(actor, reference, async (job, tracking) => {
      const { repository, tracker } = tracking;
      const conflict = job.conflicts.find(({ id }) => id === conflictId);
      if (conflict === undefined) throw conflictNotFound();
      const decided = await this.#readWhole(job, conflict, keep, tracking);
      const remaining = job.conflicts.filter((other) => other !== conflict);
      const by = { actorId: actor.id, requestId };
      await repository.transaction(async (transaction) => {
        const decide = async (issue: IssueWithLinks) => {
          const local = { status: issue.status, wasResolved: issue.resolvedAt !== null };
          const { base, steps, fields } = planDecision(decided, keep, { base: job.base, local, tracker });
          await repository.recordDecision(job, remaining, base, transaction);
          const change = planChange(issue, { ...fields, keepTrackerLinks: true });
          return { change: { ...change, statuses: steps }, result: true };
        };
        assertFound(await this.#dependencies.writer.changeLocked(job.issueId, by, decide, transaction));
      });
    });
  }

  // Reads the remote issue if a decision depends on more than the conflict: on the statuses that the tracker has, or on
  // the end of a text that the conflict contains cut.
  async #readWhole(
    job: SyncJob,
    conflict: SyncConflict,
    keep: Side,
    { tracker, deadlineMs }: Tracking,
  ): Promise<SyncConflict> {
    const { field, reason } = conflict;
    const isOfStatus = field === 'status' && keep === 'remote';
    const isOfText = (field === 'title' || field === 'description') && reason === 'not_storable';
    if (!isOfStatus && !isOfText) return conflict;
    if (job.remoteId === null) throw new TrackerError('remote_gone', 'not bound to a remote issue');
    const found = assertBound(await tracker.get(job.remoteId, abortAfter(deadlineMs)), job.remoteSince);
    const isSame = isOfText && displayText(found[field]) === conflict.remote;
    return isSame ? { ...conflict, remote: found[field] } : conflict;
  }

  async #underLease(
    actor: Actor,
    reference: IssueReference,
    act: (job: SyncJob, tracking: Tracking) => Promise<void>,
    { isDue = true } = {},
  ) {
    const { reader, tracking } = this.#dependencies;
    const issue = assertFound(await reader.findState(reference));
    assertMay(actor, 'linkTracker', issue);
    if (tracking === undefined || issue.projectId !== defaultProjectId) throw trackerNotConfigured();
    const { leases, deadlineMs } = tracking;
    const job = await leases.take(issue.id, actor.id, deadlineMs);
    if (job === undefined) throw syncInProgress();
    try {
      await act(job, { ...tracking, tracker: withFileLinks(tracking.tracker, tracking.pageOf(issue.id)) });
    } catch (error) {
      await leases.release(job, { isDue: false });
      throw error instanceof TrackerError ? trackerProblem(error, null) : error;
    }
    await leases.release(job, { isDue });
    return assertFound(await reader.find({ id: issue.id, scope: reference.scope }));
  }
}

/** The effect of a decision: changes of the issue, and the base with which the next merge applies the decision. */
interface DecisionPlan {
  base: MergeBase;
  steps: IssueStatus[];
  fields: IssueFields;
}

interface DecisionContext {
  base: MergeBase;
  local: LocalState;
  tracker: Pick<ExternalTracker, 'stateOf' | 'statusOf' | 'meaningOf'>;
}

/** Plans a decision. Throws a 409 problem if the issue cannot hold the chosen value. */
export function planDecision(conflict: SyncConflict, keep: Side, context: DecisionContext): DecisionPlan {
  const { field, reason, kept, local, remote } = conflict;
  const { base } = context;
  const unchanged = { base, steps: [], fields: {} };
  if (field === 'external') {
    if (keep === 'remote') throw attachInstead();
    return unchanged;
  }
  const isOpen = kept === null || reason === 'not_storable';
  if (!isOpen && keep === kept) return unchanged;
  if (field === 'status') return { ...planStatus(conflict, keep, context), fields: {} };
  if (keep === 'remote' && (reason === 'not_storable' || !isStorable(field, remote))) throw notStorable();
  // The next merge then pushes a local value, and finds a remote one on both sides.
  const newBase = isOpen ? { ...base, [field]: remote } : base;
  if (isOpen && keep === 'local') return { ...unchanged, base: newBase };
  return { base: newBase, steps: [], fields: { [field]: keep === 'local' ? local : remote } };
}

function planStatus(
  conflict: SyncConflict,
  keep: Side,
  { base, local, tracker }: DecisionContext,
): Pick<DecisionPlan, 'base' | 'steps'> {
  const { remote, kept } = conflict;
  const isOpen = kept === null;
  // A status that counts as changed is pushed.
  const changed = { local: null, remote: isOpen ? remote : (base.status?.remote ?? '') };
  if (keep === 'local') {
    if (isOpen) return { base: { ...base, status: changed }, steps: [] };
    const wanted = issueStatusSchema.parse(conflict.local);
    const steps = stepsFrom(local.status, (status) => stepTowards(wanted, status));
    if ((steps.at(-1) ?? local.status) !== wanted) assertMayFollow(local.status, wanted);
    return { base: { ...base, status: changed }, steps };
  }
  const steps = stepsTowards(remote, local.status, tracker);
  const status = steps.at(-1) ?? local.status;
  const reached = { status, wasResolved: status === 'RESOLVED' || local.wasResolved };
  if (!isRepresented(remote, reached, tracker)) throw unreachable(local.status, remote);
  if (isOpen) return { base: { ...base, status: { local: status, remote } }, steps };
  return { base: { ...base, status: { ...changed, chosen: { status, state: remote } } }, steps };
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

function unreachable(status: IssueStatus, state: string): ProblemError {
  return new ProblemError({
    status: 409,
    code: 'not_storable',
    detail: `No steps lead from ${status} to a status for "${state}" in the tracker. Change the status of the issue first, or keep the local value.`,
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
