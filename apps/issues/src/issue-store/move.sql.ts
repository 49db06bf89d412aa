import { Prisma } from '../generated/prisma/client.ts';
import type { TrackerIdentity } from '../issue-core/issue.ts';
import type { IssueReference } from '../issue-core/issue-reference.ts';
import { isReferredTo } from './issue.sql.ts';

/** Locks an issue, also against a new row of `tracker_links`, whose foreign key locks the key of the issue. */
export function lockWhole(reference: IssueReference): Prisma.Sql {
  return Prisma.sql`SELECT i.id FROM issues i WHERE ${isReferredTo(reference)} FOR UPDATE`;
}

/** Locks a project against changes until the transaction ends, and selects it. */
export function lockProject(id: string): Prisma.Sql {
  return Prisma.sql`SELECT archived_at IS NOT NULL AS "isArchived" FROM projects WHERE id = ${id}::uuid FOR SHARE`;
}

/** Deletes the state of the sync of an issue that has no remote issue, and waits for a sync that begins. */
export function deleteIdleLink(issueId: string, tracker: TrackerIdentity): Prisma.Sql {
  return Prisma.sql`
    DELETE FROM tracker_links
     WHERE ${isOf(issueId, tracker)} AND remote_id IS NULL AND create_attempted_at IS NULL AND uncertain_since IS NULL
       AND claim_id IS NULL`;
}

/** Whether the sync of an issue has a state. */
export function findTrackerLink(issueId: string, tracker: TrackerIdentity): Prisma.Sql {
  return Prisma.sql`SELECT 1 FROM tracker_links WHERE ${isOf(issueId, tracker)}`;
}

function isOf(issueId: string, { provider, project }: TrackerIdentity): Prisma.Sql {
  return Prisma.sql`issue_id = ${issueId}::uuid AND provider = ${provider} AND project = ${project}`;
}
