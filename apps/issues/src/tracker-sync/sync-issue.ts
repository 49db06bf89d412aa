import { issueLabelsMax, type SyncedField, type SyncedPart, syncedFields } from '@tessera/contracts';
import { abortAfter, type Logger, ProblemError } from '@tessera/service-kit';
import type { ActivityEntry } from '../issue-core/activity-entry.ts';
import type { Actor } from '../issue-core/actor.ts';
import type { ChangedBy } from '../issue-core/issue.ts';
import { assertMay } from '../issue-core/issue-access.ts';
import { planChange } from '../issue-core/issue-change.ts';
import type { IssueReference } from '../issue-core/issue-reference.ts';
import { labelKey } from '../issue-core/label.ts';
import type { IssueRepository } from '../issue-store/issue.repository.ts';
import type { IssueStatusRepository } from '../issue-store/issue-status.repository.ts';
import { found } from '../issues/issue.service.ts';
import type { LabelService } from '../labels/label.service.ts';
import type { ExternalTracker, RemoteIssue, TrackerLabels } from '../trackers/external-tracker.ts';
import { adviceFor, TrackerError, trackerProblem } from '../trackers/tracker-error.ts';
import { commentMarker, commentText, issueMarker } from '../trackers/tracker-text.ts';
import { hasPush, type LabelMerge, mergeLabels, pushLabels, verifyLabels } from './label-merge.ts';
import { LeaseLostError, type RecordedMerge, type SyncJob, type SyncRepository } from './sync.repository.ts';
import {
  addConflicts,
  addPushConflicts,
  baseOfAdopted,
  baseOfCreated,
  type ConflictPolicies,
  claimedComments,
  draftOf,
  externalConflicts,
  type FieldConflict,
  type LocalIssue,
  type Merge,
  type MergeBase,
  mergeIssue,
  needsTimes,
  type OtherRemotes,
  overwrittenConflicts,
  planComments,
  stepsTowards,
  type UnsentComment,
  type UnverifiedPush,
  unverifiedPush,
  verifyPush,
} from './sync-merge.ts';

interface SyncServiceDependencies {
  issues: IssueRepository;
  /** Undefined if no tracker is configured. */
  executor: SyncExecutor | undefined;
}

/** POST /api/v1/issues/{id}/sync/ (issue-tracking.md 4). */
export class SyncService {
  readonly #dependencies: SyncServiceDependencies;

  constructor(dependencies: SyncServiceDependencies) {
    this.#dependencies = dependencies;
  }

  async sync(actor: Actor, reference: IssueReference, requestId: string) {
    const { issues, executor } = this.#dependencies;
    const issue = found(await issues.findState(reference));
    assertMay(actor, 'sync', issue);
    if (executor === undefined) throw trackerNotConfigured();
    await executor.syncNow(issue.id, actor.id, requestId);
    return found(await issues.find({ id: issue.id }));
  }
}

export function trackerNotConfigured(): ProblemError {
  return new ProblemError({
    status: 409,
    code: 'tracker_not_configured',
    detail: 'No external tracker is configured.',
  });
}

export function syncInProgress(): ProblemError {
  return new ProblemError({
    status: 409,
    code: 'sync_in_progress',
    detail: 'Another sync of this issue is running.',
    headers: { 'Retry-After': '1' },
  });
}

interface SyncExecutorDependencies {
  tracker: ExternalTracker;
  repository: SyncRepository;
  issues: IssueRepository;
  statuses: IssueStatusRepository;
  labels: LabelService;
  policies: ConflictPolicies;
  /** Time limit of a sync during a request, in milliseconds. */
  deadlineMs: number;
  /** Delay before the first retry in the background, in seconds. */
  retrySeconds: number;
  /** Called with `synced` or the error code of each sync. */
  onEnded: (outcome: string) => void;
  logger: Logger;
}

interface FailedRun {
  error: TrackerError;
  /** Time of the next background retry; null if the sync is not retried. */
  nextAttemptAt: Date | null;
}

interface RemotePair {
  remoteId: string;
  /** See `SyncJob.remoteSince`. */
  since: Date | null;
  base: MergeBase;
  others: OtherRemotes;
}

