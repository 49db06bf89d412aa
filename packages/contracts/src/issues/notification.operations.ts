import { z } from 'zod';
import { ignoredFieldsHeader, nextLinkHeader, operation } from '../operation.ts';
import { pageQuerySchema } from '../page.schemas.ts';
import { flag, once, oneOrMore } from '../query-value.schemas.ts';
import { uuid } from '../text.schemas.ts';
import { issueStatusSchema } from './issue-input.schemas.ts';
import { personSchema } from './issue-response.schemas.ts';
import { knownEtagHeaders, listEtagHeader, unverifiedProblem } from './operation-parts.schemas.ts';

/** Maximum number of notifications of a person. Older ones are deleted. */
export const notificationsMax = 10_000;
/** Maximum number of those that one actor has caused: of those that concern the person, and of the others. */
export const notificationsOfSourceMax = 500;
/** The largest number of unread notifications that is counted. */
export const unreadCountMax = 1_000;
/** Maximum number of ids in a request. */
export const markedNotificationsMax = 100;

/** The reasons of a notification, the strongest first. */
export const notificationReasons = ['mentioned', 'assigned', 'watching'] as const;
export type NotificationReason = (typeof notificationReasons)[number];
const reasonSchema = z.enum(notificationReasons);

/** The types of events that make notifications. */
export const notificationTypes = [
  'issue.created',
  'issue.updated',
  'issue.status_changed',
  'issue.commented',
  'comment.updated',
  'issue.link_added',
  'issue.link_removed',
  'issue.sync_conflict',
  'issue.due',
] as const;
export type NotificationType = (typeof notificationTypes)[number];

/** The members of an issue that a notification names, in this order. */
export const notedMembers = [
  'status',
  'title',
  'priority',
  'assignee',
  'due_on',
  'labels',
  'description',
  'project',
  'links',
  'attachments',
] as const;
export type NotedMember = (typeof notedMembers)[number];

/** Where a notification is: `inbox` without the others. */
export const notificationStates = ['inbox', 'snoozed', 'done'] as const;
export type NotificationState = (typeof notificationStates)[number];
const stateSchema = z.enum(notificationStates);
/** How long a notification can be snoozed, in days. */
export const snoozeDaysMax = 366;

const idSchema = z.int().positive();

/** An event that concerns the caller. */
export const notificationSchema = z
  .object({
    id: idSchema.describe('Later notifications have larger ids.'),
    reason: reasonSchema.describe('Why the caller is notified: the first of these that is true.'),
    type: z.enum(notificationTypes).describe('The type of the event.'),
    issue: z.object({ id: uuid(), key: z.string().meta({ examples: ['ISS-42'] }), title: z.string() }),
    actor: personSchema
      .nullable()
      .describe('The person who made the change; null for the external tracker and for `issue.due`.'),
    changed: z
      .array(z.enum(notedMembers))
      .describe(
        'The members of the issue that the change has changed, those of a conflict for `issue.sync_conflict`. Empty without any, and if the event was before 2026-11-28.',
      ),
    status: z
      .object({ from: issueStatusSchema, to: issueStatusSchema })
      .nullable()
      .describe('The status before and after the change. Null if it did not change, or is not known.'),
    comment_id: uuid().nullable().describe('Null without a comment, and after the comment was deleted.'),
    more_count: z
      .int()
      .nonnegative()
      .describe(
        'The number of further changes by the actor that have no notification of their own: 0 unless the actor changed very much at once.',
      ),
    created_at: z.iso.datetime().describe('The time of the event: RFC 3339, UTC, with milliseconds.'),
    read_at: z.iso.datetime().nullable().describe('Null while unread.'),
    done_at: z.iso.datetime().nullable().describe('When it has left the inbox; null before.'),
    snoozed_until: z.iso
      .datetime()
      .nullable()
      .describe(
        'It has left the inbox until this time, and is unread and the newest one then; otherwise null.',
      ),
  })
  .meta({ id: 'Notification' });
export type Notification = z.infer<typeof notificationSchema>;

/** GET /api/v1/notifications/. Unknown parameters are refused. */
export const notificationQuerySchema = pageQuerySchema.extend({
  unread: flag
    .optional()
    .describe('Whether to list unread notifications of the inbox, or those that were read; both by default.'),
  state: stateSchema
    .optional()
    .describe('Notifications of the inbox, snoozed ones, or those that are done; all by default.'),
  reason: oneOrMore(reasonSchema, notificationReasons).optional(),
  issue: once
    .max(50, { error: 'must be at most 50 characters' })
    .optional()
    .meta({
      description: 'The id, the key or the number of an issue. An unknown one has no notifications.',
      param: { example: 'ISS-1' },
    }),
});

const idsSchema = z
  .preprocess(
    // The schema would otherwise parse all items before it counts them.
    (value) => (Array.isArray(value) ? value.slice(0, markedNotificationsMax + 1) : value),
    z
      .array(idSchema)
      .min(1, { error: 'must not be empty' })
      .max(markedNotificationsMax, { error: `must be at most ${markedNotificationsMax} notifications` }),
  )
  .describe('Ids of own notifications. Others are ignored.');

/** POST /api/v1/notifications/read/ */
export const markReadSchema = z
  .object({
    ids: idsSchema.optional(),
    up_to: idSchema
      .optional()
      .describe(
        'Marks this notification and all after it in the list. Those that arrive or come back meanwhile stay unread.',
      ),
  })
  .refine(({ ids, up_to: upTo }) => (ids === undefined) !== (upTo === undefined), {
    error: 'must hold exactly one of ids, up_to',
  })
  .meta({ id: 'MarkNotificationsRead' });

