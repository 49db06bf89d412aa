import {
  type NotificationReason,
  type NotificationType,
  notedMembers,
  notificationReasons,
  notificationsMax,
  notificationsOfSourceMax,
} from '@tessera/contracts';
import { unreadEvents } from '../events/event-reader.sql.ts';
import { Prisma } from '../generated/prisma/client.ts';
import { oneOf } from '../issue-store/issue.sql.ts';
import { hasReminders } from '../issue-store/reminder.sql.ts';
import { mayRead } from '../issue-store/sight.sql.ts';
import { noActor, retention, retentionAfterRead } from './notification.sql.ts';

/** Maximum number of watchers of an issue who are notified of a change. */
export const watchersMax = 5_000;
/** Number of events in a statement. */
export const eventsMax = 200;
/** The number after a failure: with `watchersMax`, a statement then writes so few rows that it ends before its timeout. */
export const eventsAfterFailure = 10;
/** After so many watchers in a statement, the further changes of an actor are deferred. */
const watchersBeforeDeferral = 2_000;
/** Number of watchers, counted for each change, in a statement with the deferred changes of an actor. */
const deferredWatchersMax = 50_000;

/** The events of which all watchers are notified. That of the first type stands for a change with several. */
const watchedTypes: readonly NotificationType[] = [
  'issue.sync_conflict',
  'issue.due',
  'issue.commented',
  'issue.status_changed',
  'issue.updated',
  'issue.link_added',
  'issue.link_removed',
];
/** The others notify mentioned people and new assignees. */
const typesForPeople: readonly NotificationType[] = ['issue.created', 'comment.updated'];

const listed = (texts: readonly string[]) => Prisma.raw(texts.map((text) => `'${text}'`).join(', '));
const count = (number: number) => Prisma.raw(String(number));
const rank = (reason: NotificationReason) => count(notificationReasons.indexOf(reason) + 1);
/** The events of the change of the row `e`. A conflict stands alone: it names what the others of the change do not change. */
const ofChange = Prisma.sql`(PARTITION BY e.subject_id, coalesce(e.rev, -e.id), e.type = 'issue.sync_conflict'
  ORDER BY e.id ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING)`;
/** What the change of the row `e` has changed, of its `parts` and `steps`: names of a fixed list and two statuses, no texts. */
const changesOf = Prisma.sql`
  CASE WHEN e.parts IS NOT NULL OR e.steps IS NOT NULL THEN jsonb_strip_nulls(jsonb_build_object(
    'members', (SELECT jsonb_agg(name ORDER BY nth) FROM unnest(ARRAY[${listed(notedMembers)}]) WITH ORDINALITY n (name, nth)
                 WHERE e.parts -> 0 @> to_jsonb(name) OR name = 'status' AND e.steps IS NOT NULL),
    'status', CASE WHEN e.steps IS NOT NULL THEN
                jsonb_build_object('from', e.steps -> 0 -> 'from', 'to', e.steps -> -1 -> 'to') END
  )) END`;
/** Whether everyone reads an issue. `id`: an expression. */
const isOpen = (id: string) => Prisma.sql`coalesce((
  SELECT p.visibility = 'everyone' FROM ${oneOf('issues', `id = ${id}`)} i JOIN projects p ON p.id = i.project_id), false)`;
/** The condition that a person is active and may read the issue of the row `t`, which says whether everyone does. */
const mayBeTold = Prisma.sql`(SELECT is_active FROM identity_mirror m WHERE m.id = person.id)
  AND (t.is_open OR EXISTS (SELECT FROM issues i WHERE i.id = t.issue_id AND ${mayRead('person.id')}))`;

/** The people who watch the issue of the row `t`, at most `watchersMax`. */
const watchersOfIssue = Prisma.sql`(
  SELECT i.reporter_id AS id FROM ${oneOf('issues', 'id = t.issue_id')} i
   WHERE i.reporter_watches AND NOT EXISTS (
     SELECT FROM issue_watchers w WHERE w.issue_id = i.id AND w.user_id = i.reporter_id
   )
  UNION ALL (
    SELECT user_id FROM issue_watchers w WHERE w.issue_id = t.issue_id AND w.is_watching
     ORDER BY user_id LIMIT ${count(watchersMax)}
  )
) person`;

