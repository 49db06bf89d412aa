import type { NotedMember, Notification } from '@tessera/contracts';
import type { IssueRow } from '../http/api.ts';
import { dayName, fieldNames, formatNumber, personName, priorityNames, statusNames } from '../messages.ts';

export const reasonNames: Record<Notification['reason'], string> = {
  mentioned: 'Mentioned',
  assigned: 'Assigned',
  watching: 'Watching',
};

const changes: Record<Notification['type'], string> = {
  'issue.created': 'created the issue',
  'issue.updated': 'changed the issue',
  'issue.status_changed': 'changed the status',
  'issue.commented': 'commented',
  'comment.updated': 'changed a comment',
  'issue.link_added': 'added a link',
  'issue.link_removed': 'removed a link',
  'issue.sync_conflict': 'changed what was changed here, too',
  'issue.due': 'reaches its due date',
};

const memberNames: Record<NotedMember, string> = {
  ...fieldNames,
  project: 'project',
  links: 'links',
  attachments: 'files',
};

const ofComments: readonly Notification['type'][] = ['issue.commented', 'comment.updated'];
const ofMembers: readonly Notification['type'][] = ['issue.updated', 'issue.status_changed'];

/** Who has made the change. */
export function actorOf({ actor, type }: Notification): string {
  if (type === 'issue.due') return 'The issue';
  return actor === null ? 'The tracker' : personName(actor);
}

/** What the actor has done, without the name: the change first, because a narrow row ends early. `issue` has the values of today. */
export function changeOf(notification: Notification, issue: IssueRow | undefined): string {
  const { reason, type, more_count: more } = notification;
  const isComment = ofComments.includes(type);
  if (reason === 'mentioned') return isComment ? 'mentioned you in a comment' : 'mentioned you';
  if (reason === 'assigned' && type !== 'issue.due') return 'assigned the issue to you';
  const change = whatChanged(notification, issue);
  return more === 0 ? change : `${change}, and made ${formatNumber(more)} more changes`;
}

function whatChanged({ type, changed, status }: Notification, issue: IssueRow | undefined): string {
  if (type === 'issue.due')
    return `${changes[type]}${issue?.due_on == null ? '' : `: ${dayName(issue.due_on)}`}`;
  if (changed.length === 0) return changes[type];
  const names = changed.map((member) =>
    member === 'status' && status !== null
      ? `the status to ${statusNames[status.to]}`
      : `the ${memberNames[member]}`,
  );
  const isLong = names.length > 3;
  const listed = isLong ? [...names.slice(0, 2), `${names.length - 2} more`] : names;
  const text = `changed ${new Intl.ListFormat('en-GB').format(listed)}`;
  if (type === 'issue.sync_conflict')
    return `${text}, which ${names.length === 1 ? 'was' : 'were'} changed here, too`;
  if (!ofMembers.includes(type)) return `${changes[type]} and ${text}`;
  return names.length === 1 && issue !== undefined ? `${text}${presentOf(changed[0], issue)}` : text;
}

/** The value of the changed member that the issue has today, if it is short. */
function presentOf(member: NotedMember | undefined, { priority, assignee, due_on: day }: IssueRow): string {
  if (member === 'priority') return ` (now ${priorityNames[priority]})`;
  if (member === 'assignee') return ` (now ${assignee === null ? 'unassigned' : personName(assignee)})`;
  if (member === 'due_on') return ` (now ${day === null ? 'none' : dayName(day)})`;
  return '';
}
