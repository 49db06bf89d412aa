import type { Person } from '@tessera/contracts';
import type { Database } from '../database.ts';
import { Prisma } from '../generated/prisma/client.ts';
import { isReferredTo } from '../issues/issue.repository.ts';
import type { IssueReference } from '../issues/issue-reference.ts';

/** A line of history as it was written; an assignee is the person as known today. */
export interface ActivityLine {
  id: number;
  issueId: string;
  kind: string;
  field: string | null;
  old: unknown;
  new: unknown;
  /** Null for what a tracker did, which `origin` names. */
  actor: Person | null;
  origin: string;
  at: Date;
  requestId: string | null;
}

/** History in the database. It is written by the statements of the changes that it tells of. */
export class ActivityRepository {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  /** The history of an issue, oldest first, after a line; undefined where there is no such issue. */
  async list(
    reference: IssueReference,
    { limit, after }: { limit: number; after: number },
  ): Promise<ActivityLine[] | undefined> {
    const rows = await this.#database.$queryRaw<(ActivityLine | { id: null })[]>`
      SELECT a.id::float8 AS id, a.issue_id AS "issueId", a.kind, a.field, a.origin, a.at, a.request_id AS "requestId",
        ${storedValue('old')} AS old, ${storedValue('new')} AS new,
        CASE WHEN a.actor_id IS NOT NULL
             THEN json_build_object('id', a.actor_id, 'username', actor.username) END AS actor
        FROM issues i
        LEFT JOIN LATERAL (
          SELECT * FROM activity a WHERE a.issue_id = i.id AND a.id > ${after}::bigint ORDER BY a.id LIMIT ${limit}
        ) a ON true
        LEFT JOIN identity_mirror actor ON actor.id = a.actor_id
        ${personOf('old')} ${personOf('new')}
       WHERE ${isReferredTo(reference)} ORDER BY a.id`;
    return rows.length === 0 ? undefined : rows.filter((row) => row.id !== null);
  }
}

function personOf(side: 'old' | 'new'): Prisma.Sql {
  return Prisma.raw(
    `LEFT JOIN identity_mirror ${side}_person ON ${side}_person.id = CASE a.field WHEN 'assignee' THEN (a.${side}_value #>> '{}')::uuid END`,
  );
}

function storedValue(side: 'old' | 'new'): Prisma.Sql {
  return Prisma.raw(
    `CASE WHEN a.field = 'assignee' AND a.${side}_value IS NOT NULL
          THEN jsonb_build_object('id', a.${side}_value, 'username', ${side}_person.username) ELSE a.${side}_value END`,
  );
}
