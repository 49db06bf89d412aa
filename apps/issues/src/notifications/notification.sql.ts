import {
  type NotificationReason,
  type NotificationType,
  notificationReasons,
  notificationsMax,
} from '@tessera/contracts';
import { unreadEvents } from '../events/event-reader.sql.ts';
import { Prisma } from '../generated/prisma/client.ts';
import type { IssueReference } from '../issue-core/issue-reference.ts';
import { joinPerson, oneOf } from '../issue-store/issue.sql.ts';
import type { NotificationFilters, NotificationPage } from './notification.ts';

/** Maximum number of watchers of an issue who are notified of an event. */
export const watchersMax = 5_000;
/** Number of events in a statement. */
export const eventsMax = 200;
/** The number after a failure: with `watchersMax`, a statement then writes so few rows that it ends before its timeout. */
export const eventsAfterFailure = 10;

const retention = Prisma.raw(`interval '90 days'`);
const retentionAfterRead = Prisma.raw(`interval '30 days'`);

/** The events of which all watchers are notified. The others notify mentioned people and new assignees. */
const watchedTypes: readonly NotificationType[] = [
  'issue.updated',
  'issue.status_changed',
  'issue.commented',
  'issue.link_added',
  'issue.link_removed',
  'issue.sync_conflict',
];
const typesForPeople: readonly NotificationType[] = ['issue.created', 'comment.updated'];

function listed(texts: readonly string[]): Prisma.Sql {
  return Prisma.raw(texts.map((text) => `'${text}'`).join(', '));
}

const rank = (reason: NotificationReason) => Prisma.raw(String(notificationReasons.indexOf(reason) + 1));

/**
 * Makes the notifications of the next unread events. A person gets one row for an event, with the first of the reasons,
 * and none for an own change. Imported issues notify no one, and neither does an event of a deleted comment. Deletes
 * all but the newest `notificationsMax` of each person. Returns the number of events. The planner cannot estimate the
 * recipients, so subqueries and a limit make it find their rows by indexes.
 */
export const notifyOfEvents = (count: number) => Prisma.sql`
  WITH ${unreadEvents(Prisma.sql, 'notifications', count)}, concerned AS MATERIALIZED (
    SELECT e.tx, e.id, e.type, e.subject_id, e.at, e.data, (e.data ->> 'actor_id')::uuid AS actor_id,
           (e.data ->> 'comment_id')::uuid AS comment_id, i.reporter_id, i.reporter_watches,
           e.type IN (${listed(watchedTypes)}) AS is_watched
      FROM page e CROSS JOIN ${oneOf('issues', 'id = e.subject_id')} i
     WHERE e.type IN (${listed([...watchedTypes, ...typesForPeople])})
       AND NOT (e.type = 'issue.created' AND e.data ->> 'origin' <> 'local')
       AND NOT EXISTS (
         SELECT FROM comments c WHERE c.id = (e.data ->> 'comment_id')::uuid AND c.deleted_at IS NOT NULL
       )
  ), recipients AS MATERIALIZED (
    SELECT e.tx, e.id AS event_id, person.id AS identity_id, min(person.rank) AS rank
      FROM concerned e CROSS JOIN LATERAL (
        SELECT mention::uuid AS id, ${rank('mentioned')} AS rank
          FROM jsonb_array_elements_text(coalesce(e.data -> 'mention_ids', '[]')) mention
        UNION ALL SELECT (e.data ->> 'assignee_id')::uuid, ${rank('assigned')}
        UNION ALL SELECT e.reporter_id, ${rank('watching')} WHERE e.is_watched AND e.reporter_watches AND NOT EXISTS (
          SELECT FROM issue_watchers w WHERE w.issue_id = e.subject_id AND w.user_id = e.reporter_id
        )
        UNION ALL (
          SELECT user_id, ${rank('watching')} FROM issue_watchers w
           WHERE e.is_watched AND w.issue_id = e.subject_id AND w.is_watching
           ORDER BY user_id LIMIT ${Prisma.raw(String(watchersMax))}
        )
      ) person
     WHERE person.id IS DISTINCT FROM e.actor_id AND (SELECT is_active FROM identity_mirror m WHERE m.id = person.id)
     GROUP BY e.tx, e.id, person.id
  ), numbered AS MATERIALIZED (
    SELECT r.*, coalesce(newest.place, 0) + row_number() OVER (PARTITION BY identity_id ORDER BY tx, event_id) AS place
      FROM recipients r LEFT JOIN LATERAL (
        SELECT place FROM notifications n WHERE n.identity_id = r.identity_id ORDER BY place DESC LIMIT 1
      ) newest ON true
  ), written AS (
    INSERT INTO notifications
           (identity_id, place, event_id, reason, type, issue_id, comment_id, actor_id, created_at, expires_at)
    SELECT n.identity_id, n.place, e.id, (ARRAY[${listed(notificationReasons)}])[n.rank], e.type, e.subject_id,
           e.comment_id, e.actor_id, e.at, e.at + ${retention}
      FROM numbered n JOIN concerned e ON e.id = n.event_id
     ORDER BY e.tx, e.id
    ON CONFLICT (identity_id, event_id) DO NOTHING
  ), trimmed AS (
    DELETE FROM notifications WHERE ctid = ANY(ARRAY(
      SELECT n.ctid FROM (SELECT identity_id, max(place) AS newest FROM numbered GROUP BY identity_id) person
       CROSS JOIN LATERAL (
         SELECT ctid FROM notifications
          WHERE identity_id = person.identity_id AND place <= person.newest - ${Prisma.raw(String(notificationsMax))}
          ORDER BY place LIMIT ${Prisma.raw(String(2 * eventsMax))}
       ) n
    ))
  )
  SELECT count(*)::int AS count FROM page`;

