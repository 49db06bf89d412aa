import type { Person } from '@tessera/contracts';
import type { IssueRow } from '../http/api.ts';
import { priorities } from '../messages.ts';

export const groupings = ['none', 'status', 'priority', 'assignee'] as const;
export type Grouping = (typeof groupings)[number];

/** The order of groups: what is in work first. The service has the same order, from the last status to the first. */
const statusOrder = ['REOPENED', 'IN_PROGRESS', 'OPEN', 'RESOLVED', 'CLOSED'];

/** The order of a list in groups that the service can sort. */
export const orderedBy = (by: 'status' | 'priority', ordering = '-created_at'): string =>
  [`-${by}`, ...ordering.split(',').filter((key) => key.replace('-', '') !== by)].join();

/** A group: its issues have the same value. */
export interface Group {
  value: string;
  person: Person | null;
}

const groupOf = (issue: IssueRow, by: Grouping): Group =>
  by === 'assignee'
    ? { value: issue.assignee?.id ?? '', person: issue.assignee }
    : { value: by === 'priority' ? issue.priority : issue.status, person: null };

/** Puts issues in the order of their groups. One whose value changes goes to its group. */
export function inGroups(issues: readonly IssueRow[], by: Grouping): readonly IssueRow[] {
  if (by === 'none') return issues;
  const values = issues.map((issue) => groupOf(issue, by).value);
  // The issues of people are read one person after the other.
  const order = by === 'status' ? statusOrder : by === 'priority' ? priorities : [...new Set(values)];
  return order.flatMap((value) => issues.filter((_, index) => values[index] === value));
}

/** A row of a table: an issue, by its place among the issues, or the head of a group. */
export type TableItem = { index: number } | { head: Group; loaded: number };

export function itemsOf(issues: readonly IssueRow[], by: Grouping): TableItem[] {
  if (by === 'none') return issues.map((_, index) => ({ index }));
  const loaded = new Map<string, number>();
  const groups = issues.map((issue) => groupOf(issue, by));
  for (const { value } of groups) loaded.set(value, (loaded.get(value) ?? 0) + 1);
  return groups.flatMap((group, index): TableItem[] => [
    ...(groups[index - 1]?.value === group.value
      ? []
      : [{ head: group, loaded: loaded.get(group.value) ?? 0 }]),
    { index },
  ]);
}
