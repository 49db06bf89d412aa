import type { ShownFile } from './attachment.ts';
import type { NamedPerson } from './person.ts';
import { shortHash } from './precondition.ts';

/** A comment with the displayed fields of its author. */
export interface Comment {
  id: string;
  issueId: string;
  body: string;
  /** Null for a comment from a tracker, whose author has no identity. */
  authorId: string | null;
  authorName: string | null;
  /** `local`, or the tracker from which the comment was copied. */
  origin: string;
  /** Whether the comment has an id in the tracker `origin`. */
  isExternal: boolean;
  externalAuthor: string | null;
  externalCreatedAt: Date | null;
  /** The people that the text mentions; null without mentions. */
  mentioned: NamedPerson[] | null;
  /** The files of the issue that the text names; null without any. */
  files: ShownFile[] | null;
  createdAt: Date;
  updatedAt: Date;
}

/** A comment to add. */
export interface CommentDraft {
  body: string;
  mentionIds: readonly string[];
}

/** A comment that may be deleted, with the people that it mentions. */
export interface StoredComment extends Comment {
  deletedAt: Date | null;
  mentionIds: readonly string[];
  projectId: string;
}

/** A change of a comment of an issue. */
export type CommentChange =
  | { kind: 'added'; id: string; draft: CommentDraft }
  | { kind: 'changed'; id: string; before: StoredComment; draft: CommentDraft }
  | { kind: 'removed'; id: string; before: StoredComment };

interface CommentValue {
  comment_id: string;
  body: string;
}

export type CommentHistoryEntry =
  | { kind: 'comment_added'; new: { comment_id: string } }
  | { kind: 'comment_changed'; old: CommentValue; new: CommentValue }
  | { kind: 'comment_removed'; old: CommentValue };

/** Returns the history entries of comments, which do not depend on the issue. */
export function describeCommentChanges(changes: readonly CommentChange[]): CommentHistoryEntry[] {
  return changes.map((change): CommentHistoryEntry => {
    const { id } = change;
    if (change.kind === 'added') return { kind: 'comment_added', new: { comment_id: id } };
    const old = { comment_id: id, body: change.before.body };
    return change.kind === 'removed'
      ? { kind: 'comment_removed', old }
      : { kind: 'comment_changed', old, new: { comment_id: id, body: change.draft.body } };
  });
}

/** Returns the state of a comment that its author can overwrite. The first part of its ETag. */
export function stateOf({ body }: Comment): string {
  return shortHash(body);
}
