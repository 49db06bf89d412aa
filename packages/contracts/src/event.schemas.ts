import { z } from 'zod';
import { issueStatusSchema } from './issues/issue-input.schemas.ts';
import { linkTypeSchema } from './issues/issue-link.schemas.ts';
import { once, pageSizeMax, wholeNumber } from './query-value.schemas.ts';
import { uuid } from './text.schemas.ts';

// All events are in this file. Their shape is that of the payloads of Standard Webhooks, with an id.
function event<const Type extends string, Data extends z.ZodRawShape>(
  type: Type,
  id: string,
  about: string,
  data: Data,
) {
  return z
    .object({
      id: z
        .int()
        .positive()
        .describe(
          'Unique. To recognise an event that was read before. A later change of the same issue or identity has a higher one.',
        ),
      type: z.literal(type),
      timestamp: z.iso.datetime().describe('RFC 3339, UTC, with milliseconds.'),
      data: z.object(data),
    })
    .meta({ id, description: about });
}

const ofIssue = {
  issue_id: uuid(),
  issue_key: z
    .string()
    .describe('The key of the issue when the event was recorded. It leads to the issue for ever.')
    .meta({ examples: ['ISS-42'] }),
  project_id: uuid()
    .optional()
    .describe('The project of the issue after the change. Absent for the default project.'),
};
const ofChange = {
  ...ofIssue,
  version: z
    .int()
    .positive()
    .describe("The issue's version after the change. Not all changes increase it: compare `id`."),
  actor_id: uuid().nullable().describe('The person who made the change; null for the external tracker.'),
  origin: z.string().describe('`local`, or the external tracker from which the change was copied.'),
};
const mentioned = {
  mention_ids: z
    .array(uuid())
    .optional()
    .describe('The people that the text mentions and did not mention before. Absent without any.'),
};
const assigned = {
  assignee_id: uuid().nullable().optional().describe('The new assignee. Absent if it did not change.'),
};
const ofComment = { ...ofChange, comment_id: uuid() };
const ofLink = {
  ...ofChange,
  link_type: linkTypeSchema,
  link_ref: z.string().describe('The id in the other system.'),
};
const changed = z
  .array(z.string())
  .describe('The changed members of the issue, such as `title`, `assignee`, `labels` or `links`.');

/** The events of the issues service, by type. */
export const issueEvents = {
  'issue.created': event('issue.created', 'IssueCreatedEvent', 'An issue was created or imported.', {
    ...ofChange,
    ...assigned,
    ...mentioned,
  }),
  'issue.updated': event('issue.updated', 'IssueUpdatedEvent', 'Fields of an issue changed.', {
    ...ofChange,
    changed,
    ...assigned,
    ...mentioned,
  }),
  'issue.status_changed': event('issue.status_changed', 'IssueStatusChangedEvent', 'The status changed.', {
    ...ofChange,
    from: issueStatusSchema,
    to: issueStatusSchema,
  }),
  'issue.commented': event('issue.commented', 'IssueCommentedEvent', 'A comment was added.', {
    ...ofComment,
    ...mentioned,
  }),
  'comment.updated': event('comment.updated', 'CommentUpdatedEvent', 'A comment was changed.', {
    ...ofComment,
    ...mentioned,
  }),
  'comment.deleted': event('comment.deleted', 'CommentDeletedEvent', 'A comment was deleted.', ofComment),
  'issue.link_added': event('issue.link_added', 'IssueLinkAddedEvent', 'A link was added.', ofLink),
  'issue.link_removed': event('issue.link_removed', 'IssueLinkRemovedEvent', 'A link was removed.', ofLink),
  'issue.synced': event(
    'issue.synced',
    'IssueSyncedEvent',
    'A sync copied something or ended a failure, or the issue got or lost its remote issue, with its link.',
    {
      ...ofIssue,
      origin: z.string().describe('The external tracker.'),
      remote_id: z
        .string()
        .nullable()
        .describe('The id in the external tracker; null without a remote issue.'),
    },
  ),
  'issue.sync_conflict': event(
    'issue.sync_conflict',
    'IssueSyncConflictEvent',
    'Fields changed on both sides since the last sync.',
    { ...ofChange, changed },
  ),
  'issue.due': event('issue.due', 'IssueDueEvent', 'An open issue is due on this day (UTC) or the next.', {
    ...ofChange,
    due_on: z.iso.date().describe('The day on which it is due.'),
    assignee_id: uuid().optional().describe('The assignee. Absent without one.'),
  }),
} as const;
export type IssueEventType = keyof typeof issueEvents;
export type IssueEvent = z.output<(typeof issueEvents)[IssueEventType]>;

