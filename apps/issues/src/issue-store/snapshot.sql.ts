import {
  embeddedCommentsBytesMax,
  embeddedCommentsMax,
  embeddedConflictsBytesMax,
  type IssueField,
  listedDescriptionMaxLength,
  listedLinksMax,
} from '@tessera/contracts';
import { Prisma } from '../generated/prisma/client.ts';
import type { Comment } from '../issue-core/comment.ts';
import type { IssueRecord, IssueSnapshot, TrackerIdentity } from '../issue-core/issue.ts';
import type { StoredLink } from '../issue-core/link.ts';
import { allFiles, filesOfComment, filesOfIssue } from './attachment.sql.ts';
import {
  branch,
  joinPerson,
  labelRevision,
  oneOf,
  people,
  projectRevision,
  shortColumns,
  trackerLink,
  untitledColumns,
} from './issue.sql.ts';

/** The parts of an issue that are read only if they are shown: a large value and rows of other tables. */
export interface IssueParts {
  description: boolean;
  labels: boolean;
  links: boolean;
  /** The people that the description mentions, with their names. */
  mentions: boolean;
  /** Their ids alone. */
  mentionIds: boolean;
  tracker: boolean;
  /** Its oldest files. */
  files: boolean;
}

export const allParts: IssueParts = {
  description: true,
  labels: true,
  links: true,
  mentions: true,
  mentionIds: false,
  tracker: true,
  files: true,
};

/** The parts of issues that mention no one. */
export const partsWithoutMentions: IssueParts = { ...allParts, mentions: false };

/** The parts on which a change depends. */
export const changedParts: IssueParts = { ...partsWithoutMentions, mentionIds: true, files: false };

/** The parts that the members of a listed issue show. */
export function partsOf(fields: readonly IssueField[] | undefined): IssueParts {
  if (fields === undefined) return { ...partsWithoutMentions, files: false };
  const has = (...members: IssueField[]) => members.some((member) => fields.includes(member));
  return {
    description: has('description', 'description_truncated'),
    labels: has('labels'),
    links: has('links', 'links_count'),
    mentions: false,
    mentionIds: false,
    tracker: has('external', 'sync'),
    files: false,
  };
}

/**
 * The labels of the row `i`, sorted by name; NULL if it has none. PostgreSQL would execute a joined subquery for rows
 * without labels, too.
 */
const labelColumn = Prisma.raw(`
  CASE WHEN i.label_ids <> '{}' THEN (
    SELECT json_agg(json_build_object('id', l.id, 'name', l.name, 'color', l.color) ORDER BY l.key COLLATE "C")
      FROM labels l WHERE l.id = ANY(i.label_ids)
  ) END AS labels`);

/** The people that the text of the row mentions, in order, with their current names; NULL without mentions. */
function mentionedPeople(row: 'i' | 'c'): Prisma.Sql {
  const ids = Prisma.raw(`${row}.mention_ids`);
  return Prisma.sql`
  CASE WHEN ${ids} <> '{}' THEN (
    SELECT json_agg(json_build_object('id', m.id, 'names', person.names) ORDER BY m.place)
      FROM unnest(${ids}) WITH ORDINALITY m (id, place) ${joinPerson('person', 'm.id')}
  ) END`;
}

/** The columns that only rows of links have, of `l`. */
const linkDetails = Prisma.raw('l.type, l.ref, l.url, l.relation, l.metadata, l.created_by AS "createdBy"');
const noLink =
  Prisma.raw(`NULL::link_type AS type, NULL::text AS ref, NULL::text AS url, NULL::link_relation AS relation,
  NULL::jsonb AS metadata, NULL::uuid AS "createdBy"`);

/** The columns that only rows of comments have, of `c` with `commentRelations`. */
const commentDetails = (files: Prisma.Sql) =>
  Prisma.sql`${Prisma.raw(`c.body, c.author_id AS "authorId", author.names AS "authorName", c.origin,
  external.comment_id IS NOT NULL AS "isExternal", external.external_author AS "externalAuthor",
  external.external_created_at AS "externalCreatedAt"`)}, ${mentionedPeople('c')} AS mentioned, ${filesOfComment(files)} AS files`;

/** The columns of a `Comment`, of the row `c` with `commentRelations`. */
export const commentColumns = (files = allFiles) => Prisma.sql`c.id, c.issue_id AS "issueId",
  c.created_at AS "createdAt", c.updated_at AS "updatedAt", ${commentDetails(files)}`;

/**
 * Joins the author of the comment `c` as `author` and, for a comment from a tracker, its remote details as `external`.
 */
export const commentRelations = Prisma.sql`
  ${joinPerson('author', 'c.author_id')}
  LEFT JOIN ${oneOf('tracker_comments', 'comment_id = c.id AND provider = c.origin')} external ON true`;

