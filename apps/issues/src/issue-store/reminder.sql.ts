import type { IssueEvent } from '@tessera/contracts';
import { Prisma } from '../generated/prisma/client.ts';
import { openStatuses } from '../issue-core/issue-status.ts';
import { eventProject } from './issue.sql.ts';

type DueEvent = Extract<IssueEvent, { type: 'issue.due' }>;

/** Maximum number of issues in a statement. */
export const remindedMax = 200;

/** The condition that the time of a reminder has come on a day. Looks at one entry of an index. */
export function hasReminders(today: string): Prisma.Sql {
  return Prisma.sql`coalesce((
    SELECT remind_on FROM issues WHERE remind_on IS NOT NULL ORDER BY remind_on LIMIT 1) <= ${today}::date, false)`;
}

/**
 * Records `issue.due` for the open issues whose reminder has come, and plans the next one. The process that changes the row first
 * records the event, so replicas record each once. A day that has passed has no reminder. Returns the number of issues.
 */
export function recordReminders(today: string): Prisma.Sql {
  const type: DueEvent['type'] = 'issue.due';
  const isReminded = Prisma.sql`due_on >= ${today}::date AND status = ANY(${[...openStatuses]}::issue_status[])`;
  return Prisma.sql`
    WITH due AS MATERIALIZED (
      SELECT id FROM issues WHERE remind_on <= ${today}::date
       ORDER BY remind_on LIMIT ${Prisma.raw(String(remindedMax))} FOR NO KEY UPDATE SKIP LOCKED
    ), i AS (
      UPDATE issues
         SET remind_on = CASE WHEN due_on > ${today}::date THEN due_on END,
             reminded_on = CASE WHEN ${isReminded} THEN ${today}::date ELSE reminded_on END
       WHERE id = ANY(ARRAY(SELECT id FROM due)) AND remind_on <= ${today}::date
      RETURNING *
    ), recorded AS (
      INSERT INTO events (tx, type, subject_id, data)
      SELECT greatest(event_tx, pg_current_xact_id()::text::bigint), ${type}, id,
             jsonb_build_object('number', number, 'version', version, 'actor_id', NULL, 'origin', 'local', 'due_on', due_on)
               || jsonb_strip_nulls(jsonb_build_object('assignee_id', assignee_id)) || ${eventProject('i')}
        FROM i WHERE ${isReminded}
    )
    SELECT count(*)::int FROM due`;
}
