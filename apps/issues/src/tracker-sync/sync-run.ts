import { issueLabelsMax, type SyncedField, type SyncedPart } from '@tessera/contracts';
import type { ChangedBy } from '../issue-core/issue.ts';
import { assertFound } from '../issue-core/issue-reference.ts';
import { labelKey } from '../issue-core/label.ts';
import type { IssueReader } from '../issue-store/read.ts';
import type { IssueWriter } from '../issue-store/write.ts';
import type { LabelService } from '../labels/label.service.ts';
import type { ExternalTracker, RemoteIssue, RemoteLabel } from '../trackers/external-tracker.ts';
import { withFileLinks } from '../trackers/file-links.ts';
import { TrackerError } from '../trackers/tracker-error.ts';
import { commentMarker, commentText, issueMarker } from '../trackers/tracker-text.ts';
import { markedComments, planComments, type UnsentComment } from './comment-merge.ts';
import { type ConflictPolicies, type MergeBase, needsTimes } from './field-merge.ts';
import { assertBound, assertSettled, type BoundRemote, bindRemote, unlessSent } from './remote-binding.ts';
import type { SyncRepository } from './sync.repository.ts';
import type { SyncCommentRepository } from './sync-comment.repository.ts';
import { externalConflicts, type FieldConflict } from './sync-conflict.ts';
import type { SyncJob, SyncLeaseRepository } from './sync-lease.repository.ts';
import {
  confirmPush,
  hasPush,
  type MergePlan,
  overwrittenConflicts,
  planMerge,
  type UnverifiedPush,
} from './sync-merge.ts';

export interface SyncCollaborators {
  tracker: ExternalTracker;
  leases: SyncLeaseRepository;
  repository: SyncRepository;
  comments: SyncCommentRepository;
  reader: IssueReader;
  writer: IssueWriter;
  labels: LabelService;
  policies: ConflictPolicies;
  /** The address of the page of an issue. */
  pageOf: (issueId: string) => string;
}

interface SyncRunOptions {
  job: SyncJob;
  requestId: string;
  signal: AbortSignal;
  /** Whether to list comments even if the remote issue is unchanged. */
  readsComments: boolean;
}

/** The result of syncing the fields. */
interface SyncedFields {
  pushed: SyncedPart[];
  pulled: SyncedPart[];
  /** The id of the last local history entry that the merge has included. */
  activityId: number;
  /** Later changes of the remote issue are not yet synced. */
  seenUntil: Date;
  /** Whether the remote issue may have comments that the last sync did not read. */
  hasNewComments: boolean;
}

/** Maximum number of merges in one sync. A merge is repeated if the remote issue changed before our update. */
const mergesMax = 2;

/**
 * One sync of a leased issue: finds or creates the remote issue, merges the fields, then the comments. The process can
 * crash after each step; the next sync then continues.
 */
export class SyncRun {
  readonly #with: SyncCollaborators;
  readonly #job: SyncJob;
  readonly #signal: AbortSignal;
  readonly #readsComments: boolean;
  readonly #by: ChangedBy;
  /** Errors of single parts of the issue: the other parts are synced before the sync fails. */
  readonly #failures: TrackerError[] = [];

  constructor(collaborators: SyncCollaborators, { job, requestId, signal, readsComments }: SyncRunOptions) {
    const tracker = withFileLinks(collaborators.tracker, collaborators.pageOf(job.issueId));
    this.#with = { ...collaborators, tracker };
    this.#job = job;
    this.#signal = signal;
    this.#readsComments = readsComments;
    this.#by = { actorId: null, origin: collaborators.tracker.provider, requestId };
  }