const details = Prisma.sql`${Prisma.raw(`i.number, ${untitledColumns}, i.status, i.reporter_id AS "reporterId",
  reporter.names AS "reporterName", assignee.names AS "assigneeName", i.version, i.rev, i.comments_count AS "commentsCount", i.attachments_count AS "attachmentsCount", i.resolved_at AS "resolvedAt", i.closed_at AS "closedAt", i.project_id AS "projectId",
  (SELECT json_build_object('key', p.key, 'name', p.name, 'visibility', p.visibility) FROM projects p WHERE p.id = i.project_id) AS project`)}, ${labelRevision}, ${projectRevision}, ${branch}`;
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
    files = allFiles,
  }: Pick<SnapshotSources, 'conflictsBytes' | 'parts' | 'files'> = {},
): Prisma.Sql {
  const filed = parts.files ? Prisma.sql`${details}, ${filesOfIssue(files)} AS attachments` : details;
  const labelled = Prisma.sql`${filed}, ${parts.labels ? labelColumn : Prisma.raw('NULL::json AS labels')}`;
  const mentioning = parts.mentions ? Prisma.sql`${labelled}, ${mentionedPeople('i')} AS mentions` : labelled;
  const shown = parts.mentionIds ? Prisma.sql`${mentioning}, i.mention_ids AS "mentionIds"` : mentioning;
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
  /** All files by default. */
  files?: Prisma.Sql;
  /** Maximum size of the conflicts; `embeddedConflictsBytesMax` by default. */
  conflictsBytes?: number;
  /** The parts to read; all by default. */
  parts?: IssueParts;
}

export const allLinks = Prisma.raw('issue_links');
export const allComments = Prisma.raw('comments');
const noComments = Prisma.raw('(SELECT * FROM comments WHERE false)');

/**
 * Selects issues with their links and newest comments: one row for each issue, each link and each comment. One
 * statement sees a single snapshot and costs less than half of three statements. It reads only the comments that an
 * issue embeds; PostgreSQL knows the size of a text without reading it.
 */
export function selectSnapshots(
  { issues, links, comments, ...options }: SnapshotSources,
  tracker: TrackerIdentity | undefined,
): Prisma.Sql {
  return Prisma.sql`
    SELECT part.kind, root.id AS "issueId", coalesce(i.id, l.id, c.id) AS id, coalesce(i.title, l.title) AS title,
           coalesce(i.created_at, l.created_at, c.created_at) AS "createdAt",
           coalesce(i.updated_at, c.updated_at) AS "updatedAt", ${issueDetails(tracker, options)}, ${linkDetails}
           ${comments === undefined ? Prisma.empty : Prisma.sql`, ${commentDetails(options.files ?? allFiles)}`}
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

/**
 * Selects issues for a list with their oldest links, without metadata: one row for each issue and each link, and in each row
 * of a link the number of links of its issue.
 */
export function selectListedIssues(
  ids: readonly string[],
  parts: IssueParts,
  tracker: TrackerIdentity | undefined,
): Prisma.Sql {
  const columns = issueDetails(tracker, { conflictsBytes: 0, parts });
  const relations = Prisma.sql`${people} ${trackerLink(tracker)}`;
  return Prisma.sql`
    WITH no_issue AS MATERIALIZED (SELECT ${columns} FROM (SELECT (NULL::issues).*) i ${relations})
    SELECT 'issue' AS kind, i.id AS "issueId", i.id, i.title, i.created_at AS "createdAt", i.updated_at AS "updatedAt",
           ${columns}, ${noLink}, NULL::int AS "linksCount"
      FROM (${selectListed(ids, parts)}) i ${relations}
    UNION ALL
    SELECT 'link', l.issue_id, l.id, l.title, l.created_at, NULL, no_issue.*, ${linkDetails}, l.links_count
      FROM no_issue CROSS JOIN (
        SELECT id, issue_id, type, ref, title, url, relation, NULL::jsonb AS metadata, created_by, created_at,
               row_number() OVER (PARTITION BY issue_id ORDER BY created_at, id) AS place,
               count(*) OVER (PARTITION BY issue_id)::int AS links_count
          FROM issue_links WHERE issue_id = ANY(${[...ids]}::uuid[])
      ) l WHERE l.place <= ${Prisma.raw(String(listedLinksMax))}
     ORDER BY "createdAt", id`;
}

/** Selects issues for a list without links. */
export function selectListedBare(
  ids: readonly string[],
  parts: IssueParts,
  tracker: TrackerIdentity | undefined,
): Prisma.Sql {
  return selectBareIssues(selectListed(ids, parts), tracker, { conflictsBytes: 0, parts });
}

// The description has one character more than is shown, so a cut can be detected.
function selectListed(ids: readonly string[], { description }: IssueParts): Prisma.Sql {
  const beginning = description ? `left(description, ${listedDescriptionMaxLength + 1})` : `''`;
  return Prisma.sql`
    SELECT ${Prisma.raw(`${shortColumns}, ${beginning} AS description`)} FROM issues WHERE id = ANY(${[...ids]}::uuid[])`;
}

/** Selects issues without links and comments. */
export function selectBareIssues(
  issues: Prisma.Sql,
  tracker: TrackerIdentity | undefined,
  options: Pick<SnapshotSources, 'conflictsBytes' | 'parts' | 'files'> = {},
): Prisma.Sql {
  return Prisma.sql`
    SELECT 'issue' AS kind, i.id, i.title, i.created_at AS "createdAt", i.updated_at AS "updatedAt",
           ${issueDetails(tracker, options)}
      FROM (${issues}) i ${people} ${trackerLink(tracker)}`;
}

/** Selects issues for a change of many, without links and descriptions. */
export function selectLocked(ids: readonly string[]): Prisma.Sql {
  const parts = partsOf(['labels']);
  return selectBareIssues(selectListed(ids, parts), undefined, { parts });
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
