import type { IssueStatus } from '@tessera/contracts';
import { mayFollow } from '../issue-status/issue-status.ts';

const done: readonly IssueStatus[] = ['RESOLVED', 'CLOSED'];

export function isDone(status: IssueStatus): boolean {
  return done.includes(status);
}

/**
 * The status to go to from `local` so as to come to `wanted`, or as near as one step of the workflow leads: what is done
 * and is to be worked on is reopened first; where no step leads nearer, it stays.
 */
export function stepTowards(wanted: IssueStatus, local: IssueStatus): IssueStatus {
  if (wanted === local || mayFollow(local, wanted)) return wanted;
  return isDone(local) && !isDone(wanted) ? 'REOPENED' : local;
}

/** The same for a tracker in which an issue is open, or closed as `whenClosed` says. */
export function stepForTwoStates(isOpen: boolean, whenClosed: IssueStatus, local: IssueStatus): IssueStatus {
  if (isOpen) return isDone(local) ? 'REOPENED' : local;
  return isDone(local) && whenClosed === 'RESOLVED' ? local : stepTowards(whenClosed, local);
}
