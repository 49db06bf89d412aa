import type { IssueEvent } from '@tessera/contracts';
import { Prisma } from '../generated/prisma/client.ts';
import type { ChangedBy } from '../issue-core/issue.ts';
import { creationEvent } from '../issue-core/issue-change.ts';
import { eventProject, oneOf } from './issue.sql.ts';
import { startWatching } from './watching.sql.ts';
import { descriptionWords, titleWords } from './words.ts';

/** An issue to import, with the link to its remote issue. */
export interface ImportedIssue {
  id: string;
  title: string;
  description: string;
  assigneeId: string | null;
  linkId: string;
  linkRef: string;
  linkUrl: string;
}

/** The members of an imported issue in the JSON of the rows that `insertImported` reads. */
export function importedRow<Issue extends ImportedIssue>(issue: Issue, by: ChangedBy) {
  return {
    ...issue,
    titleWords: titleWords(issue.title),
    descriptionWords: descriptionWords(issue.description),
    event: creationEvent({ assigneeId: issue.assigneeId, mentionIds: [] }, by).data,
  };
}

export const importedColumns = Prisma.raw(
  'id uuid, title text, description text, "titleWords" text, "descriptionWords" text, priority issue_priority, status issue_status, "assigneeId" uuid, "linkId" uuid, "linkRef" text, "linkUrl" text, event jsonb',
);

/**
 * Inserts issues with their links, history, events and watchers, as CTEs. `rows` selects `importedColumns` in order. The
 * reporter does not watch them.
 */
export function insertImported(rows: Prisma.Sql, reporterId: string, by: ChangedBy): Prisma.Sql {
  const type = creationEvent({ assigneeId: null, mentionIds: [] }, by).type;
  return Prisma.sql`
    imported AS (${rows}), i AS (
      INSERT INTO issues (id, title, description, search, priority, status, reporter_id, reporter_watches, assignee_id, resolved_at,
        closed_at)
      SELECT id, title, description, "descriptionWords"::tsvector || "titleWords"::tsvector, priority, status, ${reporterId}::uuid, false, "assigneeId",
             CASE WHEN status = 'RESOLVED' THEN now() END, CASE WHEN status = 'CLOSED' THEN now() END
        FROM imported
      RETURNING id, number, version, assignee_id, reporter_id, reporter_watches, event_tx
    ), logged AS (
      INSERT INTO activity (issue_id, origin, kind, request_id)
      SELECT id, ${by.origin ?? 'local'}, 'created', ${by.requestId} FROM i
    ), recorded AS (
      INSERT INTO events (tx, type, subject_id, data)
      SELECT i.event_tx, ${type}, i.id, imported.event || jsonb_build_object('number', i.number, 'version', i.version)
        FROM i JOIN imported USING (id)
    ), watching AS (
      ${startWatching(Prisma.sql`SELECT i.*, i.assignee_id AS user_id FROM i WHERE i.assignee_id IS NOT NULL`, null)}
    ), links AS (
      INSERT INTO issue_links (id, issue_id, type, ref, title, url, created_by)
      SELECT "linkId", id, 'external_issue', "linkRef", title, "linkUrl", ${reporterId}::uuid FROM imported
    )`;
}

/** Inserts the link to a remote issue for each `issue_id` of a source, as a CTE. An existing link stays. */
export function insertTrackerLink(
  rows: Prisma.Sql,
  link: { id: string; ref: string; title: string; url: string; createdBy: string },
): Prisma.Sql {
  return Prisma.sql`
    INSERT INTO issue_links (id, issue_id, type, ref, title, url, created_by)
    SELECT ${link.id}::uuid, issue_id, 'external_issue', ${link.ref}, left(${link.title}, 255), ${link.url},
           ${link.createdBy}::uuid FROM (${rows}) t
    ON CONFLICT (issue_id, type, ref) DO NOTHING`;
}

/** Deletes the links to a tracker for each `issue_id` of a source, as a CTE. */
export function deleteTrackerLinks(rows: Prisma.Sql, provider: string): Prisma.Sql {
  return Prisma.sql`
    DELETE FROM issue_links l USING (${rows}) t
     WHERE l.issue_id = t.issue_id AND l.type = 'external_issue' AND starts_with(l.ref, ${`${provider}:`})`;
}

type SyncedEvent = Extract<IssueEvent, { type: 'issue.synced' }>;

/**
 * Inserts `issue.synced` for each row of a source with `issue_id` and `remote_id`, as a CTE of the statement that writes the
 * state of the sync. A sync ends without the issue's lock, so the event has no version.
 */
export function recordSynced(rows: Prisma.Sql, origin: SyncedEvent['data']['origin']): Prisma.Sql {
  const type: SyncedEvent['type'] = 'issue.synced';
  return Prisma.sql`
    INSERT INTO events (tx, type, subject_id, data)
    SELECT greatest(i.event_tx, pg_current_xact_id()::text::bigint), ${type}, i.id,
           jsonb_build_object('number', i.number, 'origin', ${origin}::text, 'remote_id', t.remote_id) || ${eventProject('i')}
      FROM (${rows}) t CROSS JOIN ${oneOf('issues', 'id = t.issue_id')} i`;
}
