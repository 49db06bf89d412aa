/** A comment, with what is shown of its author. */
export interface Comment {
  id: string;
  issueId: string;
  body: string;
  /** Null for a comment from a tracker, whose author has no identity. */
  authorId: string | null;
  authorName: string | null;
  /** `local`, or the tracker that it came from. */
  origin: string;
  /** Whether its details in that tracker are known. */
  isExternal: boolean;
  externalAuthor: string | null;
  externalCreatedAt: Date | null;
  createdAt: Date;
  updatedAt: Date;
}