/** Selects the oldest rows beyond the newest `max` of a person or a source, of those in `numbered`. */
function beyond(max: number, columns: { of: string; by: string }): Prisma.Sql {
  const [of, by] = [Prisma.raw(columns.of), Prisma.raw(columns.by)];
  return Prisma.sql`
      SELECT n.ctid
        FROM (SELECT ${of}, max(${by}) AS newest FROM numbered GROUP BY ${of}) latest
       CROSS JOIN LATERAL (
         SELECT ctid FROM notifications
          WHERE ${of} = latest.${of} AND ${by} <= latest.newest - ${count(max)}
          ORDER BY ${by} LIMIT ${count(2 * eventsMax)}
       ) n`;
}

/**
 * Writes a row for each one of `recipients`, as CTEs, and deletes the older ones of a person: beyond
 * `notificationsOfSourceMax` of the same source, and beyond `notificationsMax` in all.
 */
const writeNotifications = Prisma.sql`
  numbered AS MATERIALIZED (
    SELECT r.*,
           coalesce(newest.place, 0) + row_number() OVER (PARTITION BY identity_id ORDER BY tx, event_id) AS place,
           coalesce(of_source.place, 0)
             + row_number() OVER (PARTITION BY source ORDER BY tx, event_id) AS source_place
      FROM (
        SELECT *, md5(concat_ws(' ', identity_id, actor_id, rank <> ${rank('watching')}))::uuid AS source FROM recipients
      ) r
      LEFT JOIN LATERAL (
        SELECT place FROM notifications n WHERE n.identity_id = r.identity_id ORDER BY place DESC LIMIT 1
      ) newest ON true
      LEFT JOIN LATERAL (
        SELECT source_place AS place FROM notifications n WHERE n.source = r.source ORDER BY source_place DESC LIMIT 1
      ) of_source ON true
  ), written AS (
    INSERT INTO notifications (identity_id, place, source, source_place, event_id, reason, type, issue_id, comment_id, actor_id,
                               changes, more_count, created_at, expires_at)
    SELECT identity_id, place, source, source_place, event_id, (ARRAY[${listed(notificationReasons)}])[rank], type, issue_id,
           comment_id, nullif(actor_id, ${noActor}), changes, more, at, at + ${retention}
      FROM numbered ORDER BY tx, event_id
    ON CONFLICT (identity_id, event_id) DO NOTHING
  ), trimmed AS (
    DELETE FROM notifications WHERE ctid = ANY(ARRAY(
      ${beyond(notificationsMax, { of: 'identity_id', by: 'place' })}
      UNION ALL
      ${beyond(notificationsOfSourceMax, { of: 'source', by: 'source_place' })}
    ))
  )`;

/**
 * Makes the notifications of the next unread events. A person gets one row for a change, with the first of the reasons,
 * and none for an own change or a second mention in the same text. Imported issues notify no one, and neither does an event
 * of a deleted comment, or of a relation, whose other issue the watchers may not read. Returns the number of events, and whether changes are deferred.
 *
 * People that a change concerns are notified at once. If an actor changes issues with many watchers, the watchers of the
 * further changes are notified by `notifyOfDeferred`, so that the events of others need not wait for them. The planner
 * cannot estimate the recipients, so subqueries and a limit make it find their rows by indexes.
 */
