import { commentMaxLength } from '@tessera/contracts';
import type { ExternalTracker, RemoteComment } from '../trackers/external-tracker.ts';
import { TrackerError } from '../trackers/tracker-error.ts';
import { canonicalText, commentMarker, cutText, markedComment } from '../trackers/tracker-text.ts';
import type { SyncCommentRepository, UnsentComment } from './sync-comment.repository.ts';
import type { TrackerLink } from './tracker-link.ts';

interface SyncCommentsDependencies {
  tracker: ExternalTracker;
  repository: SyncCommentRepository;
}

export interface CommentResult {
  pushed: number;
  pulled: number;
}

/** The comments of an issue: what one side has and the other lacks is added, and nothing is ever changed or taken away. */
export class SyncComments {
  readonly #tracker: ExternalTracker;
  readonly #repository: SyncCommentRepository;

  constructor({ tracker, repository }: SyncCommentsDependencies) {
    this.#tracker = tracker;
    this.#repository = repository;
  }

  async sync(
    { issueId }: TrackerLink,
    remoteId: string,
    requestId: string,
    signal: AbortSignal,
  ): Promise<CommentResult> {
    const remote = await this.#tracker.listComments(remoteId, signal);
    const known = await this.#repository.listKnown(issueId);
    const unsent = await this.#repository.listUnsent(issueId);
    const arrived = await this.#recogniseOwn(remote, known, unsent);
    const foreign = remote.filter(({ id }) => !known.has(id) && !arrived.remoteIds.has(id));
    const pulled = await this.#pull(issueId, foreign, requestId);
    const missing = unsent.filter(({ id }) => !arrived.commentIds.has(id));
    for (const comment of missing) await this.#push(issueId, remoteId, comment, signal);
    return { pushed: missing.length + arrived.commentIds.size, pulled };
  }

  // Comments of ours that arrived although nobody saw the answer. A marker that somebody has quoted or copied, of a
  // comment that is there already, makes nobody's words ours.
  async #recogniseOwn(
    remote: readonly RemoteComment[],
    known: ReadonlyMap<string, string>,
    unsent: readonly UnsentComment[],
  ) {
    const attempted = new Set(unsent.filter(({ attemptAge }) => attemptAge !== null).map(({ id }) => id));
    const remoteIds = new Set<string>();
    const commentIds = new Set<string>();
    for (const { id, body } of remote) {
      const commentId = markedComment(body);
      if (commentId === undefined || known.has(id)) continue;
      if (!attempted.has(commentId) || commentIds.has(commentId)) continue;
      await this.#repository.recordSent(commentId, id);
      remoteIds.add(id);
      commentIds.add(commentId);
    }
    return { remoteIds, commentIds };
  }

  async #pull(issueId: string, comments: readonly RemoteComment[], requestId: string) {
    const readable = comments
      .map(({ id, body, author, createdAt }) => ({
        remoteId: id,
        body: cutText(canonicalText(body), commentMaxLength),
        author,
        createdAt,
      }))
      .filter(({ body }) => body !== '');
    return readable.length === 0 ? 0 : this.#repository.addRemote(issueId, readable, requestId);
  }

  async #push(
    issueId: string,
    remoteId: string,
    { id, body, username, attemptAge }: UnsentComment,
    signal: AbortSignal,
  ): Promise<void> {
    if (attemptAge !== null && attemptAge < this.#tracker.settleSeconds) {
      const retryAfterSeconds = Math.ceil(this.#tracker.settleSeconds - attemptAge);
      throw new TrackerError('create_outcome_unknown', 'an earlier comment may still arrive', {
        retryAfterSeconds,
      });
    }
    await this.#repository.beginSend(issueId, id);
    const text = `${username ?? 'Somebody'} wrote:\n\n${body}`;
    try {
      await this.#repository.recordSent(
        id,
        await this.#tracker.addComment(remoteId, text, commentMarker(id), signal),
      );
    } catch (error) {
      if (error instanceof TrackerError && error.hadNoEffect) await this.#repository.recordSent(id, null);
      throw error;
    }
  }
}
