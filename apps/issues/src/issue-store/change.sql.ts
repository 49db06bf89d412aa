import type { IssueStatus } from '@tessera/contracts';
import { v7 as uuidv7 } from 'uuid';
import { Prisma } from '../generated/prisma/client.ts';
import type { CommentChange } from '../issue-core/comment.ts';
import type { ChangedBy, IssueFields, NewIssue, TrackerIdentity } from '../issue-core/issue.ts';
import {
  creationEvent,
  eventsOf,
  type HistoryEntry,
  type IssueChange,
  issueFieldNames,
  issueFields,
  type NewIssueEvent,
  participantsOf,
} from '../issue-core/issue-change.ts';
import type { NewLink } from '../issue-core/link.ts';
import type { ReadScope } from '../issue-core/project-access.ts';
import { changingParts, creatingParts, type FileParts, namedBy } from './attachment.sql.ts';
import { eventProject, issueColumns } from './issue.sql.ts';
import { andHolds } from './sight.sql.ts';
import {
  allComments,
  allLinks,
  allParts,
  commentColumns,
  commentRelations,
  partsWithoutMentions,
  selectBareIssues,
  selectSnapshots,
} from './snapshot.sql.ts';
import { startWatching } from './watching.sql.ts';
import { commentWords, descriptionWords, titleWords } from './words.ts';

/** A change to write, with its history. */
export interface WrittenChange {
  /** The condition on the row `i` of `issues`. If no row matches, nothing is written. */
  where: Prisma.Sql;
  change: IssueChange;
  history: readonly HistoryEntry[];
  by: ChangedBy;
  /** The title before. */
  title?: string;
  /** The people that the description mentioned before. */
  mentionedBefore?: readonly string[] | undefined;
}

// The columns that the other parts of the statement need of the row `i`.
const written = Prisma.sql`${issueColumns}, event_tx, reporter_watches`;
const changedIssue = Prisma.raw('SELECT * FROM i');

/**
 * Inserts an issue with its links, history, events and watchers, and returns its snapshot: one statement, so that a crash
 * leaves all or nothing.
 */
export function insertIssue(
  issue: NewIssue,
  scope: ReadScope,
  by: ChangedBy & { actorId: string },
  tracker: TrackerIdentity | undefined,
): Prisma.Sql {
  const participants = [...(issue.assigneeId === null ? [] : [issue.assigneeId]), ...issue.mentionIds];
  const parts = issue.mentionIds.length === 0 ? partsWithoutMentions : allParts;
  const hasLinks = issue.links.length > 0;
  const fields = issueFieldNames.map((name) => ({ ...issueFields[name], value: issue[name] }));
  const files = creatingParts(namedBy(by, issue.description), by.actorId);
  // A project that is archived meanwhile takes none.
  const [column, value, condition] =
    issue.projectId === undefined
      ? [Prisma.empty, Prisma.empty, Prisma.empty]
      : [
          Prisma.sql`, project_id`,
          Prisma.sql`, project.id`,
          Prisma.sql`FROM projects project WHERE project.id = ${issue.projectId}::uuid AND project.archived_at IS NULL
            ${andHolds(scope, Prisma.raw('project.id'))}`,
        ];
  return Prisma.sql`
    WITH ${files.before} i AS (
      INSERT INTO issues (id, reporter_id, label_ids, mention_ids, search, remind_on, attachments_count, ${Prisma.raw(fields.map(({ column }) => column).join(', '))}${column})
      SELECT ${uuidv7()}::uuid, ${by.actorId}::uuid, ${issue.labels.map((label) => label.id)}::uuid[],
              ${[...issue.mentionIds]}::uuid[], ${words(issue.title, descriptionWords(issue.description))}, ${dayBefore(issue.dueOn)}, ${files.count ?? Prisma.raw('0')},
              ${Prisma.join(fields.map(({ value, type }) => typed(value, type)))}${value} ${condition}
      RETURNING ${written}
    ) ${hasLinks ? Prisma.sql`, put AS (${putLinks(issue.links, by.actorId)})` : Prisma.empty} ${files.after}
    ${consequences([{ kind: 'created' }], [creationEvent(issue, by)], participants, by)}
    ${
      hasLinks
        ? selectSnapshots(
            { issues: changedIssue, links: Prisma.raw('put'), parts, files: files.files },
            tracker,
          )
        : selectBareIssues(changedIssue, tracker, { parts, files: files.files })
    }`;
}