export const notifyOfEvents = (limit: number, today: string) => Prisma.sql`
  WITH ${unreadEvents(Prisma.sql, 'notifications', limit)}, relevant AS MATERIALIZED (
    SELECT e.tx, e.id AS event_id, e.type, e.subject_id AS issue_id, coalesce(e.rev, -e.id) AS change, e.at, e.data, ${isOpen('e.subject_id')} AS is_open,
           coalesce((e.data ->> 'actor_id')::uuid, ${noActor}) AS actor_id, (e.data ->> 'comment_id')::uuid AS comment_id,
           array_position(ARRAY[${listed(watchedTypes)}], e.type) AS watched, ${changesOf} AS changes
      FROM (
        SELECT *, jsonb_agg(e.data -> 'changed') FILTER (WHERE e.data -> 'changed' IS NOT NULL) OVER change AS parts,
               jsonb_agg(e.data) FILTER (WHERE e.type = 'issue.status_changed') OVER change AS steps
          FROM page e WINDOW change AS ${ofChange}
      ) e
     WHERE e.type IN (${listed([...watchedTypes, ...typesForPeople])})
       AND NOT (e.type = 'issue.created' AND e.data ->> 'origin' <> 'local')
       AND (e.type <> 'issue.updated' OR e.data -> 'changed' IS DISTINCT FROM '["relations"]')
       AND NOT EXISTS (
         SELECT FROM comments c WHERE c.id = (e.data ->> 'comment_id')::uuid AND c.deleted_at IS NOT NULL
       )
  ), of_people AS (
    SELECT t.*, person.id AS identity_id, person.rank,
           row_number() OVER (PARTITION BY person.id, person.rank, t.issue_id, t.comment_id ORDER BY t.tx, t.event_id) AS nth
      FROM relevant t CROSS JOIN LATERAL (
        SELECT mention::uuid AS id, ${rank('mentioned')} AS rank
          FROM jsonb_array_elements_text(coalesce(t.data -> 'mention_ids', '[]')) mention
         WHERE NOT EXISTS (
           SELECT FROM notifications n
            WHERE n.identity_id = mention::uuid AND n.issue_id = t.issue_id AND n.reason = 'mentioned'
              AND n.comment_id IS NOT DISTINCT FROM t.comment_id
         )
        UNION ALL SELECT (t.data ->> 'assignee_id')::uuid, ${rank('assigned')}
      ) person
     WHERE person.id <> t.actor_id AND ${mayBeTold}
  ), concerned AS MATERIALIZED (
    -- The events of a page can have a second mention, of which the table knows nothing yet.
    SELECT * FROM of_people WHERE rank <> ${rank('mentioned')} OR nth = 1
  ), watched AS (
    SELECT DISTINCT ON (issue_id, change) * FROM relevant WHERE watched IS NOT NULL
     ORDER BY issue_id, change, watched, event_id
  ), turns AS MATERIALIZED (
    SELECT t.*, watchers.size,
           sum(watchers.size) OVER (PARTITION BY t.actor_id ORDER BY t.tx, t.event_id) - watchers.size AS earlier,
           EXISTS (SELECT FROM deferred_notifications d WHERE d.actor_id = t.actor_id) AS is_behind
      FROM watched t CROSS JOIN LATERAL (
        SELECT count(*)::int AS size FROM (
          SELECT FROM issue_watchers w WHERE w.issue_id = t.issue_id AND w.is_watching LIMIT ${count(watchersMax)}
        ) w
      ) watchers
  ), deferred AS (
    INSERT INTO deferred_notifications (event_id, actor_id, type, issue_id, comment_id, changes, at, size, concerned_ids)
    SELECT t.event_id, t.actor_id, t.type, t.issue_id, t.comment_id, t.changes, t.at, t.size, ARRAY(
             SELECT identity_id FROM concerned c WHERE c.issue_id = t.issue_id AND c.change = t.change)
      FROM turns t WHERE t.size > 0 AND (t.is_behind OR t.earlier >= ${count(watchersBeforeDeferral)})
    RETURNING event_id
  ), recipients AS MATERIALIZED (
    SELECT DISTINCT ON (issue_id, change, identity_id) *, 0 AS more FROM (
      SELECT tx, event_id, type, issue_id, change, comment_id, actor_id, changes, at, identity_id, rank FROM concerned
      UNION ALL
      SELECT t.tx, t.event_id, t.type, t.issue_id, t.change, t.comment_id, t.actor_id, t.changes, t.at, person.id, ${rank('watching')}
        FROM turns t CROSS JOIN LATERAL ${watchersOfIssue}
       WHERE t.event_id NOT IN (SELECT event_id FROM deferred) AND person.id <> t.actor_id AND ${mayBeTold}
    ) r ORDER BY issue_id, change, identity_id, rank, event_id
  ), ${writeNotifications}
  SELECT (SELECT count(*)::int FROM page) AS count,
         EXISTS (SELECT FROM recipients) AS "hasWritten",
         EXISTS (SELECT FROM deferred) OR EXISTS (SELECT FROM deferred_notifications) AS "hasDeferred",
         EXISTS (SELECT FROM notifications WHERE snoozed_until <= now()) AS "hasDue",
         ${hasReminders(today)} AS "hasReminders"`;

