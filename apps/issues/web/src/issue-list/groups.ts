import type { IssueStatus } from '@tessera/contracts';
import type { IssueRow } from '../http/api.ts';

/** The order of groups: what is in work first. The service has the same order, from the last status to the first. */
const groupOrder = ['REOPENED', 'IN_PROGRESS', 'OPEN', 'RESOLVED', 'CLOSED'] as const;
export const groupedOrdering = '-status,-priority';

/** Puts issues in the order of their groups. One whose status changes goes to its group. */
export const byStatus = (issues: readonly IssueRow[]): IssueRow[] =>
  groupOrder.flatMap((status) => issues.filter((issue) => issue.status === status));

/** A row of a table: an issue, by its place among the issues, or the head of a group. */
export type TableItem = { index: number } | { head: IssueStatus; count: number };

export function itemsOf(issues: readonly IssueRow[], isGrouped: boolean): TableItem[] {
  return issues.flatMap(({ status }, index): TableItem[] => {
    const isFirst = isGrouped && issues[index - 1]?.status !== status;
    const count = isFirst ? issues.filter((issue) => issue.status === status).length : 0;
    return [...(isFirst ? [{ head: status, count }] : []), { index }];
  });
}
