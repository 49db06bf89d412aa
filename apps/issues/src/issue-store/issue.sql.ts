import {
  embeddedCommentsBytesMax,
  embeddedCommentsMax,
  embeddedConflictsBytesMax,
  type IssueField,
  listedDescriptionMaxLength,
  listedLinksMax,
  type SyncFilter,
} from '@tessera/contracts';
import pg from 'pg';
import { Prisma } from '../generated/prisma/client.ts';
import type { Comment } from '../issue-core/comment.ts';
import type { IssueRecord, IssueSnapshot, TrackerIdentity } from '../issue-core/issue.ts';
import type { IssueReference } from '../issue-core/issue-reference.ts';
import type { StoredLink } from '../issue-core/link.ts';
import { commentDetails, commentRelations } from './comment.sql.ts';
import { labelColumn, labelRevision } from './label.sql.ts';
import { linkDetails } from './link.sql.ts';
import { mentionedPeople } from './mention.sql.ts';

const shortColumns =
  'id, number, title, priority, status, reporter_id, assignee_id, version, rev, comments_count, created_at, updated_at, resolved_at, closed_at, label_ids';

/** The columns of `issues` except `search`, which is large and never read. */
export const issueColumns = Prisma.raw(`${shortColumns}, description, mention_ids`);

/** The parts of an issue that are read only if they are shown: a large value and rows of other tables. */
export interface IssueParts {
  description: boolean;
  labels: boolean;
  links: boolean;
  mentions: boolean;
  tracker: boolean;
}

export const allParts: IssueParts = {
  description: true,
  labels: true,
  links: true,
  mentions: true,
  tracker: true,
};

/** The parts of lists, of issues that mention no one, and of issues that are not shown. */
export const partsWithoutMentions: IssueParts = { ...allParts, mentions: false };

/** The parts that the members of a listed issue show. */
export function partsOf(fields: readonly IssueField[] | undefined): IssueParts {
  if (fields === undefined) return partsWithoutMentions;
  const has = (...members: IssueField[]) => members.some((member) => fields.includes(member));
  return {
    description: has('description', 'description_truncated'),
    labels: has('labels'),
    links: has('links', 'links_count'),
    mentions: false,
    tracker: has('external', 'sync'),
  };
}

/** The columns for a list. The description has one character more than is shown, so a cut can be detected. */
export function listedColumns({ description }: IssueParts): Prisma.Sql {
  const beginning = description ? `left(description, ${listedDescriptionMaxLength + 1})` : `''`;
  return Prisma.raw(`${shortColumns}, ${beginning} AS description`);
}

/** The columns of an `IssueState`, of the row `i`. */
export const stateColumns = Prisma.raw(`i.id, i.title, i.description, i.priority, i.status,
  i.reporter_id AS "reporterId", i.assignee_id AS "assigneeId", i.version, i.rev, i.resolved_at AS "resolvedAt"`);

/** The condition that the row `i` is the issue that a path names. */
export function isReferredTo(reference: IssueReference): Prisma.Sql {
  return 'id' in reference
    ? Prisma.sql`i.id = ${reference.id}::uuid`
    : Prisma.sql`i.number = ${reference.number}::bigint`;
}

/** Joins the people of the row `i`, as `reporter` and `assignee`. */
export const people = Prisma.raw(`
  LEFT JOIN identity_mirror reporter ON reporter.id = i.reporter_id
  LEFT JOIN identity_mirror assignee ON assignee.id = i.assignee_id`);

/**
 * The revision of the row `i` with its `trackerLink`, without the names of people. A cached text is valid while it is
 * unchanged.
 */
export function revisionColumns(tracker: TrackerIdentity | undefined): Prisma.Sql {
  const revisions = Prisma.sql`i.rev, ${labelRevision}`;
  return tracker === undefined ? revisions : Prisma.sql`${revisions}, tracker.rev AS "trackerRev"`;
}

/** Joins the sync state of the row `i` as `tracker`; empty if no tracker is configured. */
export function trackerLink(tracker: TrackerIdentity | undefined): Prisma.Sql {
  if (tracker === undefined) return Prisma.empty;
  // Literals: lists without parameters keep their plan (see createListDatabase).
  const [provider, project] = [pg.escapeLiteral(tracker.provider), pg.escapeLiteral(tracker.project)];
  return Prisma.raw(`
    LEFT JOIN tracker_links tracker
           ON tracker.issue_id = i.id AND tracker.provider = ${provider} AND tracker.project = ${project}`);
}

const syncConditions: Readonly<Record<SyncFilter, Prisma.Sql>> = {
  failed: Prisma.sql`attention = 'failed'`,
  conflict: Prisma.sql`conflicts_count > 0`,
  stale: Prisma.sql`attention = 'stale'`,
};

