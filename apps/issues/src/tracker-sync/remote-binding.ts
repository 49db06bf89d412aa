import { assertFound } from '../issue-core/issue-reference.ts';
import { systemScope } from '../issue-core/project-access.ts';
import type { IssueReader } from '../issue-store/read.ts';
import type { ExternalTracker, RemoteDraft, RemoteIssue } from '../trackers/external-tracker.ts';
import { TrackerError } from '../trackers/tracker-error.ts';
import { canonicalText, canonicalTitle, issueMarker } from '../trackers/tracker-text.ts';
import type { LocalIssue, MergeBase } from './field-merge.ts';
import type { SyncRepository } from './sync.repository.ts';
import type { OtherRemotes } from './sync-conflict.ts';
import type { SyncJob } from './sync-lease.repository.ts';

interface BindingCollaborators {
  tracker: ExternalTracker;
  repository: SyncRepository;
  reader: IssueReader;
}

/** The remote issue of the synced one. */
export interface BoundRemote {
  id: string;
  /** See `SyncJob.remoteSince`. */
  since: Date | null;
  base: MergeBase;
  others: OtherRemotes;
}

/** Returns the remote issue of a leased issue. Creates it if there is none. */
export async function bindRemote(
  collaborators: BindingCollaborators,
  job: SyncJob,
  signal: AbortSignal,
): Promise<BoundRemote> {
  const { remoteId: id, remoteSince: since, base, uncertainSince } = job;
  if (id === null) return createOrAdopt(collaborators, job, signal);
  if (uncertainSince === null) return { id, since, base, others: { duplicates: [], copies: [] } };
  // A request can take effect long after it timed out, even after a later request.
  const { created, copies } = await findMarked(collaborators, job.issueId, uncertainSince, signal);
  return { id, since, base, others: { duplicates: created.filter((remote) => remote.id !== id), copies } };
}

// A create request without a response may have taken effect, so the next sync first searches for its issue. The same
// applies to a refused one, because a proxy may have refused the tracker's response.
async function createOrAdopt(
  collaborators: BindingCollaborators,
  job: SyncJob,
  signal: AbortSignal,
): Promise<BoundRemote> {
  const { tracker, reader, repository } = collaborators;
  const { createAttemptAge } = job;
  const attemptedAt = job.createAttemptedAt ?? job.createRefusedAt;
  const { created: earlier, copies } =
    attemptedAt === null
      ? { created: [], copies: [] }
      : await findMarked(collaborators, job.issueId, attemptedAt, signal);
  const [adopted, ...duplicates] = earlier;
  const bind = async (remote: RemoteIssue, base: MergeBase): Promise<BoundRemote> => {
    await repository.recordRemote(job, remote, base, job.requestedBy);
    return { id: remote.id, since: remote.createdAt, base, others: { duplicates, copies } };
  };
  if (adopted !== undefined) return bind(assertPublic(adopted), baseOfAdopted(job.base, tracker));
  if (createAttemptAge !== null) assertSettled(tracker, createAttemptAge);
  const draft = draftOf(
    assertFound(await reader.findState({ id: job.issueId, scope: systemScope })),
    tracker,
  );
  await repository.beginCreate(job, draft);
  const created = await tracker
    .create(draft, issueMarker(job.issueId), signal)
    .catch(unlessSent((error) => repository.cancelCreate(job, { isCertain: !error.isRefusal })));
  return bind(created, baseOfCreated(created));
}

// Anyone who can edit an issue in the tracker can copy a marker into it.
async function findMarked(
  { tracker, repository }: BindingCollaborators,
  issueId: string,
  attemptedAt: Date,
  signal: AbortSignal,
) {
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

/** Throws if a request that was sent `attemptAge` seconds ago can still take effect. */
export function assertSettled({ settleSeconds }: ExternalTracker, attemptAge: number): void {
  const remaining = settleSeconds - attemptAge;
  if (remaining <= 0) return;
  throw new TrackerError('create_outcome_unknown', 'an earlier request may still take effect', {
    isPostponed: true,
    retryAfterSeconds: Math.ceil(remaining),
  });
}

// Returns the fields of the remote issue to create.
function draftOf(
  { title, description, priority }: Pick<LocalIssue, keyof RemoteDraft>,
  tracker: Pick<ExternalTracker, 'toFit'>,
): RemoteDraft {
  return {
    title: canonicalTitle(title),
    description: tracker.toFit(canonicalText(description)),
    priority,
  };
}

// Returns the base after creating a remote issue: the values that the tracker returned. A value that it did not apply is
// pushed next.
function baseOfCreated({ title, description, priority, state }: RemoteIssue): MergeBase {
  return {
    title,
    description,
    ...(priority === null ? {} : { priority }),
    status: { local: 'OPEN', remote: state },
  };
}

// Returns the base after finding the remote issue of an earlier attempt: the values that were sent, so that later edits
// in the tracker are pulled.
function baseOfAdopted(draft: MergeBase, tracker: Pick<ExternalTracker, 'stateOf'>): MergeBase {
  const state = tracker.stateOf({ status: 'OPEN', wasResolved: false });
  return { ...draft, status: { local: 'OPEN', remote: state } };
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

/** Handles the error of a request that creates something: if it certainly had no effect, its record is cancelled. */
export function unlessSent(
  cancel: (error: TrackerError) => Promise<void>,
): (error: unknown) => Promise<never> {
  return async (error) => {
    if (error instanceof TrackerError && error.hadNoEffect) await cancel(error);
    throw error;
  };
}
