import type { SyncFilter } from '@tessera/contracts';
import { timeline } from '@tessera/service-kit';
import pg from 'pg';
import { type Issue as IssueRow, Prisma } from '../generated/prisma/client.ts';
import type { IssueState, TrackerIdentity } from '../issue-core/issue.ts';
import { issueFields } from '../issue-core/issue-change.ts';
import type { IssueName, IssueReference, NumberReference } from '../issue-core/issue-reference.ts';
import { defaultProjectId } from '../issue-core/project.ts';
import { isWhole, type ReadScope } from '../issue-core/project-access.ts';

const fields = Object.entries(issueFields).map(([key, { column, type }]) => ({
  key,
  // A day is a text, which has no time zone.
  value: `i.${column}${type === 'date' ? '::text' : ''}`,
}));

/** Columns that no reader of an issue needs. */
type HiddenMember = 'reporterWatches' | 'eventTx' | 'remindOn' | 'remindedOn';

/** Every column of `issues` that is shown, by the member of its row. One that is left out does not compile. */
const columns = {
  id: 'id',
  number: 'number',
  title: issueFields.title.column,
  description: issueFields.description.column,
  priority: issueFields.priority.column,
  assigneeId: issueFields.assigneeId.column,
  dueOn: issueFields.dueOn.column,
  status: 'status',
  reporterId: 'reporter_id',
  version: 'version',
  rev: 'rev',
  commentsCount: 'comments_count',
  attachmentsCount: 'attachments_count',
  createdAt: 'created_at',
  updatedAt: 'updated_at',
  resolvedAt: 'resolved_at',
  closedAt: 'closed_at',
  labelIds: 'label_ids',
  projectId: 'project_id',
  mentionIds: 'mention_ids',
} as const satisfies Record<Exclude<keyof IssueRow, HiddenMember>, string>;

const { description, mentionIds, ...short } = columns;

/** The columns of `issues` except `description`, which is large, and its mentions. */
export const shortColumns = Object.values(short).join(', ');

/** All columns of `issues` that are shown. */
export const issueColumns = Prisma.raw(`${shortColumns}, ${description}, ${mentionIds}`);

/** The fields of the row `i` without its title, which links have, too. */
export const untitledColumns = fields
  .filter(({ key }) => key !== 'title')
  .map(({ key, value }) => `${value} AS "${key}"`)
  .join(', ');

/** The other columns of the row `i` by the members of an `IssueState`. One that is left out does not compile. */
const stateMembers: Record<Exclude<keyof IssueState, keyof typeof issueFields>, string> = {
  id: columns.id,
  status: columns.status,
  projectId: columns.projectId,
  reporterId: columns.reporterId,
  version: columns.version,
  rev: columns.rev,
  resolvedAt: columns.resolvedAt,
};
const stateColumns = Prisma.raw(
  [
    ...fields.map(({ key, value }) => `${value} AS "${key}"`),
    ...Object.entries(stateMembers).map(([member, column]) => `i.${column} AS "${member}"`),
  ].join(', '),
);

/** The condition that the row `i` is the issue that a path names. */
export function isReferredTo(reference: IssueReference): Prisma.Sql {
  const { scope } = reference;
  const isNamed = 'id' in reference ? Prisma.sql`i.id = ${reference.id}::uuid` : isNumber(reference, scope);
  return isWhole(scope) ? isNamed : Prisma.sql`${isNamed} AND ${isSeen(scope)}`;
}

/** The condition that a row of `issues` is in a scope that is not whole. */
export function isSeen({ hidden, own, readerId }: ReadScope, row = 'i'): Prisma.Sql {
  const column = (name: string) => Prisma.raw(`${row}.${name}`);
  const isShown = Prisma.sql`${column('project_id')} <> ALL(${[...hidden]}::uuid[])`;
  if (own.length === 0) return isShown;
  return Prisma.sql`(${isShown} AND (${column('project_id')} <> ALL(${[...own]}::uuid[])
    OR ${column('reporter_id')} = ${readerId}::uuid OR ${column('assignee_id')} IS NOT DISTINCT FROM ${readerId}::uuid))`;
}