function isReferredTo(reference: IssueReference): Prisma.Sql {
  return 'id' in reference
    ? Prisma.sql`n.issue_id = ${reference.id}::uuid`
    : Prisma.sql`n.issue_id = (SELECT id FROM issues WHERE number = ${reference.number}::bigint)`;
}

/**
 * Selects a page of the notifications of a person with the number of all unread ones: a row for each notification, or one
 * row without a notification. Reads at most `notificationsMax` rows of the person.
 */
export function selectNotifications(
  identityId: string,
  { isUnread, reasons, issue }: NotificationFilters,
  { limit, after }: NotificationPage,
): Prisma.Sql {
  const conditions = [
    Prisma.sql`n.identity_id = ${identityId}::uuid`,
    ...(isUnread === undefined ? [] : [Prisma.sql`(n.read_at IS NULL) = ${isUnread}::boolean`]),
    ...(reasons === undefined ? [] : [Prisma.sql`n.reason = ANY(${[...reasons]}::text[])`]),
    ...(issue === undefined ? [] : [isReferredTo(issue)]),
    ...(after === undefined ? [] : [Prisma.sql`n.place < ${after.place}::bigint`]),
  ];
  return Prisma.sql`
    SELECT unread.count AS "unreadCount", n.id, n.place, n.reason, n.type, n.issue_id AS "issueId", i.number, i.title,
           n.actor_id AS "actorId", actor.names AS "actorName", c.id AS "commentId", n.created_at AS "createdAt",
           n.read_at AS "readAt"
      FROM (${countUnread(identityId)}) unread
      LEFT JOIN LATERAL (
        SELECT * FROM notifications n WHERE ${Prisma.join(conditions, ' AND ')} ORDER BY n.place DESC LIMIT ${limit}
      ) n ON true
      LEFT JOIN ${oneOf('issues', 'id = n.issue_id')} i ON true
      ${joinPerson('actor', 'n.actor_id')}
      LEFT JOIN ${oneOf('comments', 'id = n.comment_id AND deleted_at IS NULL')} c ON true
     ORDER BY n.place DESC`;
}

function countUnread(identityId: string): Prisma.Sql {
  return Prisma.sql`
    SELECT count(*)::int FROM notifications WHERE identity_id = ${identityId}::uuid AND read_at IS NULL`;
}

/** The value of `expires_at` for a notification that was just read, or is unread again. */
export function expiryOf(isRead: boolean): Prisma.Sql {
  return isRead
    ? Prisma.sql`least(expires_at, clock_timestamp() + ${retentionAfterRead})`
    : Prisma.sql`created_at + ${retention}`;
}