interface MergedFields extends Merge {
  /** Undefined if the tracker has no labels. */
  labels: { tracker: TrackerLabels; merge: LabelMerge } | undefined;
  local: LocalIssue;
  /** All conflicts of the issue after the merge. */
  allConflicts: SyncJob['conflicts'];
  unverified: UnverifiedPush | null;
  /** The id of the last local history entry that the merge has included. */
  activityId: number;
}

/** Errors whose cause `findProblem` may find. */
const explainedCodes = new Set<string>([
  'not_a_member',
  'tracker_rejected',
  'remote_gone',
  'project_not_found',
]);

/** Maximum number of merges in one sync. A merge is repeated if the remote issue changed before our update. */
const mergesMax = 2;

/** Syncs issues with the tracker. The process can crash after each step; the next sync then continues. */
export class SyncExecutor {
  readonly #dependencies: SyncExecutorDependencies;
  readonly #stopping = new AbortController();
  readonly #running = new Set<Promise<unknown>>();
  #credentialsRejected = false;

  constructor(dependencies: SyncExecutorDependencies) {
    this.#dependencies = dependencies;
  }

  /** Whether the tracker rejected our credentials in the last sync. */
  get credentialsRejected(): boolean {
    return this.#credentialsRejected;
  }

  /**
   * Syncs an issue during a request. If several calls run concurrently, one syncs and the others throw
   * `sync_in_progress`.
   */
  async syncNow(issueId: string, requestedBy: string, requestId: string): Promise<void> {
    const { repository, deadlineMs } = this.#dependencies;
    const job = await repository.lease(issueId, requestedBy, deadlineMs);
    if (job === undefined) throw syncInProgress();
    const failed = await this.run(job, requestId, deadlineMs, { isRequested: true });
    if (failed !== undefined) throw trackerProblem(failed.error, failed.nextAttemptAt);
  }

  /**
   * Syncs a leased issue within `timeoutMs` and records the result. A sync that a user has requested finds comments whose
   * publication does not change the remote issue, with one more request.
   */
  async run(
    job: SyncJob,
    requestId: string,
    timeoutMs: number,
    { isRequested = false } = {},
  ): Promise<FailedRun | undefined> {
    const { onEnded } = this.#dependencies;
    const signal = abortAfter(timeoutMs, this.#stopping.signal);
    const readsComments = isRequested && this.#dependencies.tracker.publishesLate;
    const run = this.#syncIssue(job, readsComments, requestId, signal).catch((error) =>
      this.#fail(job, error, requestId),
    );
    this.#running.add(run);
    try {
      const failed = await run;
      onEnded(failed === undefined ? 'synced' : failed.error.code);
      return failed;
    } catch (error) {
      onEnded('sync_failed');
      throw error;
    } finally {
      this.#running.delete(run);
    }
  }

