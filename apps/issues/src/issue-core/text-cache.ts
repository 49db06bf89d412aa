import { LRUCache } from 'lru-cache';
import type { IssueSnapshot } from './issue.ts';

/** A cache of JSON texts and their revisions, limited by their total length. */
export type TextCache<Entry extends CachedText> = LRUCache<string, Entry>;

interface CachedText {
  text: string;
  /** A second text. */
  place?: string | undefined;
}

/** Maximum number of characters, each of one or two bytes: a small part of a container with 512 MiB. */
const maxCharacters = 16 * 1024 * 1024;

export function createTextCache<Entry extends CachedText>(): TextCache<Entry> {
  return new LRUCache({
    maxSize: maxCharacters,
    // The estimated size of an entry without its texts is 500.
    sizeCalculation: ({ text, place = '' }) => text.length + place.length + 500,
  });
}

/** The revision of an issue's displayed data. A cached text is valid while it is unchanged. */
export interface IssueRevision {
  /** The timeline of the database: after a failover, the same numbers may belong to other data. */
  branch: number;
  /** Increases with every change of the issue, its links and its comments. */
  rev: number;
  /** Changes when labels are changed or deleted; null for an issue without labels. */
  labelRev: number | null;
  /** Changes when projects are changed. */
  projectRev: number;
  trackerRev?: number | null | undefined;
  /** Usernames by identity id. Identities that the mirror does not know are absent. */
  names: ReadonlyMap<string, string | null>;
}

/** Returns the revision of an issue, with the names that it shows. */
export function issueRevisionOf({
  branch,
  rev,
  labelRev,
  projectRev,
  trackerRev,
  reporterId,
  reporterName,
  assigneeId,
  assigneeName,
  mentions,
  comments,
}: IssueSnapshot): IssueRevision {
  const names = new Map([[reporterId, reporterName]]);
  if (assigneeId !== null) names.set(assigneeId, assigneeName);
  for (const { id, names: given } of mentions ?? []) names.set(id, given);
  for (const { authorId, authorName, mentioned } of comments) {
    if (authorId !== null) names.set(authorId, authorName);
    for (const { id, names: given } of mentioned ?? []) names.set(id, given);
  }
  return { branch, rev, labelRev, projectRev, trackerRev, names };
}

export function isSameRevision(left: IssueRevision, right: IssueRevision): boolean {
  return (
    isSameData(left, right) && [...left.names].every(([id, name]) => name === (right.names.get(id) ?? null))
  );
}

/** Whether two revisions are the same but for the names. */
export function isSameData(left: Omit<IssueRevision, 'names'>, right: Omit<IssueRevision, 'names'>): boolean {
  return (
    left.branch === right.branch &&
    left.rev === right.rev &&
    left.labelRev === right.labelRev &&
    left.projectRev === right.projectRev &&
    left.trackerRev === right.trackerRev
  );
}
