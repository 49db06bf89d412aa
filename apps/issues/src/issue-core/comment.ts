import type { ActivityEntry } from './activity-entry.ts';
import type { NamedPerson } from './person.presenter.ts';
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
  createdAt: Date;
  updatedAt: Date;
}

/** A comment to add. */
export interface CommentDraft {
  body: string;
  mentionIds: readonly string[];
}

/** A comment that may be deleted. */
export interface StoredComment extends Comment {
  deletedAt: Date | null;
}

/** A change of a comment with its history entry. */
export interface CommentChange {
  /** The new text; null deletes the comment. */
  draft: CommentDraft | null;
  activity: ActivityEntry;
}

/** Returns the state of a comment that its author can overwrite. The first part of its ETag. */
export function stateOf({ body }: Comment): string {
  return shortHash(body);
}
