import { Prisma } from '../generated/prisma/client.ts';
import { systemScope } from '../issue-core/project-access.ts';
import { every, literal, orderBy, type Sql, type TrackedRequest } from './issue-conditions.sql.ts';
import { byCreation, lookedColumns } from './issue-look.sql.ts';
import { hasOnlyRange, isByCreation, walk, wholeWalk } from './issue-walk.sql.ts';

/** Maximum number of issues that are read: in all projects together, by their index alone, and of those that are the reader's own. */
export const seenMax = { projects: 15_000, index: 100_000, own: 5_000 };

/** The CTE of the projects of which the reader sees all issues, without those that the filters exclude. */
export function seenProjects({
  scope,
  filters: { project, '-project': excluded = [] },
}: TrackedRequest): Sql {
  const unseen = [...scope.hidden, ...scope.own, ...excluded];
  const isAsked = project === undefined ? Prisma.empty : Prisma.sql`AND id = ANY(${project}::uuid[])`;
  return Prisma.sql`seen_projects AS MATERIALIZED (SELECT id FROM projects WHERE id <> ALL(${unseen}::uuid[]) ${isAsked})`;
}

/** The newest issues of a project, or of a person, in the order by creation that is nearest to that of the list. */
function walkOf(column: string, value: Sql, request: TrackedRequest): Sql {
  const listed = isByCreation(request.sort) ? request : byCreation(request);
  return walk({ ...wholeWalk(listed), column: Prisma.raw(`i.${column}`), value });
}

/** Whether every issue of a seen project matches, so that its index alone has the page. */
export function isPlain(request: TrackedRequest): boolean {
  const filters = { ...request.filters, project: undefined, '-project': undefined };
  return isByCreation(request.sort) && hasOnlyRange({ ...request, scope: systemScope, filters });
}

/**
 * Selects how many issues are read of each project: an equal share of those that are read in all, and what is left of the shares of
 * smaller projects. Where the index alone has the page, no more than the page.
 */
export function shareOf(request: TrackedRequest, isByIndex = isPlain(request)): Sql {
  const { size, offset } = request;
  const least = literal(size + 1);
  if (isByIndex)
    return Prisma.sql`
      SELECT greatest(${least}, least(${literal(size + 1 + offset)}, ${literal(seenMax.index)} / greatest(count(*), 1))) AS issues
        FROM seen_projects`;
  const max = literal(seenMax.projects);
  const equal = Prisma.sql`SELECT greatest(${least}, ${max} / greatest(count(*), 1)) AS issues FROM seen_projects`;
  const path = walkOf('project_id', Prisma.raw('one.id'), request);
  const grown = (share: Sql) => Prisma.sql`
    SELECT max(share.issues) + greatest(0, ${max} - sum(size)::bigint) / greatest(count(*) FILTER (WHERE size >= share.issues), 1) AS issues
      FROM (${share}) share CROSS JOIN seen_projects one
     CROSS JOIN LATERAL (SELECT count(*) AS size FROM (SELECT ${path} LIMIT share.issues) i) counted`;
  return grown(grown(equal));
}

interface Read {
  /** What is selected of the row `i`. */
  selected: Sql;
  /** The columns that are read; by default those that filters and the order need. */
  columns?: Sql;
  conditions: Sql[];
  /** The number of issues of each project. */
  share: Sql;
  /** The number of the first ones of these that match and are needed; all if undefined. */
  needed?: Sql | undefined;
}

/** Selects of the newest issues that the reader sees: of each project, and those that are the reader's own in others. */
export function eachSeen(
  request: TrackedRequest,
  { selected, columns: wanted, conditions, share, needed }: Read,
  isByIndex: boolean,
): Sql {
  const { sort, scope } = request;
  const looked = wanted ?? lookedColumns(request);
  const columns = isByIndex ? Prisma.raw('i.created_at, i.id') : looked;
  const newestOf = Prisma.sql`SELECT ${columns} ${walkOf('project_id', Prisma.raw('one.id'), request)} LIMIT ${share}`;
  const matching = Prisma.sql`WHERE ${isByIndex ? Prisma.sql`true` : every(conditions)}`;
  const ofProjects =
    needed === undefined || !isByCreation(sort)
      ? Prisma.sql`SELECT ${selected} FROM seen_projects one CROSS JOIN LATERAL (${newestOf}) i ${matching}`
      : Prisma.sql`
        SELECT ${selected} FROM seen_projects one
         CROSS JOIN LATERAL (SELECT * FROM (${newestOf}) i ${matching} ORDER BY ${orderBy(sort)} LIMIT ${needed}) i`;
  if (scope.own.length === 0) return ofProjects;
  const isOwn = Prisma.sql`i.project_id = ANY(${[...scope.own]}::uuid[])`;
  const ofReader = (column: string, more: Sql[]) => Prisma.sql`
    SELECT ${selected} FROM (
      SELECT ${looked} ${walkOf(column, Prisma.sql`${scope.readerId}::uuid`, request)} LIMIT ${literal(seenMax.own)}) i
     WHERE ${every([isOwn, ...conditions, ...more])}`;
  const isOthers = Prisma.sql`i.reporter_id <> ${scope.readerId}::uuid`;
  return Prisma.sql`
    ${ofProjects} UNION ALL ${ofReader('reporter_id', [])} UNION ALL ${ofReader('assignee_id', [isOthers])}`;
}

/** Selects where the issues that are read of each project and of the reader end, if there may be more. */
export function endsOf(request: TrackedRequest, share: Sql | undefined): Sql {
  const { scope } = request;
  const place = Prisma.raw('i.created_at, i.id');
  const path = walkOf('project_id', Prisma.raw('one.id'), request);
  const ofProjects = Prisma.sql`
    SELECT ${place} FROM seen_projects one
     CROSS JOIN LATERAL (SELECT ${place} ${path} LIMIT 1 OFFSET ${share ?? literal(0)} - 1) i`;
  const ends = share === undefined ? Prisma.sql`SELECT ${place} FROM issues i WHERE false` : ofProjects;
  if (scope.own.length === 0) return ends;
  const ofReader = (column: string) => Prisma.sql`
    (SELECT ${place} ${walkOf(column, Prisma.sql`${scope.readerId}::uuid`, request)} LIMIT 1 OFFSET ${literal(seenMax.own - 1)})`;
  return Prisma.sql`${ends} UNION ALL ${ofReader('reporter_id')} UNION ALL ${ofReader('assignee_id')}`;
}
