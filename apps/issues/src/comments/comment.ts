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
  createdAt: Date;
  updatedAt: Date;
}