/** Writes a change and returns the snapshot of the issue after it; no row if nothing was written. */
export function changeIssue(write: WrittenChange, tracker: TrackerIdentity | undefined): Prisma.Sql {
  const { links, comments = [] } = write.change;
  const files = changingParts(write.change, write.by);
  const sources = {
    issues: changedIssue,
    files: files.files,
    links:
      links === undefined
        ? allLinks
        : Prisma.sql`(
            SELECT * FROM issue_links
             WHERE id <> ALL(${links.removed.map(({ id }) => id)}::uuid[]) AND id NOT IN (SELECT id FROM put)
            UNION ALL SELECT * FROM put)`,
    // A statement reads its own rows only from its CTEs.
    comments: comments.some(({ kind }) => kind === 'added')
      ? Prisma.raw('(SELECT * FROM comments UNION ALL SELECT * FROM c)')
      : allComments,
  };
  return Prisma.sql`${writeChange(write, files)} ${selectSnapshots(sources, tracker)}`;
}

/** Writes a change with one comment and returns the comment after it; no row if nothing was written. */
export function changeComment(write: WrittenChange): Prisma.Sql {
  const files = changingParts(write.change, write.by);
  return Prisma.sql`${writeChange(write, files)} SELECT ${commentColumns(files.files)} FROM c ${commentRelations}`;
}

/** Writes a change and returns the id of the issue; no row if nothing was written. */
export function changeSilently(write: WrittenChange): Prisma.Sql {
  return Prisma.sql`${writeChange(write, changingParts(write.change, write.by))} SELECT id FROM i`;
}

function writeChange(
  { where, change, history, by, title, mentionedBefore }: WrittenChange,
  files: FileParts,
): Prisma.Sql {
  const { links, comments = [] } = change;
  return Prisma.sql`
    WITH ${files.before} i AS (
      UPDATE issues i SET ${Prisma.join(assignments(change, title, files.count))}
       WHERE ${where} ${files.condition} RETURNING ${written}
    ) ${files.after}
    ${comments.length === 0 ? Prisma.empty : Prisma.sql`, c AS (${writeComments(comments, by)})`}
    ${
      links === undefined
        ? Prisma.empty
        : Prisma.sql`, put AS (${putLinks(links.put, by.actorId)}), removed AS (
            DELETE FROM issue_links l USING i
             WHERE l.issue_id = i.id AND l.id = ANY(${links.removed.map(({ id }) => id)}::uuid[]))`
    }
    ${consequences(history, eventsOf(history, change, by, mentionedBefore), participantsOf(change, by.actorId), by)}`;
}

function assignments(
  { fields = {}, mentionIds = [], statuses = [], comments = [], labels, project }: IssueChange,
  title = '',
  filesCount: Prisma.Sql | undefined = undefined,
) {
  const added = comments.reduce((sum, { kind }) => sum + { added: 1, changed: 0, removed: -1 }[kind], 0);
  return [
    Prisma.sql`updated_at = clock_timestamp()`,
    ...(Object.keys(fields).length === 0 ? [] : fieldAssignments(fields)),
    ...(fields.title === undefined && fields.description === undefined
      ? []
      : [wordsAssignment(fields, title)]),
    ...reminderAssignment(fields, statuses),
    ...(fields.description === undefined ? [] : [Prisma.sql`mention_ids = ${[...mentionIds]}::uuid[]`]),
    ...(labels === undefined ? [] : [Prisma.sql`label_ids = ${labels.map(({ id }) => id)}::uuid[]`]),
    ...(project === undefined ? [] : [Prisma.sql`project_id = ${project.new.id}::uuid`]),
    ...(statuses.length === 0 ? [] : statusAssignments(statuses)),
    ...(filesCount === undefined ? [] : [Prisma.sql`attachments_count = ${filesCount}`]),
    ...(comments.length === 0 ? [] : [Prisma.sql`comments_count = comments_count + ${added}::int`]),
  ];
}

