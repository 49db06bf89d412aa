import type { Notification } from '@tessera/contracts';
import type { IssueRow } from '../http/api.ts';
import { dayName, formatNumber, personName, priorityNames, statusNames } from '../messages.ts';

export const reasonNames: Record<Notification['reason'], string> = {
  mentioned: 'Mentioned',
  assigned: 'Assigned',
  watching: 'Watching',
};

const changes: Record<Notification['type'], string> = {
  'issue.created': 'created the issue',
  'issue.updated': 'changed its texts or properties',
  'issue.status_changed': 'changed the status',
  'issue.commented': 'commented',
  'comment.updated': 'changed a comment',
  'issue.link_added': 'added a link',
  'issue.link_removed': 'removed a link',
  'issue.sync_conflict': 'changed what was changed here, too',
  'issue.due': 'reaches its due date',
};

const ofComments: readonly Notification['type'][] = ['issue.commented', 'comment.updated'];

/** Who has made the change. */
export function actorOf({ actor, type }: Notification): string {
  if (type === 'issue.due') return 'The issue';
  return actor === null ? 'The tracker' : personName(actor);
}

/** What the actor has done, without the name. A notification has no values, so `issue` has those of today. */
export function changeOf(
  { reason, type, more_count: more }: Notification,
  issue: IssueRow | undefined,
): string {
  const isComment = ofComments.includes(type);
  if (reason === 'mentioned') return isComment ? 'mentioned you in a comment' : 'mentioned you';
  if (reason === 'assigned' && type !== 'issue.due') return 'assigned the issue to you';
  const change = `${changes[type]}${issue === undefined ? '' : presentOf(type, issue)}`;
  return more === 0 ? change : `${change}, and made ${formatNumber(more)} more changes`;
}

function presentOf(
  type: Notification['type'],
  { status, priority, assignee, due_on: day }: IssueRow,
): string {
  if (type === 'issue.status_changed') return `, which is ${statusNames[status]} now`;
  if (type === 'issue.due') return day === null ? '' : `: ${dayName(day)}`;
  if (type !== 'issue.updated') return '';
  const now = [
    `${priorityNames[priority]} priority`,
    assignee === null ? 'no assignee' : `assigned to ${personName(assignee)}`,
    ...(day === null ? [] : [`due ${dayName(day)}`]),
  ];
  return ` (now ${now.join(', ')})`;
}
