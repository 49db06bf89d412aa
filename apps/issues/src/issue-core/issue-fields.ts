import type { IssueFields } from './issue.ts';

interface FieldDefinition {
  /** Its name in the history, in events and in the API. */
  name: string;
  /** Its column of the table `issues`, and the type of the column. */
  column: string;
  type: 'text' | 'uuid' | 'issue_priority';
}

/** The fields that people write, in the order of their history entries. Statements and history are derived from it. */
export const issueFields = {
  title: { name: 'title', column: 'title', type: 'text' },
  description: { name: 'description', column: 'description', type: 'text' },
  priority: { name: 'priority', column: 'priority', type: 'issue_priority' },
  assigneeId: { name: 'assignee', column: 'assignee_id', type: 'uuid' },
} as const satisfies Record<keyof IssueFields, FieldDefinition>;

export const issueFieldNames = Object.keys(issueFields) as (keyof IssueFields)[];
