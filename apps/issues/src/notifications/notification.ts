import type { NotificationReason, NotificationType } from '@tessera/contracts';
import type { IssueReference } from '../issue-core/issue-reference.ts';

/** An event that concerns a person, as it is shown. */
export interface Notification {
  id: bigint;
  place: bigint;
  reason: NotificationReason;
  type: NotificationType;
  issueId: string;
  number: number;
  title: string;
  actorId: string | null;
  actorName: string | null;
  /** Null for an event without a comment, and if the comment was deleted. */
  commentId: string | null;
  /** The number of further changes of the actor that have no notification. */
  moreCount: number;
  createdAt: Date;
  readAt: Date | null;
}

/** A part of the notifications of a person. */
export interface NotificationFilters {
  isUnread: boolean | undefined;
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
