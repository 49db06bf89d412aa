import {
  guestRelationsMax,
  guestRelationsOfOneMax,
  parentLevelsMax,
  type RelationKind,
  relationChainMax,
  relationsMax,
} from '@tessera/contracts';
import { v7 as uuidv7 } from 'uuid';
import { Prisma } from '../generated/prisma/client.ts';
import type { IssueReference } from '../issue-core/issue-reference.ts';
import { openStatuses } from '../issue-core/issue-status.ts';
import { isWhole, type ReadScope } from '../issue-core/project-access.ts';
import { isReferredTo, isSeen, oneOf, projectKeyOf } from './issue.sql.ts';

/** A relation to write. */
export interface RelationEnds {
  kind: RelationKind;
  sourceId: string;
  targetId: string;
  createdBy: string;
  /** The one of both issues that this person may not change. */
  guestOf: string | null;
}

/** What a relation would do, under the lock of all relations. */
export interface RelationCheck {
  /** The id of the same relation, if it is there. */
  existing: string | null;
  hasTooMany: boolean;
  /** People who may not change one of the issues have added too many relations to it. */
  hasTooManyGuests: boolean;
  isCycle: boolean;
  isTooLong: boolean;
  hasParent: boolean;
  levels: number;
}

const lockKey = 7_261_127_020;
const openOnes = Prisma.raw(openStatuses.map((status) => `'${status}'`).join());
const count = (number: number) => Prisma.raw(String(number));

/** Locks all relations until the transaction ends, so that no two together close a cycle. Relations are written rarely. */
export const lockRelations = Prisma.sql`SELECT pg_advisory_xact_lock(${count(lockKey)}::bigint)::text`;

function hasMany(id: string): Prisma.Sql {
  return Prisma.sql`(SELECT count(*) >= ${count(relationsMax)} FROM (
    (SELECT FROM issue_relations WHERE source_id = ${id}::uuid LIMIT ${count(relationsMax)})
    UNION ALL (SELECT FROM issue_relations WHERE target_id = ${id}::uuid LIMIT ${count(relationsMax)})) few)`;
}

function hasManyGuests({ guestOf, createdBy }: RelationEnds): Prisma.Sql {
  if (guestOf === null) return Prisma.sql`false`;
  const of = Prisma.sql`${guestOf}::uuid`;
  return Prisma.sql`(
    SELECT count(*) >= ${count(guestRelationsMax)}
        OR count(*) FILTER (WHERE created_by = ${createdBy}::uuid) >= ${count(guestRelationsOfOneMax)}
      FROM issue_relations WHERE (source_id = ${of} OR target_id = ${of}) AND guest_of = ${of})`;
}

/** Checks a relation. It follows at most `relationChainMax` issues. */
export function checkRelation(ends: RelationEnds): Prisma.Sql {
  const { kind, sourceId, targetId } = ends;
  const [source, target] = [Prisma.sql`${sourceId}::uuid`, Prisma.sql`${targetId}::uuid`];
  const type = Prisma.sql`${kind}::issue_relation_kind`;
  const isSame = (from: Prisma.Sql, to: Prisma.Sql) =>
    Prisma.sql`(kind = ${type} AND source_id = ${from} AND target_id = ${to})`;
  const same =
    kind === 'relates'
      ? Prisma.sql`${isSame(source, target)} OR ${isSame(target, source)}`
      : isSame(source, target);
  // Recursion ends as soon as the limit is reached. Of a relation without a direction, no chain matters.
  return Prisma.sql`
    WITH RECURSIVE following (id) AS (
      SELECT ${target} WHERE ${kind !== 'relates'}::boolean
      UNION SELECT r.target_id FROM following f JOIN issue_relations r ON r.source_id = f.id AND r.kind = ${type}
    ), chain AS MATERIALIZED (
      SELECT id FROM following LIMIT ${count(relationChainMax + 1)}
    ), above (id, level) AS (
      SELECT ${source}, 1 WHERE ${kind === 'parent'}::boolean
      UNION ALL
      SELECT r.source_id, level + 1 FROM above a JOIN issue_relations r ON r.target_id = a.id AND r.kind = 'parent'
       WHERE level <= ${count(parentLevelsMax)}
    ), below (id, level) AS (
      SELECT ${target}, 1 WHERE ${kind === 'parent'}::boolean
      UNION ALL
      SELECT r.target_id, level + 1 FROM below b JOIN issue_relations r ON r.source_id = b.id AND r.kind = 'parent'
       WHERE level <= ${count(parentLevelsMax)}
    )
    SELECT (SELECT id FROM issue_relations WHERE ${same} LIMIT 1) AS existing,
           ${hasMany(sourceId)} OR ${hasMany(targetId)} AS "hasTooMany",
           ${hasManyGuests(ends)} AS "hasTooManyGuests",
           EXISTS (SELECT FROM chain WHERE id = ${source}) AS "isCycle",
           (SELECT count(*) FROM chain) > ${count(relationChainMax)} AS "isTooLong",
           ${kind === 'parent'}::boolean AND EXISTS (
             SELECT FROM issue_relations WHERE target_id = ${target} AND kind = 'parent') AS "hasParent",
           coalesce((SELECT max(level) FROM above)
             + (SELECT max(level) FROM (SELECT level FROM below LIMIT ${count(relationChainMax + 1)}) b), 0)::int AS levels`;
}