/** The condition that a row of `tracker_links` matches a filter; a partial index serves it. */
export function isSynced(sync: SyncFilter, { provider, project }: TrackerIdentity): Prisma.Sql {
  // Literals: lists without parameters keep their plan (see createListDatabase).
  return Prisma.sql`${Prisma.raw(`provider = ${pg.escapeLiteral(provider)} AND project = ${pg.escapeLiteral(project)}`)}
    AND ${syncConditions[sync]}`;
}

/** Selects the ids of the issues whose sync matches a filter. */
export function selectSynced(sync: SyncFilter, tracker: TrackerIdentity | undefined): Prisma.Sql {
  return tracker === undefined
    ? Prisma.sql`SELECT NULL::uuid WHERE false`
    : Prisma.sql`SELECT issue_id FROM tracker_links WHERE ${isSynced(sync, tracker)}`;
}

const details = Prisma.sql`${Prisma.raw(`i.number, i.description, i.priority, i.status, i.reporter_id AS "reporterId",
  reporter.names AS "reporterName", i.assignee_id AS "assigneeId", assignee.names AS "assigneeName", i.version,
  i.rev, i.comments_count AS "commentsCount", i.resolved_at AS "resolvedAt", i.closed_at AS "closedAt"`)}, ${labelRevision}`;
// A statement does not see the history that it writes, but it sees the `updated_at` that it sets.
const trackerDetails = (conflictsBytes: number) =>
  Prisma.raw(`tracker.rev AS "trackerRev", tracker.provider, tracker.remote_id AS "remoteId",
  tracker.remote_key AS "remoteKey", tracker.remote_url AS "remoteUrl", tracker.remote_state AS "remoteState",
  tracker.remote_author AS "remoteAuthor", tracker.remote_created_at AS "remoteCreatedAt",
  tracker.last_synced_at AS "lastSyncedAt", tracker.last_result AS "lastResult", tracker.last_error AS "lastError",
  tracker.last_messages AS "lastMessages", tracker.moved_to AS "movedTo", tracker.conflicts_count AS "conflictsCount",
  ${newestConflicts(conflictsBytes)} AS conflicts, tracker.next_attempt_at AS "nextAttemptAt",
  i.updated_at > tracker.last_synced_at OR EXISTS (
    SELECT FROM activity a
     WHERE a.issue_id = i.id AND a.id > coalesce(tracker.synced_activity_id, 0) AND a.origin = 'local'
  ) AS "isChanged"`);

// The newest conflicts whose texts together have at most `bytesMax` bytes.
function newestConflicts(bytesMax: number): string {
  if (bytesMax === 0) return "'[]'::jsonb";
  return `
    CASE WHEN tracker.conflicts_count > 0 THEN (
      SELECT coalesce(jsonb_agg(value ORDER BY place), '[]') FROM (
        SELECT value, place, sum(octet_length(value::text)) OVER (ORDER BY place DESC) AS bytes
          FROM jsonb_array_elements(tracker.conflicts) WITH ORDINALITY conflict (value, place)
      ) conflict WHERE bytes <= ${bytesMax}
    ) ELSE '[]' END`;
}

// The columns that only rows of issues have, of `i` with its joins.
function issueDetails(
  tracker: TrackerIdentity | undefined,
  {
    conflictsBytes = embeddedConflictsBytesMax,
    parts = allParts,
  }: Pick<SnapshotSources, 'conflictsBytes' | 'parts'> = {},
): Prisma.Sql {
  const labelled = Prisma.sql`${details}, ${parts.labels ? labelColumn : Prisma.raw('NULL::json AS labels')}`;
  const shown = parts.mentions ? Prisma.sql`${labelled}, ${mentionedPeople('i')} AS mentions` : labelled;
  if (tracker === undefined) return shown;
  const synced = parts.tracker ? trackerDetails(conflictsBytes) : Prisma.raw('tracker.rev AS "trackerRev"');
  return Prisma.sql`${shown}, ${synced}`;
}

/** A row of the statements below. At run time, the columns of the other kinds are null. */
export type SnapshotRow =
  | ({ kind: 'issue' } & Omit<IssueRecord, 'labels'> & { labels: IssueRecord['labels'] | null })
  | ({ kind: 'link'; linksCount?: number } & StoredLink)
  | ({ kind: 'comment' } & Comment);

/** The sources of issues, links and comments: tables, or CTEs of the statement that has just written them. */
export interface SnapshotSources {
  /** Has `issueColumns`. */
  issues: Prisma.Sql;
  links: Prisma.Sql;
  /** Absent if comments are not needed or do not exist. */
  comments?: Prisma.Sql;
  /** Maximum size of the conflicts; `embeddedConflictsBytesMax` by default. */
  conflictsBytes?: number;
  /** Whether `links` is `selectListedLinks`. */
  isList?: boolean;
  /** The parts to read; all by default. */
  parts?: IssueParts;
}

