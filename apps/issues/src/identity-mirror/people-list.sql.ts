import { prefixQuery } from '@tessera/service-kit';
import { Prisma } from '../generated/prisma/client.ts';
import type { IssueReference } from '../issue-core/issue-reference.ts';
import { isReferredTo, oneOf } from '../issue-store/issue.sql.ts';
import { mayRead } from '../issue-store/sight.sql.ts';
import type { PeopleFilter, RankedPlace } from './people-list.ts';

/** Selects people sorted by id. */
export function listStatement(
  columns: Prisma.Sql,
  filter: PeopleFilter,
  { after, limit }: { after: string | undefined; limit: number },
): Prisma.Sql {
  const position = after === undefined ? [] : [Prisma.sql`m.id > ${after}::uuid`];
  return Prisma.sql`
    SELECT ${columns} FROM identity_mirror m WHERE ${every([...conditionsOf(filter), ...position])}
     ORDER BY m.id LIMIT ${limit}::int`;
}

/** Maximum number of people that a search looks at in the order of the list, and that it finds by the index of words. */
const [nearMax, foundMax] = [500, 800];

/**
 * Selects people ranked: first the people of the issue, then by their last use of this service, then by name. A search looks at the
 * next people of the list; if they do not fill the page, also at those that the index finds, up to a limit. Both cost the same among
 * any number of people. If an index finds more, the people far down the list may be missing.
 */
export function rankedStatement(
  columns: Prisma.Sql,
  filter: PeopleFilter,
  { after, limit }: { after: RankedPlace | undefined; limit: number },
): Prisma.Sql {
  const order = Prisma.sql`seen_order, sort_name, id`;
  const conditions = every(conditionsOf(filter));
  const beyond = (tier: number) =>
    after?.tier === tier
      ? [
          Prisma.sql`(m.seen_order, m.sort_name, m.id) >
            (${after.seenOrder}::int, ${after.sortName}::text COLLATE "C", ${after.id}::uuid)`,
        ]
      : [];
  const involved =
    filter.issue === undefined || after?.tier === 1
      ? Prisma.empty
      : Prisma.sql`
        SELECT 0 AS tier, m.id, m.seen_order, m.sort_name FROM identity_mirror m
         WHERE m.id = ANY (ARRAY(SELECT id FROM involved)) AND ${every([conditions, ...beyond(0)])}
        UNION ALL`;
  // A list of ids is short.
  const isSearch = filter.search !== undefined && filter.ids === undefined;
  const others = every([conditions, notInvolved(filter)]);
  return Prisma.sql`
    WITH involved AS MATERIALIZED (${peopleOf(filter.issue)}),
    near AS MATERIALIZED (
      SELECT m.id, m.seen_order, m.sort_name FROM (
        SELECT * FROM identity_mirror m WHERE ${every([...beyond(1), ...activeCondition(filter), ...idCondition(filter)])}
         ORDER BY ${order} ${isSearch ? Prisma.sql`LIMIT ${nearMax}::int` : Prisma.empty}) m
       WHERE ${others} ORDER BY ${order} LIMIT ${limit}::int
    ), ${found(filter, limit)} page AS MATERIALIZED (
      SELECT * FROM (${involved}
        (SELECT 1 AS tier, * FROM (
           SELECT * FROM near ${isSearch ? Prisma.sql`UNION SELECT m.id, m.seen_order, m.sort_name FROM found m WHERE ${every([others, ...beyond(1)])}` : Prisma.empty}) m
          ORDER BY ${order} LIMIT ${limit}::int)
      ) m ORDER BY tier, ${order} LIMIT ${limit}::int
    )
    SELECT ${columns}, page.tier, m.sort_name AS "sortName"
      FROM page CROSS JOIN ${oneOf('identity_mirror', 'id = page.id')} m
     ORDER BY page.tier, page.seen_order, page.sort_name, page.id`;
}

// The people that the index of words finds, if the others are too few.
function found(filter: PeopleFilter, limit: number): Prisma.Sql {
  if (filter.search === undefined || filter.ids !== undefined) return Prisma.empty;
  const words = Prisma.raw(filter.searchEmails ? 'people_with_staff_words' : 'people_with_words');
  return Prisma.sql`
    found AS MATERIALIZED (
      SELECT * FROM ${words}(${prefixQuery(filter.search)}::tsquery, ${foundMax}::int)
       WHERE (SELECT count(*) FROM near) < ${limit}::int
    ),`;
}

function conditionsOf({ search, searchEmails, isActive, ids, canRead }: PeopleFilter): Prisma.Sql[] {
  const words = Prisma.raw(searchEmails ? 'm.staff_words' : 'm.words');
  return [
    ...(search === undefined ? [] : [Prisma.sql`${words} @@ ${prefixQuery(search)}::tsquery`]),
    ...activeCondition({ isActive }),
    ...idCondition({ ids }),
    ...(canRead === undefined
      ? []
      : [Prisma.sql`EXISTS (SELECT FROM issues i WHERE ${isReferredTo(canRead)} AND ${mayRead('m.id')})`]),
  ];
}

function idCondition({ ids }: Pick<PeopleFilter, 'ids'>): Prisma.Sql[] {
  return ids === undefined ? [] : [Prisma.sql`m.id = ANY (${[...ids]}::uuid[])`];
}

// Without a parameter, so that a prepared statement can use the partial index.
function activeCondition({ isActive }: Pick<PeopleFilter, 'isActive'>): Prisma.Sql[] {
  return isActive === undefined ? [] : [Prisma.raw(isActive ? 'm.is_active' : 'NOT m.is_active')];
}

function notInvolved({ issue }: PeopleFilter): Prisma.Sql {
  return issue === undefined ? Prisma.sql`true` : Prisma.sql`m.id NOT IN (SELECT id FROM involved)`;
}

/** The number of the newest comments whose authors belong to the people of an issue. */
const commentsMax = 100;

// Selects the people of an issue: the reporter, the assignee, the linked users and the latest commenters.
function peopleOf(issue: IssueReference | undefined): Prisma.Sql {
  if (issue === undefined) return Prisma.sql`SELECT NULL::uuid AS id WHERE false`;
  return Prisma.sql`
    SELECT DISTINCT person.id FROM issues i
     CROSS JOIN LATERAL (
       SELECT i.reporter_id AS id UNION ALL SELECT i.assignee_id
       UNION ALL (SELECT c.author_id FROM comments c WHERE c.issue_id = i.id AND c.deleted_at IS NULL
                   ORDER BY c.created_at DESC, c.id DESC LIMIT ${commentsMax})
       UNION ALL SELECT l.ref::uuid FROM issue_links l WHERE l.issue_id = i.id AND l.type = 'user'
     ) person WHERE ${isReferredTo(issue)} AND person.id IS NOT NULL`;
}

function every(conditions: Prisma.Sql[]): Prisma.Sql {
  return conditions.length === 0 ? Prisma.sql`true` : Prisma.join(conditions, ' AND ');
}
