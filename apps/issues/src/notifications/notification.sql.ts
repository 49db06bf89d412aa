import { unreadCountMax } from '@tessera/contracts';
import { Prisma } from '../generated/prisma/client.ts';
import type { IssueReference } from '../issue-core/issue-reference.ts';
import { joinPerson, oneOf } from '../issue-store/issue.sql.ts';
import type { MarkedNotifications, NotificationFilters, NotificationPage } from './notification.ts';

/** How long a notification is kept. */
export const retention = Prisma.raw(`interval '90 days'`);
const retentionAfterRead = Prisma.raw(`interval '30 days'`);

/** Stands for the external tracker where a value is needed. */
export const noActor = Prisma.raw(`'00000000-0000-0000-0000-000000000000'::uuid`);

const unread = Prisma.sql`n.read_at IS NULL`;

function isReferredTo(reference: IssueReference): Prisma.Sql {
  return 'id' in reference
    ? Prisma.sql`n.issue_id = ${reference.id}::uuid`
    : Prisma.sql`n.issue_id = (SELECT id FROM issues WHERE number = ${reference.number}::bigint)`;
}

/**
 * Selects a page of the notifications of a person with the number of all unread ones: a row for each notification, or one
 * row without a notification.
 */
export function selectNotifications(
  identityId: string,
  { isUnread, reasons, issue }: NotificationFilters,
  { limit, after }: NotificationPage,
): Prisma.Sql {
  const conditions = [
    Prisma.sql`n.identity_id = ${identityId}::uuid`,
    ...(isUnread === undefined ? [] : [isUnread ? unread : Prisma.sql`n.read_at IS NOT NULL`]),
    ...(reasons === undefined ? [] : [Prisma.sql`n.reason = ANY(${[...reasons]}::text[])`]),
    // Those who are concerned have an index of their own.
    ...(reasons === undefined || reasons.includes('watching') ? [] : [Prisma.sql`n.reason <> 'watching'`]),
    ...(issue === undefined ? [] : [isReferredTo(issue)]),
    ...(after === undefined ? [] : [Prisma.sql`n.place < ${after.place}::bigint`]),
  ];
  return Prisma.sql`
    SELECT unread.count AS "unreadCount", n.id, n.place, n.reason, n.type, n.issue_id AS "issueId", i.number, i.title,
           n.actor_id AS "actorId", actor.names AS "actorName", n.more_count AS "moreCount", c.id AS "commentId", n.created_at AS "createdAt",
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

/** Counts unread notifications of a person, those for which a condition on the row `n` holds, at most `unreadCountMax`. */
function countUnread(identityId: string, condition = Prisma.sql`true`): Prisma.Sql {
  return Prisma.sql`
    SELECT count(*)::int AS count FROM (
      SELECT FROM notifications n WHERE n.identity_id = ${identityId}::uuid AND ${unread} AND ${condition}
       LIMIT ${Prisma.raw(String(unreadCountMax))}
    ) unread`;
}

/** Marks notifications of a person, and returns the number of unread ones after it. */
export function markNotifications(
  identityId: string,
  marked: MarkedNotifications,
  isRead: boolean,
): Prisma.Sql {
  const isMarked =
    'ids' in marked
      ? Prisma.sql`n.id = ANY(${[...marked.ids]}::bigint[])`
      : Prisma.sql`n.id <= ${marked.upTo}::bigint`;
  // The statement counts the state before its update.
  const count = isRead
    ? countUnread(identityId, Prisma.sql`NOT ${isMarked}`)
    : Prisma.sql`
        SELECT least(${unreadCountMax}::int, count + (SELECT count(*) FROM changed))::int AS count
          FROM (${countUnread(identityId)}) before`;
  return Prisma.sql`
    WITH changed AS (
      UPDATE notifications n
         SET read_at = ${isRead ? Prisma.sql`clock_timestamp()` : Prisma.sql`NULL`}, expires_at = ${expiryOf(isRead)}
       WHERE n.identity_id = ${identityId}::uuid AND ${isRead ? unread : Prisma.sql`n.read_at IS NOT NULL`} AND ${isMarked}
      RETURNING 1
    ) ${count}`;
}

/** The value of `expires_at` for a notification that was just read, or is unread again. */
function expiryOf(isRead: boolean): Prisma.Sql {
  return isRead
    ? Prisma.sql`least(expires_at, clock_timestamp() + ${retentionAfterRead})`
    : Prisma.sql`created_at + ${retention}`;
}