const ofIdentity = { identity_id: uuid() };
const changedIdentity = {
  ...ofIdentity,
  changed: z.array(z.string()).describe('The changed members of the identity; `sso` for the SSO pair.'),
};

/** The events of the identity service, by type. */
export const identityEvents = {
  'identity.created': event(
    'identity.created',
    'IdentityCreatedEvent',
    'An identity was created.',
    ofIdentity,
  ),
  'identity.updated': event(
    'identity.updated',
    'IdentityUpdatedEvent',
    'An identity changed, other than by a deactivation or a new password.',
    changedIdentity,
  ),
  'identity.deactivated': event(
    'identity.deactivated',
    'IdentityDeactivatedEvent',
    'An identity was deactivated, perhaps with further changes.',
    changedIdentity,
  ),
  'identity.deleted': event(
    'identity.deleted',
    'IdentityDeletedEvent',
    'An identity was deleted.',
    ofIdentity,
  ),
  'identity.sessions_ended': event(
    'identity.sessions_ended',
    'IdentitySessionsEndedEvent',
    'A session was revoked, or all sessions of an identity ended.',
    {
      ...ofIdentity,
      session_id: uuid()
        .nullable()
        .describe('The revoked session; null if all sessions ended, with their access tokens.'),
      session_epoch: z
        .int()
        .nonnegative()
        .optional()
        .describe(
          'If all sessions ended: how often they have, until now. Refuse access tokens of a lower number, which is the first eight hexadecimal digits of their `jti`.',
        ),
    },
  ),
} as const;
export type IdentityEventType = keyof typeof identityEvents;
export type IdentityEvent = z.output<(typeof identityEvents)[IdentityEventType]>;

/** A page of a feed of events. */
export interface EventFeedPage<Event> {
  events: Event[];
  next: string;
  reset: boolean;
}

function feedPage<
  const Events extends readonly [z.ZodType, ...z.ZodType[]],
  const More extends z.ZodRawShape,
>(id: string, events: Events, more: More) {
  return z
    .object({
      events: z.array(z.union(events)),
      next: z
        .string()
        .describe('The `after` of the next request; opaque. Store it with the processed events.'),
      reset: z
        .boolean()
        .describe(
          'True if `after` is older than the kept events or of another database. Then read everything again and continue with `next`.',
        ),
      ...more,
    })
    .meta({ id });
}

export const issueEventFeedSchema = feedPage(
  'IssueEventFeed',
  [
    issueEvents['issue.created'],
    issueEvents['issue.updated'],
    issueEvents['issue.status_changed'],
    issueEvents['issue.commented'],
    issueEvents['comment.updated'],
    issueEvents['comment.deleted'],
    issueEvents['issue.link_added'],
    issueEvents['issue.link_removed'],
    issueEvents['issue.synced'],
    issueEvents['issue.sync_conflict'],
    issueEvents['issue.due'],
  ],
  {
    more: z
      .literal(true)
      .optional()
      .describe('Present if there may be further events now, although the page is not full.'),
  },
);
export const identityEventFeedSchema = feedPage(
  'IdentityEventFeed',
  [
    identityEvents['identity.created'],
    identityEvents['identity.updated'],
    identityEvents['identity.deactivated'],
    identityEvents['identity.deleted'],
    identityEvents['identity.sessions_ended'],
  ],
  {
    deleted_keys: z
      .array(z.string())
      .describe(
        'The ids of the signing keys that were deleted, at most the last 100. A consumer refuses tokens of these keys at once, also while it has the keys in a cache.',
      ),
  },
);

/** The query of a feed. Unknown parameters are refused. */
export const eventQuerySchema = z.strictObject({
  after: once
    .max(200, { error: 'must be at most 200 characters' })
    .optional()
    .describe(
      'The `next` of an earlier response; `now` for the end of the feed. By default, the feed starts with the oldest kept event.',
    ),
  limit: wholeNumber(pageSizeMax)
    .optional()
    .describe(`Maximum number of events, from 1 to ${pageSizeMax} (default).`),
});
