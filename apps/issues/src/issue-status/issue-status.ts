import type { IssueStatus } from '@tessera/contracts';

/** Where a status may go. The document leaves it open; this is the classic workflow of trackers. */
const transitions: Readonly<Record<IssueStatus, readonly IssueStatus[]>> = {
  OPEN: ['IN_PROGRESS', 'RESOLVED', 'CLOSED'],
  IN_PROGRESS: ['OPEN', 'RESOLVED', 'CLOSED'],
  RESOLVED: ['CLOSED', 'REOPENED'],
  CLOSED: ['REOPENED'],
  REOPENED: ['IN_PROGRESS', 'RESOLVED', 'CLOSED'],
};

/** What a new issue starts in. */
export const initialStatus: IssueStatus = 'OPEN';

/** The statuses in which there is still something to do. */
export const openStatuses: readonly IssueStatus[] = ['OPEN', 'IN_PROGRESS', 'REOPENED'];

/** The statuses that may follow; staying is always possible and not named. */
export function allowedTransitions(from: IssueStatus): readonly IssueStatus[] {
  return transitions[from];
}

export function mayFollow(from: IssueStatus, to: IssueStatus): boolean {
  return transitions[from].includes(to);
}