/** The condition that an open issue of the scope blocks the row `i`. It looks at the relations of the row alone. */
export function isBlocked(scope: ReadScope): Prisma.Sql {
  const seen = isWhole(scope) ? Prisma.sql`true` : isSeen(scope, 'blocker');
  // `OFFSET 0` keeps PostgreSQL from reading all relations for a table of hashes.
  return Prisma.sql`EXISTS (
    SELECT FROM issue_relations r CROSS JOIN ${oneOf('issues', 'id = r.source_id')} blocker
     WHERE r.target_id = i.id AND r.kind = 'blocks' AND blocker.status IN (${openOnes}) AND ${seen} OFFSET 0)`;
}

export function insertRelation({ kind, sourceId, targetId, createdBy, guestOf }: RelationEnds): Prisma.Sql {
  return Prisma.sql`
    INSERT INTO issue_relations (id, source_id, target_id, kind, created_by, guest_of)
    VALUES (${uuidv7()}::uuid, ${sourceId}::uuid, ${targetId}::uuid, ${kind}::issue_relation_kind, ${createdBy}::uuid,
            ${guestOf}::uuid)
    RETURNING id`;
}

export function deleteRelation(id: string): Prisma.Sql {
  return Prisma.sql`DELETE FROM issue_relations WHERE id = ${id}::uuid`;
}

/** Selects the relations of an issue to those that the reader sees, the oldest first; one row of nulls without any, no row without the issue. */
export function selectRelations(reference: IssueReference): Prisma.Sql {
  const details = Prisma.raw('id, kind, created_by, created_at');
  const { scope } = reference;
  const seen = isWhole(scope) ? Prisma.sql`true` : isSeen(scope, 'other');
  return Prisma.sql`
    SELECT r.id, r.kind, r.direction, r.created_by AS "createdBy", r.created_at AS "createdAt",
           other.id AS "issueId", other.number, ${projectKeyOf('other')} AS "projectKey", other.title, other.status
      FROM issues i
      LEFT JOIN LATERAL (
        (SELECT ${details}, target_id AS other_id, 'outgoing' AS direction FROM issue_relations
          WHERE source_id = i.id LIMIT ${count(relationsMax)})
        UNION ALL
        (SELECT ${details}, source_id, 'incoming' FROM issue_relations
          WHERE target_id = i.id LIMIT ${count(relationsMax)})
      ) all_of_issue ON true
      LEFT JOIN ${oneOf('issues', 'id = all_of_issue.other_id')} other ON ${seen}
      LEFT JOIN LATERAL (SELECT all_of_issue.* WHERE other.id IS NOT NULL) r ON true
     WHERE ${isReferredTo(reference)}
     ORDER BY r.created_at, r.id LIMIT ${count(relationsMax)}`;
}
