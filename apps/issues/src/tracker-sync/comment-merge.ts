import { commentMaxLength, withoutOverrides } from '@tessera/contracts';
import type { ExternalTracker, RemoteComment } from '../trackers/external-tracker.ts';
import { canonicalText, commentText, cutText, markedComment } from '../trackers/tracker-text.ts';

// Decides which comments to copy, without side effects.

/** A local comment that is not known to be in the tracker. */
export interface UnsentComment {
  id: string;
  body: string;
  /** The text that was sent, if the comment has been changed since; otherwise null. */
  sentBody: string | null;
  username: string | null;
  /** Seconds since it was sent without a known outcome; null if it was not. */
  attemptAge: number | null;
}

/** A remote comment to add to the local issue. */
export interface NewRemoteComment {
  remoteId: string;
  body: string;
  author: string | null;
  createdAt: Date;
}

interface CommentPlan {
  /** Local comments that the remote issue contains: the response was lost, or the issue is attached again. */
  arrived: { commentId: string; remoteId: string }[];
  pull: NewRemoteComment[];
  push: UnsentComment[];
}

type Original = Pick<UnsentComment, 'username' | 'body' | 'sentBody'>;

interface CommentState {
  unsent: readonly UnsentComment[];
  /** The local comments that `markedComments` returned, by id. */
  marked: ReadonlyMap<string, Original>;
  toFit: ExternalTracker['toFit'];
}

/** Returns the ids of the local comments whose markers the remote comments contain. */
export function markedComments(remote: readonly RemoteComment[]): string[] {
  return remote.map(({ body }) => markedComment(body)).filter((id) => id !== undefined);
}

/**
 * Returns the comments that only one side has. `remote`: the remote comments that are not known to be on both sides.
 */
export function planComments(
  remote: readonly RemoteComment[],
  { unsent, marked, toFit }: CommentState,
): CommentPlan {
  const waiting = new Map(unsent.map((comment) => [comment.id, comment]));
  // Prepared once: many remote comments can contain the marker of one local comment.
  const ownTexts = new Map<string, string[]>();
  const isOwnText = (remoteBody: string, id: string, { username, body, sentBody }: Original) => {
    const bodies = sentBody === null ? [body] : [body, sentBody];
    const texts = ownTexts.get(id) ?? bodies.map((text) => canonicalText(toFit(commentText(username, text))));
    ownTexts.set(id, texts);
    return texts.includes(canonicalText(remoteBody));
  };
  const plan: CommentPlan = { arrived: [], pull: [], push: [] };
  for (const { id: remoteId, body, author, createdAt } of remote) {
    const commentId = markedComment(body) ?? '';
    const original = marked.get(commentId);
    const own = waiting.get(commentId);
    // A marker does not prove authorship: anyone can copy one. The second copy of a comment that was sent twice has its
    // text, and so have the comments of a remote issue that is attached again.
    if (own !== undefined && (own.attemptAge !== null || isOwnText(body, own.id, own))) {
      waiting.delete(own.id);
      plan.arrived.push({ commentId: own.id, remoteId });
    } else if (original === undefined || !isOwnText(body, commentId, original)) {
      const text = cutText(canonicalText(body), commentMaxLength);
      if (text === '') continue;
      plan.pull.push({ remoteId, body: text, author: author && withoutOverrides(author), createdAt });
    }
  }
  plan.push = [...waiting.values()];
  return plan;
}