/** The condition that a text is a key that a project of the scope has or had. */
function isKey(text: Prisma.Sql, { hidden }: ReadScope): Prisma.Sql {
  const isShown =
    hidden.length === 0 ? Prisma.empty : Prisma.sql`AND project_id <> ALL(${[...hidden]}::uuid[])`;
  return Prisma.sql`EXISTS (SELECT FROM project_keys WHERE key = ${text} ${isShown})`;
}

/** The condition that the row `i` has a number. With a key that no project of the scope has or had, none does. */
export function isNumber({ number, prefix }: NumberReference, scope: ReadScope): Prisma.Sql {
  const isSame = Prisma.sql`i.number = ${number}::bigint`;
  return prefix === undefined ? isSame : Prisma.sql`(${isSame} AND ${isKey(Prisma.sql`${prefix}`, scope)})`;
}

/** The numbers of references, as an array, without those with a key that no project of the scope has or had. */
export function numbersOf(references: readonly NumberReference[], scope: ReadScope): Prisma.Sql {
  const numbers = references.map(({ number }) => number);
  if (references.every(({ prefix }) => prefix === undefined)) return Prisma.sql`${numbers}::bigint[]`;
  return Prisma.sql`ARRAY(
    SELECT named.number FROM unnest(${numbers}::bigint[], ${references.map(({ prefix }) => prefix ?? null)}::text[]) named (number, prefix)
     WHERE named.prefix IS NULL OR ${isKey(Prisma.sql`named.prefix`, scope)})`;
}

/** The condition that the row `i` is of the default project, the only one that is synced with a tracker. */
export const isOfDefaultProject = Prisma.raw(`i.project_id = '${defaultProjectId}'::uuid`);

/** The key of the project of a row of issues; NULL for the default project. */
export function projectKeyOf(row: string): Prisma.Sql {
  return Prisma.raw(`(SELECT key FROM projects WHERE id = ${row}.project_id)`);
}

/** What an event has of the project of a row of issues: nothing for the default project. */
export function eventProject(row: string): Prisma.Sql {
  return Prisma.sql`CASE WHEN ${Prisma.raw(`${row}.project_id = '${defaultProjectId}'::uuid`)} THEN '{}'::jsonb
    ELSE jsonb_build_object('project_id', ${Prisma.raw(row)}.project_id, 'project_key', ${projectKeyOf(row)}) END`;
}

/**
 * The row of a table that a condition finds, to be joined. It costs one look into an index. A plain join may become a merge join, which
 * reads the whole table if an id is beyond those in the statistics.
 * @param condition names the columns of the table without a prefix
 */
export function oneOf(
  table:
    | 'identity_mirror'
    | 'issues'
    | 'comments'
    | 'tracker_links'
    | 'tracker_comments'
    | 'session_ends'
    | 'web_sessions'
    | 'notification_marks',
  condition: string,
): Prisma.Sql {
  return Prisma.raw(`LATERAL (SELECT * FROM ${table} WHERE ${condition} LIMIT 1)`);
}

/** Joins the person with an id as `name`. */
export function joinPerson(name: string, id: string): Prisma.Sql {
  return Prisma.sql`LEFT JOIN ${oneOf('identity_mirror', `id = ${id}`)} ${Prisma.raw(name)} ON true`;
}

/** Joins the people of the row `i`, as `reporter` and `assignee`. */
export const people = Prisma.sql`
  ${joinPerson('reporter', 'i.reporter_id')} ${joinPerson('assignee', 'i.assignee_id')}`;

/**
 * The revision of all labels if the row `i` has labels, otherwise NULL. Cached labels are valid while it is unchanged.
 */
