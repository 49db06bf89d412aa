import { type NotificationState, unreadCountMax } from '@tessera/contracts';
import { Prisma } from '../generated/prisma/client.ts';
import type { IssueReference } from '../issue-core/issue-reference.ts';
import { isWhole } from '../issue-core/project-access.ts';
import {
  isReferredTo as isReferred,
  isSeen,
  joinPerson,
  oneOf,
  projectKeyOf,
} from '../issue-store/issue.sql.ts';
import { mayRead } from '../issue-store/sight.sql.ts';
import type {
  KnownNotifications,
  MarkedNotifications,
  NotificationFilters,
  NotificationMark,
  NotificationPage,
  NotificationReader,
} from './notification.ts';

/** How long a notification is kept. */
export const retention = Prisma.raw(`interval '90 days'`);
export const retentionAfterRead = Prisma.raw(`interval '30 days'`);

/** Stands for the external tracker where a value is needed. */
export const noActor = Prisma.raw(`'00000000-0000-0000-0000-000000000000'::uuid`);

const isReadable = Prisma.sql`AND EXISTS (
  SELECT FROM issues i WHERE i.id = n.issue_id AND ${mayRead('n.identity_id')})`;
const inInbox = Prisma.sql`n.done_at IS NULL AND n.snoozed_until IS NULL`;
const unread = Prisma.sql`n.read_at IS NULL AND ${inInbox}`;
const unreadMax = Prisma.raw(String(unreadCountMax));

const states: Readonly<Record<NotificationState, Prisma.Sql>> = {
  inbox: inInbox,
  snoozed: Prisma.sql`n.snoozed_until IS NOT NULL`,
  done: Prisma.sql`n.done_at IS NOT NULL`,
};

function isReferredTo(reference: IssueReference): Prisma.Sql {
  return 'id' in reference
    ? Prisma.sql`n.issue_id = ${reference.id}::uuid`
    : Prisma.sql`n.issue_id = (SELECT i.id FROM issues i WHERE ${isReferred(reference)})`;
}

/** The condition that the issue of the row `n` is in the scope of the reader. */
function seen(scope: NotificationReader): Prisma.Sql[] {
  return isWhole(scope)
    ? []
    : [Prisma.sql`EXISTS (SELECT FROM issues i WHERE i.id = n.issue_id AND ${isSeen(scope)})`];
}

/**
 * Selects a page of the notifications of a person with the number of all unread ones: a row for each notification, or one
 * row without a notification.
 */
export function selectNotifications(
  reader: NotificationReader,
  { isUnread, state, reasons, issue }: NotificationFilters,
  { limit, after }: NotificationPage,
): Prisma.Sql {
  const conditions = [
    Prisma.sql`n.identity_id = ${reader.readerId}::uuid`,
    ...(isUnread === undefined ? [] : [isUnread ? unread : Prisma.sql`n.read_at IS NOT NULL`]),
    ...(state === undefined ? [] : [states[state]]),
    ...(reasons === undefined ? [] : [Prisma.sql`n.reason = ANY(${[...reasons]}::text[])`]),
    // Those who are concerned have an index of their own.
    ...(reasons === undefined || reasons.includes('watching') ? [] : [Prisma.sql`n.reason <> 'watching'`]),
    ...(issue === undefined ? [] : [isReferredTo(issue)]),
    ...seen(reader),
    ...(after === undefined ? [] : [Prisma.sql`n.place < ${after.place}::bigint`]),
  ];
  return Prisma.sql`
    SELECT unread.count AS "unreadCount", n.id, n.place, n.reason, n.type, n.issue_id AS "issueId", i.number, ${projectKeyOf('i')} AS "projectKey", i.title,
           n.actor_id AS "actorId", actor.names AS "actorName", n.changes, n.more_count AS "moreCount", c.id AS "commentId", n.created_at AS "createdAt",
           n.read_at AS "readAt", n.done_at AS "doneAt", n.snoozed_until AS "snoozedUntil"
      FROM (${countUnread(reader)}) unread
      LEFT JOIN LATERAL (
        SELECT * FROM notifications n WHERE ${Prisma.join(conditions, ' AND ')} ORDER BY n.place DESC LIMIT ${limit}
      ) n ON true
      LEFT JOIN ${oneOf('issues', 'id = n.issue_id')} i ON true
      ${joinPerson('actor', 'n.actor_id')}
      LEFT JOIN ${oneOf('comments', 'id = n.comment_id AND deleted_at IS NULL')} c ON true
     ORDER BY n.place DESC`;
}

/** Counts unread notifications of a person, those for which a condition on the row `n` holds, at most `unreadCountMax`. */
function countUnread(reader: NotificationReader, condition = Prisma.sql`true`): Prisma.Sql {
  const conditions = Prisma.join([unread, condition, ...seen(reader)], ' AND ');
  return Prisma.sql`
    SELECT count(*)::int AS count FROM (
      SELECT FROM notifications n WHERE n.identity_id = ${reader.readerId}::uuid AND ${conditions}
       LIMIT ${unreadMax}
    ) unread`;
}