// All fields in one form, so that changes of different fields have the same prepared statement.
function fieldAssignments(fields: IssueFields): Prisma.Sql[] {
  const columns = issueFieldNames.map((name) => {
    const { column, type } = issueFields[name];
    const value = typed(fields[name] ?? null, type);
    return Prisma.sql`${Prisma.raw(column)} = CASE WHEN ${fields[name] !== undefined} THEN ${value} ELSE ${Prisma.raw(`i.${column}`)} END`;
  });
  return [...columns, Prisma.sql`version = i.version + 1`];
}

// The words of an unchanged description are kept. They stay first, so that their places do not move.
function wordsAssignment({ title, description }: IssueFields, before: string): Prisma.Sql {
  const kept = Prisma.sql`ts_filter(i.search, '{b}')`;
  const described = description === undefined ? kept : Prisma.sql`${descriptionWords(description)}::tsvector`;
  return Prisma.sql`search = ${described} || ${titleWords(title ?? before)}::tsvector`;
}

function words(title: string, described: string): Prisma.Sql {
  return Prisma.sql`${described}::tsvector || ${titleWords(title)}::tsvector`;
}

// `resolved_at` and `closed_at` are set on entry to the status. Closing keeps `resolved_at`; reopening clears both.
function statusAssignments(statuses: readonly IssueStatus[]): Prisma.Sql[] {
  const dates = new Map<'resolved_at' | 'closed_at', Prisma.Sql>();
  for (const status of statuses) {
    if (status === 'RESOLVED') dates.set('resolved_at', Prisma.sql`clock_timestamp()`);
    else if (status === 'CLOSED') dates.set('closed_at', Prisma.sql`clock_timestamp()`);
    else dates.set('resolved_at', Prisma.sql`NULL`).set('closed_at', Prisma.sql`NULL`);
  }
  return [
    Prisma.sql`status = ${statuses.at(-1)}::issue_status`,
    ...[...dates].map(([column, value]) => Prisma.sql`${Prisma.raw(column)} = ${value}`),
  ];
}

// A new due date, and an issue that is opened again, have reminders again, but no second one of a day.
function reminderAssignment(fields: IssueFields, statuses: readonly IssueStatus[]): Prisma.Sql[] {
  if (fields.dueOn === undefined && !statuses.includes('REOPENED')) return [];
  const due = fields.dueOn === undefined ? Prisma.sql`i.due_on` : Prisma.sql`${fields.dueOn}::date`;
  const day = Prisma.sql`greatest(${due} - 1, i.reminded_on + 1)`;
  return [Prisma.sql`remind_on = CASE WHEN ${day} <= ${due} THEN ${day} END`];
}

// The day of the first reminder of a new issue.
function dayBefore(day: string | null): Prisma.Sql {
  return Prisma.sql`${day}::date - 1`;
}

function typed(value: string | null, type: string): Prisma.Sql {
  return Prisma.sql`${value}::${Prisma.raw(type)}`;
}

/** Inserts links of the row `i`. Replaces the details of an existing link with the same target. */
function putLinks(links: readonly NewLink[], createdBy: string | null): Prisma.Sql {
  const rows = JSON.stringify(links.map((link) => ({ id: uuidv7(), ...link })));
  return Prisma.sql`
    INSERT INTO issue_links (id, issue_id, type, ref, title, url, relation, metadata, created_by)
    SELECT l.id, i.id, l.type, l.ref, l.title, l.url, l.relation, l.metadata, ${createdBy}::uuid
      FROM i, jsonb_to_recordset(${rows}::jsonb) AS l (
        id uuid, type link_type, ref text, title text, url text, relation link_relation, metadata jsonb)
    ON CONFLICT (issue_id, type, ref) DO UPDATE
      SET title = excluded.title, url = excluded.url, relation = excluded.relation, metadata = excluded.metadata
    RETURNING *`;
}