/**
 * Makes the notifications of the deferred changes of one actor. A person gets one row for all changes of the statement: the
 * last one, and the number of the others. The actors take turns at random, so that one with many changes does not delay
 * the others. Returns whether changes remain.
 */
export const notifyOfDeferred = Prisma.sql`
  WITH reader AS MATERIALIZED (
    SELECT FROM event_readers WHERE name = 'notifications' FOR UPDATE SKIP LOCKED
  ), turn AS MATERIALIZED (
    SELECT actor_id FROM reader CROSS JOIN (SELECT DISTINCT actor_id FROM deferred_notifications) actors
     ORDER BY random() LIMIT 1
  ), changes AS MATERIALIZED (
    SELECT * FROM (
      SELECT d.*, ${isOpen('d.issue_id')} AS is_open, sum(size) OVER (ORDER BY event_id) - size AS earlier
        FROM deferred_notifications d WHERE d.actor_id = (SELECT actor_id FROM turn)
    ) t WHERE earlier < ${count(deferredWatchersMax)}
  ), taken AS (
    DELETE FROM deferred_notifications WHERE event_id IN (SELECT event_id FROM changes)
  ), recipients AS MATERIALIZED (
    SELECT DISTINCT ON (person.id) 0 AS tx, t.event_id, t.type, t.issue_id, t.comment_id, t.actor_id, t.changes, t.at,
           person.id AS identity_id, ${rank('watching')} AS rank, count(*) OVER (PARTITION BY person.id)::int - 1 AS more
      FROM changes t CROSS JOIN LATERAL ${watchersOfIssue}
     WHERE person.id <> t.actor_id AND person.id <> ALL(t.concerned_ids) AND ${mayBeTold}
     ORDER BY person.id, t.event_id DESC
  ), ${writeNotifications}
  SELECT EXISTS (SELECT FROM recipients) AS "hasWritten",
         (SELECT count(*) FROM deferred_notifications) > (SELECT count(*) FROM changes) AS "hasDeferred"`;

/**
 * Ends the snoozes whose time has come. Their notifications are unread, and get the places of new ones. The lock of the reader
 * keeps new ones from getting the same places.
 */
export const endSnoozes = Prisma.sql`
  WITH reader AS MATERIALIZED (
    SELECT FROM event_readers WHERE name = 'notifications' FOR UPDATE SKIP LOCKED
  ), due AS MATERIALIZED (
    SELECT n.*, row_number() OVER (PARTITION BY identity_id ORDER BY snoozed_until, place) AS nth
      FROM reader CROSS JOIN LATERAL (
        SELECT identity_id, place, snoozed_until FROM notifications WHERE snoozed_until <= now()
         ORDER BY snoozed_until LIMIT ${count(eventsMax)}
      ) n
  ), ended AS (
    UPDATE notifications n
       SET place = nth + (
             SELECT place FROM notifications l WHERE l.identity_id = due.identity_id ORDER BY place DESC LIMIT 1
           ), snoozed_until = NULL, read_at = NULL,
           expires_at = greatest(created_at + ${retention}, clock_timestamp() + ${retentionAfterRead})
      FROM due
     WHERE n.identity_id = due.identity_id AND n.place = due.place AND n.snoozed_until <= now()
    RETURNING 1
  )
  SELECT EXISTS (SELECT FROM ended) AS "hasWritten"`;
