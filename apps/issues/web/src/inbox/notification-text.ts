import type { Notification } from '@tessera/contracts';
import { formatNumber, personName } from '../messages.ts';

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
  'issue.due': 'is due today or tomorrow',
};

const ofComments: readonly Notification['type'][] = ['issue.commented', 'comment.updated'];

/** Who has made the change. */
export function actorOf({ actor, type }: Notification): string {
  if (type === 'issue.due') return 'The issue';
  return actor === null ? 'The tracker' : personName(actor);
}

/** What the actor has done, without the name. */
export function changeOf({ reason, type, more_count: more }: Notification): string {
  const isComment = ofComments.includes(type);
  if (reason === 'mentioned') return isComment ? 'mentioned you in a comment' : 'mentioned you';
  if (reason === 'assigned' && type !== 'issue.due') return 'assigned the issue to you';
  return more === 0 ? changes[type] : `${changes[type]}, and made ${formatNumber(more)} more changes`;
}
