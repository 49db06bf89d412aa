import type { Issue } from '@tessera/contracts';
import type { IssueRow } from '../http/api.ts';
import type { FieldName } from '../messages.ts';

export type UndoableField = FieldName;

/** An issue, or the row of a list: rows have no description. */
export type Values = IssueRow & { description?: string };

/** An issue before a change, and as the service answered to it. */
export interface Changed {
  before: Values;
  after: Values;
}

/** Whether two issues have the same value of a field. */
export function isSameValue(field: UndoableField, one: Values | Issue, other: Values | Issue): boolean {
  if (field === 'assignee') return one.assignee?.id === other.assignee?.id;
  if (field === 'labels')
    return one.labels.map(({ id }) => id).join() === other.labels.map(({ id }) => id).join();
  return one[field] === other[field];
}