export const allLinks = Prisma.raw('issue_links');
/**
 * Selects the oldest links of issues for a list, without metadata, each with the total number of links of its issue.
 */
export function selectListedLinks(issueIds: readonly string[]): Prisma.Sql {
  return Prisma.sql`(
    SELECT * FROM (
      SELECT id, issue_id, type, ref, title, url, relation, NULL::jsonb AS metadata, created_by, created_at,
             row_number() OVER (PARTITION BY issue_id ORDER BY created_at, id) AS place,
             count(*) OVER (PARTITION BY issue_id)::int AS links_count
        FROM issue_links WHERE issue_id = ANY(${[...issueIds]}::uuid[])
    ) l WHERE place <= ${Prisma.raw(String(listedLinksMax))})`;
}
export const allComments = Prisma.raw('comments');
const noComments = Prisma.raw('(SELECT * FROM comments WHERE false)');

/**
 * Selects issues with their links and newest comments: one row for each issue, each link and each comment. One
 * statement sees a single snapshot and costs less than half of three statements. It reads only the comments that an
 * issue embeds; PostgreSQL knows the size of a text without reading it.
 */
export function selectSnapshots(
  { issues, links, comments, isList = false, ...options }: SnapshotSources,
  tracker: TrackerIdentity | undefined,
): Prisma.Sql {
  return Prisma.sql`
    SELECT part.kind, root.id AS "issueId", coalesce(i.id, l.id, c.id) AS id, coalesce(i.title, l.title) AS title,
           coalesce(i.created_at, l.created_at, c.created_at) AS "createdAt",
           coalesce(i.updated_at, c.updated_at) AS "updatedAt", ${issueDetails(tracker, options)}, ${linkDetails}
           ${comments === undefined ? Prisma.empty : Prisma.sql`, ${commentDetails}`}
           ${isList ? Prisma.sql`, l.links_count AS "linksCount"` : Prisma.empty}
      FROM (${issues}) root
     CROSS JOIN (VALUES ('issue'), ('link'), ('comment')) part (kind)
      LEFT JOIN LATERAL (SELECT root.*) i ON part.kind = 'issue' ${people} ${trackerLink(tracker)}
      LEFT JOIN LATERAL (
        SELECT * FROM ${links} l WHERE part.kind = 'link' AND l.issue_id = root.id
      ) l ON true
      LEFT JOIN LATERAL (
        SELECT * FROM (
          SELECT *, sum(octet_length(c.body)) OVER (ORDER BY c.created_at DESC, c.id DESC) AS bytes FROM (
            SELECT * FROM ${comments ?? noComments} c WHERE part.kind = 'comment' AND c.issue_id = root.id AND c.deleted_at IS NULL
             ORDER BY c.created_at DESC, c.id DESC LIMIT ${Prisma.raw(String(embeddedCommentsMax))}
          ) c
        ) c WHERE c.bytes <= ${Prisma.raw(String(embeddedCommentsBytesMax))}
      ) c ON true ${commentRelations}
     WHERE coalesce(i.id, l.id, c.id) IS NOT NULL
     ORDER BY "createdAt", id`;
}

/** Selects issues without links and comments. */
export function selectBareIssues(
  issues: Prisma.Sql,
  tracker: TrackerIdentity | undefined,
  options: Pick<SnapshotSources, 'conflictsBytes' | 'parts'> = {},
): Prisma.Sql {
  return Prisma.sql`
    SELECT 'issue' AS kind, i.id, i.title, i.created_at AS "createdAt", i.updated_at AS "updatedAt",
           ${issueDetails(tracker, options)}
      FROM (${issues}) i ${people} ${trackerLink(tracker)}`;
}

/** Groups the rows into issues, each with its links and comments, oldest first. */
export function toSnapshots(rows: readonly SnapshotRow[]): IssueSnapshot[] {
  const snapshots = new Map<string, IssueSnapshot>();
  for (const row of rows) {
    if (row.kind !== 'issue') continue;
    snapshots.set(row.id, { ...row, labels: row.labels ?? [], links: [], linksCount: 0, comments: [] });
  }
  for (const row of rows) {
    const snapshot = row.kind === 'issue' ? undefined : snapshots.get(row.issueId);
    if (snapshot === undefined) continue;
    if (row.kind === 'comment') snapshot.comments.push(row);
    if (row.kind === 'link') {
      snapshot.links.push(row);
      snapshot.linksCount = row.linksCount ?? snapshot.links.length;
    }
  }
  return [...snapshots.values()];
}
