import { Prisma } from '../generated/prisma/client.ts';
import type { ActivityEntry } from '../issue-core/activity-entry.ts';
import type { ChangedBy } from '../issue-core/issue.ts';

/**
 * Inserts history entries of an issue in the given order, as a statement or as a CTE of the statement that makes the
 * change.
 */
export function insertActivity(
  issueId: string,
  entries: readonly ActivityEntry[],
  by: ChangedBy,
): Prisma.Sql {
  return Prisma.sql`
    INSERT INTO activity (issue_id, actor_id, origin, kind, field, old_value, new_value, at, request_id)
    SELECT ${issueId}::uuid, ${by.actorId}::uuid, ${by.origin ?? 'local'}, a.kind, a.field, a.old, a.new, clock_timestamp(), ${by.requestId}
      FROM jsonb_to_recordset(${JSON.stringify(entries)}::jsonb) AS a (kind text, field text, old jsonb, new jsonb)`;
}
