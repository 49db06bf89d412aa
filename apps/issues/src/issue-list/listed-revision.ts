import type { IssueSnapshot } from '../issue-core/issue.ts';
import { shortHash } from '../issue-core/precondition.ts';
import { isSameData } from '../issue-core/text-cache.ts';
import type { ListedIssue } from './issue-list.ts';

/** What a cached JSON text of a listed issue depends on. */
export type ListedRevision = Omit<ListedIssue, 'id' | 'isSearched'>;

// Copies only the compared values, because the garbage collector traverses every object in the long-lived cache.
export function revisionOf(issue: IssueSnapshot): ListedRevision {
  const { branch, rev, labelRev, projectRev, trackerRev, reporterName, assigneeName, isBlocked } = issue;
  return { branch, rev, labelRev, projectRev, trackerRev, reporterName, assigneeName, isBlocked };
}

export function isUnchanged(left: ListedRevision, right: ListedRevision): boolean {
  return (
    isSameData(left, right) &&
    left.reporterName === right.reporterName &&
    left.assigneeName === right.assigneeName &&
    left.isBlocked === right.isBlocked
  );
}

// Names and the revision of a tracker have no order: a new link to it begins again. Neither have branches: a database that
// replaces another begins at the first one.
export function isOlder(left: ListedRevision, right: ListedRevision): boolean {
  if (left.branch !== right.branch) return false;
  if (left.rev !== right.rev) return left.rev < right.rev;
  if (left.projectRev !== right.projectRev) return left.projectRev < right.projectRev;
  return left.labelRev !== null && right.labelRev !== null && left.labelRev < right.labelRev;
}

export function markOf(issue: Omit<ListedIssue, 'isSearched'>): string {
  const { id, branch, rev, labelRev, projectRev, trackerRev, reporterName, assigneeName, isBlocked } = issue;
  return shortHash(
    JSON.stringify([
      id,
      branch,
      rev,
      labelRev,
      projectRev,
      trackerRev,
      reporterName,
      assigneeName,
      isBlocked,
    ]),
  );
}