  /** Syncs the issue and records the result. Errors are left to the caller. */
  async complete(): Promise<void> {
    const job = this.#job;
    const remote = await bindRemote(this.#with, this.#job, this.#signal);
    const fields = await this.#tryPart(this.#syncFields(remote));
    const comments = await this.#syncComments(remote.id, fields?.hasNewComments ?? true);
    const [failure] = this.#failures;
    if (failure !== undefined || fields === undefined) throw failure;
    const { pushed, pulled } = fields;
    const result = {
      created: job.remoteId === null,
      pushed,
      pulled,
      comments_pushed: comments.pushed,
      comments_pulled: comments.pulled,
    };
    await this.#with.leases.finish(job, result, fields);
  }

  // Read, merge, change the local issue, push, read again: success of a push does not prove that it was applied, and it may
  // have replaced an edit that was made after the reading.
  async #syncFields(bound: BoundRemote): Promise<SyncedFields> {
    const pulled = new Set<SyncedPart>();
    let state = { base: bound.base, conflicts: this.#job.conflicts };
    let unverified = this.#job.unverifiedPush;
    for (let merges = 1; ; merges += 1) {
      const before = await this.#read(bound);
      const overwritten = await this.#findOverwritten(bound.id, unverified);
      const external = [...overwritten, ...externalConflicts(before, bound.others)];
      const { plan, activityId } = await this.#mergeLocally({ ...state, external }, before);
      for (const part of plan.pulled) pulled.add(part);
      const result = {
        pulled: [...pulled],
        activityId,
        // Also required after a push, because others may have changed another field before it.
        seenUntil: seenUntil(before, this.#job),
        hasNewComments: this.#hasNewComments(before),
      };
      if (!plan.hasPush) return { pushed: [], ...result };
      try {
        await this.#pushFields(before, plan);
      } catch (error) {
        const isOutdated = error instanceof TrackerError && error.code === 'tracker_busy';
        if (!isOutdated || merges === mergesMax) throw error;
        state = { base: plan.base, conflicts: plan.allConflicts };
        unverified = plan.unverified;
        continue;
      }
      await this.#tryPart(this.#pushLabels(bound.id, plan));
      return { pushed: await this.#verify(plan, before, bound), ...result };
    }
  }

  async #read({ id, since }: BoundRemote): Promise<RemoteIssue> {
    return assertBound(await this.#with.tracker.get(id, this.#signal), since);
  }

  async #findOverwritten(id: string, push: UnverifiedPush | null): Promise<FieldConflict[]> {
    if (push === null) return [];
    return overwrittenConflicts(push, await this.#with.tracker.findOverwritten(id, push, this.#signal));
  }

  // One transaction locks the issue's row, so the issue cannot change between the comparison and the write.
  async #mergeLocally(
    { base, conflicts, external }: Pick<SyncJob, 'base' | 'conflicts'> & { external: FieldConflict[] },
    remote: RemoteIssue,
  ): Promise<{ plan: MergePlan; activityId: number }> {
    const { tracker, policies, writer, repository } = this.#with;
    const changedThere = needsTimes({ base, remote, policies })
      ? await tracker.changeTimes(remote.id, this.#signal)
      : new Map<SyncedField, Date>();
    const knownLabels = await this.#findLabels(remote, base);
    const sides = { base, conflicts, external, remote, tracker, policies, changedThere, knownLabels };
    return repository.transaction(async (transaction) => {
      const merged = await writer.changeLocked(
        this.#job.issueId,
        this.#by,
        async (issue) => {
          const history = await repository.localHistory(issue.id, transaction);
          const plan = planMerge(issue, { ...sides, changedHere: history.changedAt });
          const recorded = { base: plan.base, conflicts: plan.allConflicts, remote, push: plan.unverified };
          await repository.recordMerge(this.#job, recorded, transaction);
          return { change: plan.change, result: { plan, activityId: history.lastId } };
        },
        transaction,
      );
      return assertFound(merged);
    });
  }

  // Returns the local labels of the labels that the remote issue got since the last sync. Creates missing labels.
  async #findLabels({ labels: remote }: RemoteIssue, base: MergeBase) {
    const { tracker, labels } = this.#with;
    const added = remote.filter(({ name }) => !base.labels?.includes(labelKey(name)));
    const { labels: source } = tracker;
    if (source === undefined || added.length === 0) return new Map();
    // A local issue cannot have more labels.
    const names = added.slice(0, issueLabelsMax).map(({ name }) => name);
    return labels.findOrCreate(names, async () => {
      const listed = added.every(({ color }) => color !== null) ? added : await source.list(this.#signal);
      return new Map(listed.flatMap(({ name, color }) => (color === null ? [] : [[labelKey(name), color]])));
    });
  }

  async #pushFields(before: RemoteIssue, { push }: MergePlan): Promise<void> {
    if (Object.keys(push).length === 0) return;
    await this.#with.tracker.update(before, push, issueMarker(this.#job.issueId), this.#signal);
  }

  // Adds and removes labels of the remote issue. Creates labels that the project lacks.
  async #pushLabels(remoteId: string, { labels }: MergePlan): Promise<void> {
    const { labels: tracker } = this.#with.tracker;
    if (tracker === undefined || labels === undefined || !hasPush(labels)) return;
    const { add, remove } = labels.push;
    const existing = add.length === 0 ? [] : await tracker.list(this.#signal);
    const known = new Map(existing.map((label) => [labelKey(label.name), label]));
    const added: RemoteLabel[] = [];
    for (const label of add)
      added.push(known.get(labelKey(label.name)) ?? (await tracker.create(label, this.#signal)));
    await tracker.change(remoteId, { add: added, remove }, this.#signal);
  }

  // Reads the remote issue after a push, and records its effect. Returns the parts that the tracker applied.
  async #verify(plan: MergePlan, before: RemoteIssue, bound: BoundRemote): Promise<SyncedPart[]> {
    const { writer, repository } = this.#with;
    const job = this.#job;
    const after = await this.#read(bound);
    const overwritten = await this.#findOverwritten(bound.id, plan.unverified);
    const { base, conflicts, entries, applied } = confirmPush(plan, {
      before,
      after,
      overwritten,
      previous: job.conflicts,
    });
    await repository.transaction(async (transaction) => {
      const record = async () => {
        await repository.recordMerge(job, { base, conflicts, remote: after, push: null }, transaction);
        return { change: { conflicts: entries }, result: true };
      };
      assertFound(await writer.changeLocked(job.issueId, this.#by, record, transaction));
    });
    return applied;
  }

  #hasNewComments({ commentsCount, updatedAt }: RemoteIssue): boolean {
    // A new comment changes `updatedAt`.
    const isUnchanged = updatedAt.getTime() === this.#job.remoteSeenUntil?.getTime();
    return this.#readsComments || (commentsCount !== 0 && !isUnchanged);
  }

  // Comments are only added: changes and deletions are not sent, and not read.
  async #syncComments(remoteId: string, hasNew: boolean) {
    const { tracker, comments } = this.#with;
    const { issueId } = this.#job;
    const known = await comments.list(issueId);
    if (!hasNew && known.unsent.length === 0) return { pushed: 0, pulled: 0 };
    const remote = await tracker.listComments(remoteId, (id) => !known.knownIds.has(id), this.#signal);
    const { arrived, pull, push } = planComments(remote, {
      unsent: known.unsent,
      marked: await comments.find(issueId, markedComments(remote)),
      toFit: (text) => tracker.toFit(text),
    });
    for (const comment of arrived) await comments.recordSent(issueId, comment.commentId, comment.remoteId);
    const pulled = pull.length === 0 ? 0 : await comments.addRemote(issueId, pull, this.#by);
    let pushed = arrived.length;
    for (const comment of push) if (await this.#tryPart(this.#sendComment(remoteId, comment))) pushed += 1;
    return { pushed, pulled };
  }

  // Returns false if the comment was deleted after the sync had read it.
  async #sendComment(remoteId: string, { id, attemptAge }: UnsentComment): Promise<boolean> {
    const { tracker, comments } = this.#with;
    const { issueId } = this.#job;
    if (attemptAge !== null) assertSettled(tracker, attemptAge);
    const current = await comments.beginSend(id);
    if (current === undefined) return false;
    const text = commentText(current.username, current.body);
    const sentId = await tracker
      .addComment(remoteId, text, commentMarker(id), this.#signal)
      .catch(unlessSent(() => comments.recordSent(issueId, id, null)));
    await comments.recordSent(issueId, id, sentId);
    return true;
  }

  async #tryPart<Result>(part: Promise<Result>): Promise<Result | undefined> {
    return part.catch((error: unknown) => {
      if (!(error instanceof TrackerError && error.isOfPart)) throw error;
      this.#failures.push(error);
      return undefined;
    });
  }
}

// Trackers' times have a resolution of a second: a later change can have the same time until that second has passed. Then
// the next sync reads the issue again.
function seenUntil({ updatedAt, readAt }: RemoteIssue, { remoteSeenUntil, lastSyncAge }: SyncJob): Date {
  const uncertain = new Date(updatedAt.getTime() - 1);
  const wasReadBefore = remoteSeenUntil?.getTime() === uncertain.getTime() && (lastSyncAge ?? 0) >= 2;
  return wasReadBefore || readAt.getTime() - updatedAt.getTime() >= 2_000 ? updatedAt : uncertain;
}
