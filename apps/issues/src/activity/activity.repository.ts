import type { ActivityKind, TimelineOrder } from '@tessera/contracts';
import { pageBytesMax } from '@tessera/service-kit';
import type { Database } from '../database.ts';
import { Prisma } from '../generated/prisma/client.ts';
import type { IssueReference } from '../issue-core/issue-reference.ts';
import { isWhole, type ReadScope } from '../issue-core/project-access.ts';
import { isReferredTo, isSeen, joinPerson } from '../issue-store/issue.sql.ts';

/** A stored history entry with the current names of its people. */
export interface ActivityLine {
  id: number;
  issueId: string;
  kind: ActivityKind;
  field: string | null;
  old: unknown;
  new: unknown;
  /** The names of the previous and the new assignee, if `field` is `assignee`. */
  oldName: string | null;
  newName: string | null;
  /** Null if a tracker made the change; `origin` then names the tracker. */
  actorId: string | null;
  actorName: string | null;
  origin: string;
  at: Date;
  requestId: string | null;
}

/** A page of the history. `after`: the id of the last entry of the previous page. */
export interface ActivityPage {
  limit: number;
  after: number | undefined;
  order: TimelineOrder;
}

/** Reads the history. The statements that change an issue also write its history. */
export class ActivityRepository {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  /**
   * Returns a page of the history of an issue; undefined if the issue does not exist. Stops after the entry that exceeds
   * `pageBytesMax`, but returns at least two entries: the second shows that another page exists. The size of a `jsonb`
   * value is known only after it has been read.
   */
  async list(
    reference: IssueReference,
    { limit, after, order }: ActivityPage,
  ): Promise<ActivityLine[] | undefined> {
    const byId = Prisma.raw(order === 'newest' ? 'a.id DESC' : 'a.id');
    const beyond = Prisma.raw(order === 'newest' ? '<' : '>');
    const shown = ofSeenRelations(reference.scope);
    const isAfter = after === undefined ? Prisma.empty : Prisma.sql`AND a.id ${beyond} ${after}::bigint`;
    const rows = await this.#database.$queryRaw<(ActivityLine | { id: null })[]>`
      WITH RECURSIVE issue AS (
        SELECT i.id FROM issues i WHERE ${isReferredTo(reference)}
      ), page AS (
        SELECT a.*, 1 AS place, ${valueBytes} AS bytes FROM issue
         CROSS JOIN LATERAL (
           SELECT * FROM activity a WHERE a.issue_id = issue.id ${isAfter} ${shown} ORDER BY ${byId} LIMIT 1
         ) a
        UNION ALL
        SELECT a.*, page.place + 1, page.bytes + ${valueBytes} FROM page
         CROSS JOIN LATERAL (
           SELECT * FROM activity a WHERE a.issue_id = page.issue_id AND a.id ${beyond} page.id ${shown} ORDER BY ${byId} LIMIT 1
         ) a
         WHERE page.place < ${limit} AND (page.place = 1 OR page.bytes <= ${pageBytesMax})
      )
      SELECT a.id::float8 AS id, a.issue_id AS "issueId", a.kind, a.field, a.origin, a.at, a.request_id AS "requestId",
        a.old_value AS old, a.new_value AS new, before.names AS "oldName", after.names AS "newName",
        a.actor_id AS "actorId", actor.names AS "actorName"
        FROM issue
        LEFT JOIN page a ON true
        ${joinPerson('actor', 'a.actor_id')}
        ${joinPerson('before', assigneeIn('old_value'))}
        ${joinPerson('after', assigneeIn('new_value'))}
       ORDER BY ${byId}`;
    return rows.length === 0 ? undefined : rows.filter((row) => row.id !== null);
  }
}

/** Leaves out the relations to issues that the reader does not see. */
function ofSeenRelations(scope: ReadScope): Prisma.Sql {
  if (isWhole(scope)) return Prisma.empty;
  return Prisma.sql`AND (a.kind NOT IN ('relation_added', 'relation_removed') OR EXISTS (
    SELECT FROM issues i WHERE i.id = (coalesce(a.new_value, a.old_value) ->> 'issue_id')::uuid AND ${isSeen(scope)}))`;
}

const valueBytes = Prisma.raw(
  "octet_length(coalesce(a.old_value::text, '')) + octet_length(coalesce(a.new_value::text, ''))",
);

function assigneeIn(column: 'old_value' | 'new_value'): string {
  return `CASE a.field WHEN 'assignee' THEN (a.${column} #>> '{}')::uuid END`;
}