// New comments, or one changed or removed comment, of the row `i`.
function writeComments(changes: readonly CommentChange[], by: ChangedBy): Prisma.Sql {
  const edit = changes.find((change) => change.kind !== 'added');
  if (edit === undefined) return addComments(changes, by);
  const set =
    edit.kind === 'removed'
      ? Prisma.sql`deleted_at = i.updated_at, words = NULL`
      : Prisma.sql`body = ${edit.draft.body}, words = ${commentWords(edit.draft.body)}::tsvector, mention_ids = ${[...edit.draft.mentionIds]}::uuid[],
          attachment_ids = ${namedBy(by, edit.draft.body)}::uuid[], updated_at = i.updated_at,
          sent_body = coalesce(sent_body, CASE WHEN EXISTS (
            SELECT FROM tracker_comments t WHERE t.comment_id = comments.id AND num_nonnulls(t.remote_id, t.attempted_at) > 0
          ) THEN body END)`;
  return Prisma.sql`
    UPDATE comments SET ${set} FROM i WHERE comments.id = ${edit.id}::uuid AND comments.issue_id = i.id RETURNING comments.*`;
}

function addComments(changes: readonly CommentChange[], by: ChangedBy): Prisma.Sql {
  const rows = changes.flatMap((change) =>
    change.kind === 'added'
      ? [
          {
            id: change.id,
            body: change.draft.body,
            words: commentWords(change.draft.body),
            mention_ids: change.draft.mentionIds,
            attachment_ids: namedBy(by, change.draft.body),
          },
        ]
      : [],
  );
  return Prisma.sql`
    INSERT INTO comments (id, issue_id, body, words, author_id, origin, mention_ids, attachment_ids, created_at, updated_at)
    SELECT c.id, i.id, c.body, c.words::tsvector, ${by.actorId}::uuid, ${by.origin ?? 'local'}, c.mention_ids, c.attachment_ids,
           i.updated_at, i.updated_at
      FROM i, jsonb_to_recordset(${JSON.stringify(rows)}::jsonb)
        AS c (id uuid, body text, words text, mention_ids uuid[], attachment_ids uuid[])
    RETURNING *`;
}

// History, events and watchers of the row `i`. One INSERT each, because several in one statement have no defined order.
function consequences(
  history: readonly (HistoryEntry | { kind: 'created' })[],
  events: readonly NewIssueEvent[],
  participants: readonly string[],
  { actorId, origin, requestId }: ChangedBy,
): Prisma.Sql {
  const watching =
    participants.length === 0
      ? Prisma.empty
      : Prisma.sql`, watching AS (${startWatching(Prisma.sql`SELECT i.*, unnest(${[...participants]}::uuid[]) AS user_id FROM i`, actorId)})`;
  return Prisma.sql`, logged AS (
      INSERT INTO activity (issue_id, actor_id, origin, kind, field, old_value, new_value, at, request_id)
      SELECT i.id, ${actorId}::uuid, ${origin ?? 'local'}, a.kind, a.field, a.old, a.new, i.updated_at, ${requestId}
        FROM i, jsonb_to_recordset(${JSON.stringify(history)}::jsonb) AS a (kind text, field text, old jsonb, new jsonb)
    ), recorded AS (
      INSERT INTO events (tx, type, subject_id, rev, data)
      SELECT i.event_tx, e.type, i.id, i.rev, e.data || jsonb_build_object('number', i.number, 'version', i.version) || ${eventProject('i')}
        FROM i, jsonb_to_recordset(${JSON.stringify(events)}::jsonb) AS e (type text, data jsonb)
    ) ${watching}`;
}
