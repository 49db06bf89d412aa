import type { SyncResult } from '@tessera/contracts';
import type { IssueRepository } from '../issues/issue.repository.ts';
import { found } from '../issues/issue.service.ts';
import type { ChangedBy } from '../issues/issue.ts';
import type { ExternalTracker, RemoteDraft, RemoteIssue } from '../trackers/external-tracker.ts';
import { TrackerError } from '../trackers/tracker-error.ts';
import { canonicalText, canonicalTitle, issueMarker } from '../trackers/tracker-text.ts';
import type { SyncRepository } from './sync.repository.ts';
import type { SyncComments } from './sync-comments.ts';
import type { SyncFields } from './sync-fields.ts';
import type { Agreement } from './sync-merge.ts';
import type { TrackerLink } from './tracker-link.ts';

interface SyncRunDependencies {
  tracker: ExternalTracker;
  issues: IssueRepository;
  repository: SyncRepository;
  fields: SyncFields;
  comments: SyncComments;
}

/** How far before an attempt to create its issue may be dated: the tracker's clock is its own. */
const clockMarginMs = 10 * 60_000;

/** One sync of one issue, under a claim. Each step can be the last one before a crash, and the next sync goes on from it. */
export class SyncRun {
  readonly #dependencies: SyncRunDependencies;

  constructor(dependencies: SyncRunDependencies) {
    this.#dependencies = dependencies;
  }

  async sync(link: TrackerLink, requestId: string, signal: AbortSignal): Promise<void> {
    const { tracker, repository, fields, comments } = this.#dependencies;
    const by: ChangedBy = { actorId: null, origin: tracker.provider, requestId };
    const known = link.remoteId === null ? await this.#createOrAdopt(link, signal) : undefined;
    const remoteId = known?.remoteId ?? link.remoteId ?? '';
    const { pushed, pulled, activityId } = await fields.sync(
      known === undefined ? link : { ...link, base: known.base },
      remoteId,
      by,
      signal,
    );
    const talk = await comments.sync(link, remoteId, requestId, signal);
    const result: SyncResult = {
      created: known?.isNew ?? false,
      pushed,
      pulled,
      comments_pushed: talk.pushed,
      comments_pulled: talk.pulled,
    };
    await repository.finish(link, { result, activityId });
  }

  // An attempt whose outcome nobody saw is looked for before there is another one.
  async #createOrAdopt(link: TrackerLink, signal: AbortSignal) {
    const { tracker, repository } = this.#dependencies;
    const adopted = await this.#findAttempted(link, signal);
    if (adopted !== undefined) {
      const base = baseOfAdopted(link.base, adopted, tracker);
      await repository.recordRemote(link, adopted, base, link.requestedBy);
      return { remoteId: adopted.id, base, isNew: true };
    }
    const draft = await this.#draft(link);
    await repository.beginCreate(link, draft);
    const created = await this.#create(link, draft, signal);
    const base = baseOfUntouched(created);
    await repository.recordRemote(link, created, base, link.requestedBy);
    return { remoteId: created.id, base, isNew: true };
  }

  async #findAttempted(link: TrackerLink, signal: AbortSignal): Promise<RemoteIssue | undefined> {
    const { issueId, createAttemptedAt: attemptedAt, createAttemptAge: age } = link;
    if (attemptedAt === null || age === null) return undefined;
    const { tracker } = this.#dependencies;
    const since = new Date(attemptedAt.getTime() - clockMarginMs);
    const [found] = await tracker.findByMarker(issueMarker(issueId), since, signal);
    if (found === undefined && age < tracker.settleSeconds) {
      throw new TrackerError('create_outcome_unknown', 'an earlier request to create may still take effect', {
        retryAfterSeconds: Math.ceil(tracker.settleSeconds - age),
      });
    }
    return found;
  }

  async #draft({ issueId }: TrackerLink): Promise<RemoteDraft> {
    const { title, description, priority } = found(
      await this.#dependencies.issues.findState({ id: issueId }),
    );
    return { title: canonicalTitle(title), description: canonicalText(description), priority };
  }

  async #create(link: TrackerLink, draft: RemoteDraft, signal: AbortSignal): Promise<RemoteIssue> {
    try {
      return await this.#dependencies.tracker.create(draft, issueMarker(link.issueId), signal);
    } catch (error) {
      if (error instanceof TrackerError && error.hadNoEffect)
        await this.#dependencies.repository.forgetCreate(link);
      throw error;
    }
  }
}

// Nobody has touched it yet: where it differs from what was sent, the tracker did not apply that, and it is sent again.
function baseOfUntouched({ title, description, priority, state }: RemoteIssue): Agreement {
  return {
    title,
    description,
    ...(priority === null ? {} : { priority }),
    status: { local: 'OPEN', remote: state },
  };
}

// What was sent is what both sides agreed on; where it was touched since, that is somebody's change.
function baseOfAdopted(draft: Agreement, remote: RemoteIssue, tracker: ExternalTracker): Agreement {
  if (remote.createdAt.getTime() === remote.updatedAt.getTime()) return baseOfUntouched(remote);
  const state = tracker.stateOf({ status: 'OPEN', wasResolved: false });
  return { ...draft, status: { local: 'OPEN', remote: state } };
}
