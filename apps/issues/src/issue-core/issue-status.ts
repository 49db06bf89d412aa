import type { IssueStatus } from '@tessera/contracts';
import { ProblemError } from '@tessera/service-kit';

/** The allowed transitions. docs/spec/issue-tracking.md does not define them; this is the common workflow of issue trackers. */
const transitions: Readonly<Record<IssueStatus, readonly IssueStatus[]>> = {
  OPEN: ['IN_PROGRESS', 'RESOLVED', 'CLOSED'],
  IN_PROGRESS: ['OPEN', 'RESOLVED', 'CLOSED'],
  RESOLVED: ['CLOSED', 'REOPENED'],
  CLOSED: ['REOPENED'],
  REOPENED: ['IN_PROGRESS', 'RESOLVED', 'CLOSED'],
};

/** The status of a new issue. */
export const initialStatus: IssueStatus = 'OPEN';

/** The statuses of issues that are neither resolved nor closed. */
export const openStatuses: readonly IssueStatus[] = ['OPEN', 'IN_PROGRESS', 'REOPENED'];

/** Returns the statuses that may follow, without the current status, which is always allowed. */
export function allowedTransitions(from: IssueStatus): readonly IssueStatus[] {
  return transitions[from];
}

export function mayFollow(from: IssueStatus, to: IssueStatus): boolean {
  return transitions[from].includes(to);
}

/** Throws a 409 problem if the workflow does not allow the transition. */
export function assertMayFollow(from: IssueStatus, to: IssueStatus): void {
  if (mayFollow(from, to)) return;
  const allowed = allowedTransitions(from);
  throw new ProblemError({
    status: 409,
    code: 'illegal_transition',
    detail: `An issue that is ${from} cannot become ${to}; it can become ${allowed.join(', ')}.`,
    members: { current_status: from, allowed_transitions: allowed },
  });
}