export const labelRevision = Prisma.raw(
  `CASE WHEN i.label_ids <> '{}' THEN (SELECT rev FROM label_catalog) END AS "labelRev"`,
);

/** The revision of all projects, read once in a statement. Cached keys and names are valid while it is unchanged. */
export const projectRevision = Prisma.raw('(SELECT rev FROM project_catalog) AS "projectRev"');

/**
 * The timeline of the database. A failover that loses the last changes gives their revisions again, to other changes, on
 * another timeline.
 */
export const branch = Prisma.raw(`(SELECT ${timeline}) AS branch`);

/**
 * The revision of the row `i` with its `trackerLink`, without the names of people. A cached text is valid while it is
 * unchanged.
 */
export function revisionColumns(tracker: TrackerIdentity | undefined): Prisma.Sql {
  const revisions = Prisma.sql`${branch}, i.rev, ${labelRevision}, ${projectRevision}`;
  return tracker === undefined ? revisions : Prisma.sql`${revisions}, tracker.rev AS "trackerRev"`;
}

/** Joins the sync state of the row `i` as `tracker`; empty if no tracker is configured. */
export function trackerLink(tracker: TrackerIdentity | undefined): Prisma.Sql {
  if (tracker === undefined) return Prisma.empty;
  // Literals: lists without parameters keep their plan (see createListDatabase).
  const [provider, project] = [pg.escapeLiteral(tracker.provider), pg.escapeLiteral(tracker.project)];
  const condition = `issue_id = i.id AND provider = ${provider} AND project = ${project}`;
  return Prisma.sql`LEFT JOIN ${oneOf('tracker_links', condition)} tracker ON true`;
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
    ? Prisma.sql`SELECT issue_id FROM tracker_links WHERE false`
    : Prisma.sql`SELECT issue_id FROM tracker_links WHERE ${isSynced(sync, tracker)}`;
}

/** Selects the issue that a path names. */
export function selectReferred(reference: IssueReference): Prisma.Sql {
  return Prisma.sql`SELECT ${issueColumns} FROM issues i WHERE ${isReferredTo(reference)}`;
}

/** Selects the fields of an issue on which rules depend. */
export function selectState(reference: IssueReference): Prisma.Sql {
  return Prisma.sql`SELECT ${stateColumns} FROM issues i WHERE ${isReferredTo(reference)}`;
}

/** Selects the revision of an issue, in a row for each known person of `people`, or in one row. */
export function selectRevision(
  reference: IssueReference,
  people: readonly string[],
  tracker: TrackerIdentity | undefined,
): Prisma.Sql {
  return Prisma.sql`
    SELECT ${revisionColumns(tracker)}, person.id AS "personId", person.names
      FROM issues i ${trackerLink(tracker)}
      LEFT JOIN identity_mirror person ON person.id = ANY(${[...people]}::uuid[])
     WHERE ${isReferredTo(reference)}`;
}

/** Locks an issue until the transaction ends. */
export function lockIssue(reference: IssueReference): Prisma.Sql {
  return Prisma.sql`SELECT i.id FROM issues i WHERE ${isReferredTo(reference)} FOR NO KEY UPDATE`;
}

/** Locks issues until the transaction ends, in the order of their ids. */
export function lockIssues(names: readonly IssueName[], scope: ReadScope): Prisma.Sql {
  const ids = names.flatMap((one) => ('id' in one ? [one.id] : []));
  const numbers = numbersOf(
    names.flatMap((one) => ('number' in one ? [one] : [])),
    scope,
  );
  const seen = isWhole(scope) ? Prisma.empty : Prisma.sql`AND ${isSeen(scope)}`;
  return Prisma.sql`
    SELECT i.id FROM issues i WHERE (i.id = ANY(${ids}::uuid[]) OR i.number = ANY(${numbers})) ${seen}
     ORDER BY i.id FOR NO KEY UPDATE`;
}