/**
 * Marks notifications of a person, and returns the number of unread ones after it. The statement counts the state before its
 * update, so those that it marks are left out or added.
 */
export function markNotifications(
  reader: NotificationReader,
  marked: MarkedNotifications,
  mark: NotificationMark,
): Prisma.Sql {
  const isMarked =
    'ids' in marked
      ? Prisma.sql`n.id = ANY(${[...marked.ids]}::bigint[])`
      : Prisma.sql`n.place <= ${placeOf(reader, marked.upTo)}`;
  const { readerId: identityId } = reader;
  const { affected, values, isCountedAfter } = changeOf(mark);
  // What a person no longer reads is not marked, and not counted.
  const conditions = Prisma.join([affected, isMarked, ...seen(reader)], ' AND ');
  const count = isCountedAfter
    ? Prisma.sql`
        SELECT least(${unreadCountMax}::int, count + (SELECT count(*) FROM changed WHERE read_at IS NULL))::int AS count
          FROM (${countUnread(reader)}) before`
    : countUnread(reader, Prisma.sql`NOT ${isMarked}`);
  return Prisma.sql`
    WITH changed AS (
      UPDATE notifications n SET ${values}
       WHERE n.identity_id = ${identityId}::uuid AND ${conditions}
      RETURNING read_at
    ), noted AS (
      INSERT INTO notification_marks (identity_id, count)
      SELECT ${identityId}::uuid, 1 WHERE EXISTS (SELECT FROM changed)
      ON CONFLICT (identity_id) DO UPDATE SET count = notification_marks.count + 1
    ) ${count}`;
}

// That of the nearest earlier id if the notification is gone. A snooze that ends gives a notification a later place.
function placeOf({ readerId }: NotificationReader, id: number): Prisma.Sql {
  return Prisma.sql`coalesce((
    SELECT place FROM notifications WHERE identity_id = ${readerId}::uuid AND id <= ${id}::bigint ORDER BY id DESC LIMIT 1), 0)`;
}

interface Change {
  /** The notifications that are not so yet. */
  affected: Prisma.Sql;
  values: Prisma.Sql;
  /** Whether those without `read_at` are counted after it, and not before. */
  isCountedAfter: boolean;
}

// A notification that was snoozed for long is older than its retention.
const fullRetention = Prisma.sql`greatest(created_at + ${retention}, clock_timestamp() + ${retentionAfterRead})`;
const shortRetention = Prisma.sql`least(expires_at, clock_timestamp() + ${retentionAfterRead})`;

function changeOf(mark: NotificationMark): Change {
  switch (mark.as) {
    case 'read':
      return {
        affected: unread,
        values: Prisma.sql`read_at = clock_timestamp(), expires_at = ${shortRetention}`,
        isCountedAfter: false,
      };
    case 'unread':
      return {
        affected: Prisma.sql`n.read_at IS NOT NULL AND ${inInbox}`,
        values: Prisma.sql`read_at = NULL, expires_at = ${fullRetention}`,
        isCountedAfter: true,
      };
    case 'done':
      return {
        affected: Prisma.sql`n.done_at IS NULL`,
        values: Prisma.sql`done_at = clock_timestamp(), snoozed_until = NULL, expires_at = ${shortRetention}`,
        isCountedAfter: false,
      };
    case 'restored':
      return {
        affected: Prisma.sql`NOT (${inInbox})`,
        values: Prisma.sql`done_at = NULL, snoozed_until = NULL,
                           expires_at = ${fullRetention}`,
        isCountedAfter: true,
      };
    case 'snoozed':
      return {
        affected: Prisma.sql`n.done_at IS NULL`,
        values: Prisma.sql`snoozed_until = ${mark.until}::timestamptz,
                           expires_at = greatest(${fullRetention}, ${mark.until}::timestamptz + ${retentionAfterRead})`,
        isCountedAfter: false,
      };
  }
}

/**
 * Finds the people whose notifications are not as known, and the number of their unread ones. `hasRestricted`: whether some people do
 * not read all issues.
 */
export const selectChangedNotifications = (
  people: readonly KnownNotifications[],
  hasRestricted: boolean,
) => Prisma.sql`
  SELECT p.identity_id AS "identityId", p.now AS known, unread.count AS "unreadCount"
    FROM (
      SELECT p.identity_id, p.known, concat_ws(' ', newest.place, m.count) AS now
        FROM unnest(${people.map(({ identityId }) => identityId)}::uuid[],
                    ${people.map(({ known }) => known ?? null)}::text[]) AS p (identity_id, known)
        LEFT JOIN LATERAL (
          SELECT place FROM notifications n WHERE n.identity_id = p.identity_id ORDER BY place DESC LIMIT 1
        ) newest ON true
        LEFT JOIN ${oneOf('notification_marks', 'identity_id = p.identity_id')} m ON true
    ) p
   CROSS JOIN LATERAL (
     SELECT count(*)::int AS count FROM (
       SELECT FROM notifications n WHERE n.identity_id = p.identity_id AND ${unread} ${hasRestricted ? isReadable : Prisma.empty}
        LIMIT ${unreadMax}
     ) n
   ) unread
   WHERE p.now IS DISTINCT FROM p.known`;