  /** Aborts running syncs, and waits until they have ended their leases. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    await Promise.allSettled(this.#running);
  }

  async #syncIssue(
    job: SyncJob,
    readsComments: boolean,
    requestId: string,
    signal: AbortSignal,
  ): Promise<undefined> {
    const { remoteId } = job;
    const pair =
      remoteId === null
        ? await this.#createOrAdopt(job, signal)
        : {
            remoteId,
            since: job.remoteSince,
            base: job.base,
            others: await this.#findOthers(job, remoteId, signal),
          };
    const failures: TrackerError[] = [];
    const fields = await this.#syncFields(job, pair, requestId, failures, signal).catch(
      unlessOfPart(failures),
    );
    const isKnown =
      !readsComments &&
      fields !== undefined &&
      (fields.commentsCount === 0 || fields.updatedAt.getTime() === job.remoteSeenUntil?.getTime());
    const comments = await this.#syncComments(
      job.issueId,
      pair.remoteId,
      isKnown,
      requestId,
      failures,
      signal,
    );
    const [failure] = failures;
    if (failure !== undefined || fields === undefined) throw failure;
    const result = {
      created: remoteId === null,
      pushed: fields.pushed,
      pulled: fields.pulled,
      comments_pushed: comments.pushed,
      comments_pulled: comments.pulled,
    };
    await this.#dependencies.repository.finish(job, result, fields);
    this.#credentialsRejected = false;
  }

  // A create request without a response may have taken effect, so the next sync first searches for its issue. The same
  // applies to a refused one, because a proxy may have refused the tracker's response.
  async #createOrAdopt(job: SyncJob, signal: AbortSignal): Promise<RemotePair> {
    const { tracker, issues, repository } = this.#dependencies;
    const { createAttemptedAt, createAttemptAge } = job;
    const attemptedAt = createAttemptedAt ?? job.createRefusedAt;
    const { created: earlier, copies } =
      attemptedAt === null
        ? { created: [], copies: [] }
        : await this.#findMarked(job.issueId, attemptedAt, signal);
    const [adopted, ...duplicates] = earlier;
    const others = { duplicates, copies };
    if (adopted !== undefined) {
      assertPublic(adopted);
      const base = baseOfAdopted(job.base, tracker);
      await repository.recordRemote(job, adopted, base, job.requestedBy);
      return { remoteId: adopted.id, since: adopted.createdAt, base, others };
    }
    if (createAttemptAge !== null) this.#assertSettled(createAttemptAge);
    const draft = draftOf(found(await issues.findState({ id: job.issueId })), tracker);
    await repository.beginCreate(job, draft);
    const created = await tracker
      .create(draft, issueMarker(job.issueId), signal)
      .catch(unlessSent((error) => repository.cancelCreate(job, { isCertain: !error.isRefusal })));
    const base = baseOfCreated(created);
    await repository.recordRemote(job, created, base, job.requestedBy);
    return { remoteId: created.id, since: created.createdAt, base, others };
  }

  // A request can take effect long after it timed out, even after a later request.
  async #findOthers(job: SyncJob, remoteId: string, signal: AbortSignal): Promise<OtherRemotes> {
    if (job.uncertainSince === null) return { duplicates: [], copies: [] };
    const { created, copies } = await this.#findMarked(job.issueId, job.uncertainSince, signal);
    return { duplicates: created.filter(({ id }) => id !== remoteId), copies };
  }

  // Anyone who can edit an issue in the tracker can copy a marker into it.
  async #findMarked(issueId: string, attemptedAt: Date, signal: AbortSignal) {
    const { tracker, repository } = this.#dependencies;
    const marker = issueMarker(issueId);
    const created: RemoteIssue[] = [];
    const copies: RemoteIssue[] = [];
    // The tracker's clock can differ from ours.
    const since = new Date(attemptedAt.getTime() - 10 * 60_000);
    for (const remote of await tracker.findByMarker(marker, since, signal)) {
      const owner = (await repository.findOwner(remote.id)) ?? issueId;
      (owner === issueId && remote.marker === marker ? created : copies).push(remote);
    }
    return { created, copies };
  }

  #assertSettled(attemptAge: number): void {
    const remaining = this.#dependencies.tracker.settleSeconds - attemptAge;
    if (remaining <= 0) return;
    throw new TrackerError('create_outcome_unknown', 'an earlier request may still take effect', {
      isPostponed: true,
      retryAfterSeconds: Math.ceil(remaining),
    });
  }

  // Read, merge, change the local issue, push, read again: success of a push does not prove that it was applied, and it may
  // have replaced an edit that was made after the reading.
  async #syncFields(
    job: SyncJob,
    { remoteId, since, base, others }: RemotePair,
    requestId: string,
    failures: TrackerError[],
    signal: AbortSignal,
  ) {
    const { tracker } = this.#dependencies;
    const pulled = new Set<SyncedPart>();
    let state = { base, conflicts: job.conflicts };
    let unverified = job.unverifiedPush;
    for (let merges = 1; ; merges += 1) {
      const before = assertBound(await tracker.get(remoteId, signal), since);
      const overwritten = await this.#findOverwritten(remoteId, unverified, signal);
      const external = [...overwritten, ...externalConflicts(before, others)];
      const merged = await this.#mergeLocally(job, { ...state, external }, before, requestId, signal);
      const { push, labels, activityId } = merged;
      // Also required after a push, because others may have changed another field before it.
      const { updatedAt, commentsCount } = before;
      const seen = { updatedAt, commentsCount, seenUntil: seenUntil(before, job) };
      unverified = merged.unverified;
      for (const field of syncedFields) if (field in merged.pull) pulled.add(field);
      if (labels?.merge.isPulled) pulled.add('labels');
      state = { base: merged.base, conflicts: merged.allConflicts };
      const isLabelPush = labels !== undefined && hasPush(labels.merge);
      if (Object.keys(push).length === 0 && !isLabelPush)
        return { pushed: [], pulled: [...pulled], activityId, ...seen };
      try {
        if (Object.keys(push).length > 0)
          await tracker.update(before, push, issueMarker(job.issueId), signal);
      } catch (error) {
        const isOutdated = error instanceof TrackerError && error.code === 'tracker_busy';
        if (isOutdated && merges < mergesMax) continue;
        throw error;
      }
      if (isLabelPush) {
        const change = pushLabels(labels.tracker, remoteId, labels.merge.push, signal);
        await change.catch(unlessOfPart(failures));
      }
      const after = assertBound(await tracker.get(remoteId, signal), since);
      const pushed = verifyPush(merged, merged.local, { before, after });
      const unseen = { ...pushed, overwritten: await this.#findOverwritten(remoteId, unverified, signal) };
      const result = addPushConflicts(state.conflicts, unseen, job.conflicts);
      const ended = isLabelPush ? verifyLabels(labels.merge, after.labels) : undefined;
      const base = { ...pushed.base, ...(ended && { labels: ended.base }) };
      await this.#recordPush(job, { ...result, base, remote: after }, requestId);
      const applied: SyncedPart[] = [...pushed.applied, ...(ended?.isApplied ? (['labels'] as const) : [])];
      return { pushed: applied, pulled: [...pulled], activityId, ...seen };
    }
  }

  async #findOverwritten(
    remoteId: string,
    push: UnverifiedPush | null,
    signal: AbortSignal,
  ): Promise<FieldConflict[]> {
    if (push === null) return [];
    return overwrittenConflicts(
      push,
      await this.#dependencies.tracker.findOverwritten(remoteId, push, signal),
    );
  }

  async #recordPush(
    job: SyncJob,
    { activity, ...push }: { activity: ActivityEntry[] } & Omit<RecordedMerge, 'push'>,
    requestId: string,
  ): Promise<void> {
    const { tracker, issues, repository } = this.#dependencies;
    const by: ChangedBy = { actorId: null, origin: tracker.provider, requestId };
    await repository.transaction(async (transaction) => {
      found(await issues.lock({ id: job.issueId }, transaction));
      await repository.recordMerge(job, { ...push, push: null }, transaction);
      if (activity.length === 0) return;
      const change = { fields: {}, links: { put: [], removed: [] }, activity };
      await issues.write(job.issueId, change, by, transaction);
    });
  }

  // One transaction locks the issue's row, so the issue cannot change between the comparison and the write.
  async #mergeLocally(
    job: SyncJob,
    { base, conflicts, external }: Pick<SyncJob, 'base' | 'conflicts'> & { external: FieldConflict[] },
    remote: RemoteIssue,
    requestId: string,
    signal: AbortSignal,
  ): Promise<MergedFields> {
    const { tracker, issues, statuses, repository, policies } = this.#dependencies;
    const by: ChangedBy = { actorId: null, origin: tracker.provider, requestId };
    const remoteTimes = needsTimes({ base, remote, policies })
      ? await tracker.changeTimes(remote.id, signal)
      : new Map<SyncedField, Date>();
    const knownLabels = await this.#findLabels(remote, base, signal);
    return repository.transaction(async (transaction) => {
      const issue = found(await issues.lock({ id: job.issueId }, transaction));
      const history = await repository.localHistory(job.issueId, transaction);
      const local: LocalIssue = { ...issue, wasResolved: issue.resolvedAt !== null };
      const newest = (field: SyncedField) => {
        const there = remoteTimes.get(field);
        if (there === undefined) return null;
        return (history.changedAt.get(field) ?? new Date(0)) >= there ? 'local' : 'remote';
      };
      const merge = mergeIssue({ base, local, remote, tracker, policies, newest });
      const labels =
        tracker.labels === undefined
          ? undefined
          : {
              tracker: tracker.labels,
              merge: mergeLabels({
                base: base.labels ?? [],
                local: issue.labels,
                remote: remote.labels,
                known: knownLabels,
                tracker: tracker.labels,
              }),
            };
      const newBase = { ...merge.base, ...(labels && { labels: labels.merge.base }) };
      const after = addConflicts(conflicts, [...merge.conflicts, ...external]);
      const unverified = unverifiedPush(merge, local, remote);
      await repository.recordMerge(
        job,
        { base: newBase, conflicts: after.conflicts, remote, push: unverified },
        transaction,
      );
      const { status: pulledStatus, ...fields } = merge.pull;
      const steps = pulledStatus === undefined ? [] : stepsTowards(remote.state, issue.status, tracker);
      await statuses.walk(issue, steps, by, transaction);
      const change = planChange(issue, { ...fields, labels: labels?.merge.local, keepTrackerLinks: true });
      const activity = [...(change?.activity ?? []), ...after.activity];
      if (activity.length > 0) {
        const links = { put: [], removed: [] };
        const { fields: changed = {}, labels: changedLabels } = change ?? {};
        const write = { fields: changed, links, labels: changedLabels, activity };
        await issues.write(issue.id, write, by, transaction);
      }
      return {
        ...merge,
        base: newBase,
        labels,
        local,
        allConflicts: after.conflicts,
        unverified,
        activityId: history.lastId,
      };
    });
  }

  // Returns the local labels of the labels that the remote issue got since the last sync. Creates missing labels.
  async #findLabels({ labels: remote }: RemoteIssue, base: MergeBase, signal: AbortSignal) {
    const { tracker, labels } = this.#dependencies;
    const added = remote.filter(({ name }) => !base.labels?.includes(labelKey(name)));
    if (tracker.labels === undefined || added.length === 0) return new Map();
    const source = tracker.labels;
    // A local issue cannot have more labels.
    const names = added.slice(0, issueLabelsMax).map(({ name }) => name);
    return labels.findOrCreate(names, async () => {
      const listed = added.every(({ color }) => color !== null) ? added : await source.list(signal);
      return new Map(listed.flatMap(({ name, color }) => (color === null ? [] : [[labelKey(name), color]])));
    });
  }

  // Syncs comments, which are only added: changes and deletions are not sent, and not read. A new comment changes the remote issue's
  // `updatedAt`, so comments are not listed if that time is unchanged or the remote issue has no comments.
  async #syncComments(
    issueId: string,
    remoteId: string,
    isRemoteKnown: boolean,
    requestId: string,
    failures: TrackerError[],
    signal: AbortSignal,
  ) {
    const { tracker, repository } = this.#dependencies;
    const known = await repository.listComments(issueId);
    if (isRemoteKnown && known.unsent.length === 0) return { pushed: 0, pulled: 0 };
    const remote = await tracker.listComments(remoteId, (id) => !known.knownIds.has(id), signal);
    const claimed = await repository.findComments(issueId, claimedComments(remote));
    const { arrived, pull, push } = planComments(remote, {
      unsent: known.unsent,
      claimed,
      toFit: (text) => tracker.toFit(text),
    });
    for (const comment of arrived) await repository.recordSent(issueId, comment.commentId, comment.remoteId);
    const pulled = pull.length === 0 ? 0 : await repository.addRemoteComments(issueId, pull, requestId);
    let pushed = arrived.length;
    for (const comment of push) {
      const isSent = await this.#sendComment(issueId, remoteId, comment, signal).catch(
        unlessOfPart(failures),
      );
      if (isSent) pushed += 1;
    }
    return { pushed, pulled };
  }

  // Returns false if the comment was deleted after the sync had read it.
  async #sendComment(
    issueId: string,
    remoteId: string,
    { id, attemptAge }: UnsentComment,
    signal: AbortSignal,
  ): Promise<boolean> {
    const { tracker, repository } = this.#dependencies;
    if (attemptAge !== null) this.#assertSettled(attemptAge);
    const current = await repository.beginSend(id);
    if (current === undefined) return false;
    const sentId = await tracker
      .addComment(remoteId, commentText(current.username, current.body), commentMarker(id), signal)
      .catch(unlessSent(() => repository.recordSent(issueId, id, null)));
    await repository.recordSent(issueId, id, sentId);
    return true;
  }

  // Trackers report a wrong project, a missing permission and disabled issues with the same status codes as other
  // errors.
  async #explain(error: unknown): Promise<unknown> {
    if (!(error instanceof TrackerError) || !explainedCodes.has(error.code)) return error;
    const { tracker, deadlineMs } = this.#dependencies;
    const signal = abortAfter(deadlineMs, this.#stopping.signal);
    return (await tracker.findProblem(signal).catch(() => undefined)) ?? error;
  }

  async #fail(job: SyncJob, cause: unknown, requestId: string): Promise<FailedRun> {
    const error = await this.#explain(cause);
    const { repository, retrySeconds: firstDelaySeconds, logger } = this.#dependencies;
    const { issueId } = job;
    if (!(error instanceof TrackerError)) {
      logger.error({ err: error, issueId, requestId }, 'sync failed with an internal error');
      // If the database fails again, the lease expires.
      const retry = { firstDelaySeconds, minSeconds: 0, isPostponed: false };
      await repository
        .fail(job, { code: 'sync_failed', movedTo: null, retry })
        .catch((err: unknown) => logger.warn({ err, issueId }, 'could not record a failed sync'));
      throw error;
    }
    const {
      code,
      message,
      messages,
      isTransient,
      isPostponed,
      retryAfterSeconds: minSeconds = 0,
      location: movedTo,
    } = error;
    logger.warn(
      { issueId, requestId, code, reason: message, messages, advice: adviceFor(code) },
      'sync failed',
    );
    // Another process has leased the issue since.
    if (error instanceof LeaseLostError) return { error, nextAttemptAt: new Date() };
    if (this.#stopping.signal.aborted) {
      await repository.release(job, { isDue: true });
      return { error, nextAttemptAt: new Date() };
    }
    this.#credentialsRejected = code === 'tracker_auth_failed';
    const retry = isTransient ? { firstDelaySeconds, minSeconds, isPostponed } : null;
    return { error, nextAttemptAt: await repository.fail(job, { code, messages, movedTo, retry }) };
  }
}

/** Throws if the remote issue is visible to only some users of its project, because every local user would see it. */
export function assertPublic(remote: RemoteIssue): RemoteIssue {
  if (!remote.isPrivate) return remote;
  throw new TrackerError('remote_private', 'private in the tracker', { hadNoEffect: true });
}

/**
 * Whether a remote issue was created at the time that `SyncJob.remoteSince` contains. A Redmine on SQLite uses the numbers
 * of deleted issues again.
 */
export function isSameIssue({ createdAt }: RemoteIssue, since: Date | null): boolean {
  return since === null || createdAt.getTime() === since.getTime();
}

/** Throws if the remote issue is private, or is another one with the same number. */
export function assertBound(remote: RemoteIssue, since: Date | null): RemoteIssue {
  if (isSameIssue(remote, since)) return assertPublic(remote);
  throw new TrackerError('remote_gone', 'another issue has its number', {
    hadNoEffect: true,
    detail:
      'The issue was deleted in the external tracker, which gave its number to another issue: staff can detach it, or attach another one.',
  });
}

// Handles the error of one part of an issue: the other parts are synced before the sync fails.
function unlessOfPart(failures: TrackerError[]): (error: unknown) => undefined {
  return (error) => {
    if (!(error instanceof TrackerError && error.isOfPart)) throw error;
    failures.push(error);
  };
}

// Trackers' times have a resolution of a second: a later change can have the same time until that second has passed. Then
// the next sync reads the issue again.
function seenUntil({ updatedAt, readAt }: RemoteIssue, { remoteSeenUntil, lastSyncAge }: SyncJob): Date {
  const uncertain = new Date(updatedAt.getTime() - 1);
  const wasReadBefore = remoteSeenUntil?.getTime() === uncertain.getTime() && (lastSyncAge ?? 0) >= 2;
  return wasReadBefore || readAt.getTime() - updatedAt.getTime() >= 2_000 ? updatedAt : uncertain;
}

// Handles the error of a request that creates something: if it certainly had no effect, its record is cancelled.
function unlessSent(cancel: (error: TrackerError) => Promise<void>): (error: unknown) => Promise<never> {
  return async (error) => {
    if (error instanceof TrackerError && error.hadNoEffect) await cancel(error);
    throw error;
  };
}