/** POST /api/v1/notifications/unread/ */
export const markUnreadSchema = z.object({ ids: idsSchema }).meta({ id: 'MarkNotificationsUnread' });

/** POST /api/v1/notifications/done/ */
export const markDoneSchema = z.object({ ids: idsSchema }).meta({ id: 'MarkNotificationsDone' });

/** POST /api/v1/notifications/restore/ */
export const restoreSchema = z.object({ ids: idsSchema }).meta({ id: 'RestoreNotifications' });

/** POST /api/v1/notifications/snooze/ */
export const snoozeSchema = z
  .object({
    ids: idsSchema,
    until: z.iso
      .datetime({
        offset: true,
        error: 'must be a time with an offset, such as 2026-11-30T08:00:00Z',
        abort: true,
      })
      .refine((until) => Date.parse(until) <= Date.now() + snoozeDaysMax * 86_400_000, {
        error: `must be at most ${snoozeDaysMax} days from now`,
      })
      .describe(
        `At most ${snoozeDaysMax} days from now. A time that has passed ends the snooze within seconds.`,
      ),
  })
  .meta({ id: 'SnoozeNotifications' });

/** The number of unread notifications after a request. */
export const unreadCountSchema = z
  .object({
    unread_count: z
      .int()
      .nonnegative()
      .max(unreadCountMax)
      .describe(`${unreadCountMax.toLocaleString('en')} stands for this number or more.`),
  })
  .meta({ id: 'UnreadCount' });

const notificationsPath = '/api/v1/notifications';
const common = { tags: ['Notifications'], security: ['accessToken'] };
const problems = [401, unverifiedProblem, 422] as const;
const marked = {
  description: 'The number of unread notifications.',
  schema: unreadCountSchema,
  headers: ignoredFieldsHeader,
};

export const listNotifications = operation({
  ...common,
  id: 'listNotifications',
  method: 'GET',
  path: `${notificationsPath}/`,
  summary: 'List your notifications, the newest first',
  description: `Watchers of an issue are notified of changed fields, changes of status, comments, links and conflicts, and they and the assignee of an open issue the day before it is due and on that day (UTC); a new assignee and newly mentioned people are notified also if they do not watch it. A change makes none for the person who made it, and an import makes none. A notification appears within a few seconds of its event and is kept for 90 days, or 30 days after it was read or done; a person keeps at most ${notificationsMax.toLocaleString('en')}, the newest, and of those that one actor has caused ${notificationsOfSourceMax} that mention or assign the person, and ${notificationsOfSourceMax} others. A change makes one notification for a person, also if it has many parts. Follow \`Link\` for further pages.`,
  query: notificationQuerySchema,
  headers: knownEtagHeaders,
  responses: {
    200: {
      description: 'A page of notifications.',
      schema: z.array(notificationSchema),
      headers: {
        ...listEtagHeader,
        ...nextLinkHeader,
        'X-Unread-Count': z
          .string()
          .describe(
            `The number of all unread notifications of the inbox, without the filters; ${unreadCountMax.toLocaleString('en')} stands for this or more.`,
          ),
      },
    },
    304: { description: 'The page and the count have not changed.', headers: listEtagHeader },
  },
  problems,
});

export const markNotificationsRead = operation({
  ...common,
  id: 'markNotificationsRead',
  method: 'POST',
  path: `${notificationsPath}/read/`,
  summary: 'Mark notifications as read',
  description: 'Exactly one of `ids` and `up_to`. A repeated request changes nothing.',
  body: {
    schema: markReadSchema,
    example: { up_to: 1 },
  },
  responses: { 200: marked },
  problems,
});

export const markNotificationsUnread = operation({
  ...common,
  id: 'markNotificationsUnread',
  method: 'POST',
  path: `${notificationsPath}/unread/`,
  summary: 'Mark notifications as unread',
  description: 'A repeated request changes nothing.',
  body: {
    schema: markUnreadSchema,
    example: { ids: [1] },
  },
  responses: { 200: marked },
  problems,
});

export const markNotificationsDone = operation({
  ...common,
  id: 'markNotificationsDone',
  method: 'POST',
  path: `${notificationsPath}/done/`,
  summary: 'Take notifications out of the inbox',
  description: 'They are neither in the inbox nor counted. A repeated request changes nothing.',
  body: {
    schema: markDoneSchema,
    example: { ids: [1] },
  },
  responses: { 200: marked },
  problems,
});

export const restoreNotifications = operation({
  ...common,
  id: 'restoreNotifications',
  method: 'POST',
  path: `${notificationsPath}/restore/`,
  summary: 'Bring notifications back to the inbox',
  description:
    'Those that are done or snoozed are back in their place, read or unread as they were. A repeated request changes nothing.',
  body: {
    schema: restoreSchema,
    example: { ids: [1] },
  },
  responses: { 200: marked },
  problems,
});

export const snoozeNotifications = operation({
  ...common,
  id: 'snoozeNotifications',
  method: 'POST',
  path: `${notificationsPath}/snooze/`,
  summary: 'Hide notifications until a time',
  description:
    'They are neither in the inbox nor counted until then. At that time they are unread, and the newest ones. Those that are done stay as they are.',
  body: {
    schema: snoozeSchema,
    example: { ids: [1], until: '2026-11-30T08:00:00Z' },
  },
  responses: { 200: marked },
  problems,
});
