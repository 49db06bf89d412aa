import type {
  IssueStatus,
  NotedMember,
  NotificationReason,
  NotificationState,
  NotificationType,
} from '@tessera/contracts';
import type { IssueReference } from '../issue-core/issue-reference.ts';
import type { ReadScope } from '../issue-core/project-access.ts';

/** An event that concerns a person, as it is shown. */
export interface Notification {
  id: bigint;
  place: bigint;
  reason: NotificationReason;
  type: NotificationType;
  issueId: string;
  number: number;
  projectKey: string | null;
  title: string;
  actorId: string | null;
  actorName: string | null;
  /** What has changed; null if the event does not say it, and in rows from before the column. */
  changes: {
    members?: NotedMember[] | undefined;
    status?: { from: IssueStatus; to: IssueStatus } | undefined;
  } | null;
  /** Null for an event without a comment, and if the comment was deleted. */
  commentId: string | null;
  /** The number of further changes of the actor that have no notification. */
  moreCount: number;
  createdAt: Date;
  readAt: Date | null;
  /** When it has left the inbox. */
  doneAt: Date | null;
  /** It is not in the inbox until then. */
  snoozedUntil: Date | null;
}

/** A person and the issues that they see. */
export interface NotificationReader extends ReadScope {
  readerId: string;
}

/** A part of the notifications of a person. */
export interface NotificationFilters {
  isUnread: boolean | undefined;
  state: NotificationState | undefined;
  reasons: readonly NotificationReason[] | undefined;
  issue: IssueReference | undefined;
}

/** A page of notifications, after the last one of the previous page. */
export interface NotificationPage {
  limit: number;
  after: { place: string } | undefined;
}

/** Notifications to mark: some, or all up to one. */
export type MarkedNotifications = { ids: readonly number[] } | { upTo: number };

/** What to do with marked notifications. */
export type NotificationMark =
  | { as: 'read' | 'unread' | 'done' | 'restored' }
  | { as: 'snoozed'; until: Date };

/** What a stream knows of the notifications of a person: a text that changes with them. */
export interface KnownNotifications {
  identityId: string;
  known: string | undefined;
}

/** The notifications of a person whose text has changed. */
export interface ChangedNotifications {
  identityId: string;
  known: string;
  unreadCount: number;
}
