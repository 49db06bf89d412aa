import type { Database } from '../database.ts';
import { Prisma } from '../generated/prisma/client.ts';
import type { AuditEvent } from './audit-event.ts';

/** A stored event. `type` is a string, because another release may have written it. */
export interface AuditRecord extends Omit<AuditEvent, 'type' | 'origin' | 'details'> {
  id: number;
  at: Date;
  type: string;
  ip: string | null;
  userAgent: string | null;
  requestId: string | null;
  details: Record<string, unknown>;
}

/** The sort key of the list, for keyset paging. The id separates events of the same millisecond. */
export interface AuditPosition {
  at: Date;
  id: number;
}

/** Absent members match every event. */
export interface AuditFilter {
  identityId?: string | undefined;
  type?: string | undefined;
  outcome?: AuditEvent['outcome'] | undefined;
  actor?: AuditEvent['actor'] | undefined;
  /** Inclusive. */
  after?: Date | undefined;
  /** Exclusive. */
  before?: Date | undefined;
}

/** Reads the audit trail. Events are written by the repositories whose changes they record. */
export class AuditRepository {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  /** Returns events newest first, starting after the given position. */
  async list(
    filter: AuditFilter,
    { limit, after }: { limit: number; after: AuditPosition | undefined },
  ): Promise<AuditRecord[]> {
    const conditions = conditionsOf(filter, after);
    const where =
      conditions.length === 0 ? Prisma.empty : Prisma.sql`WHERE ${Prisma.join(conditions, ' AND ')}`;
    return this.#database.$queryRaw<AuditRecord[]>`
      SELECT id::float8 AS id, at, type, outcome, actor, identity_id AS "identityId", ip, user_agent AS "userAgent",
        request_id AS "requestId", details
        FROM audit_events ${where} ORDER BY at DESC, id DESC LIMIT ${limit}`;
  }
}

// Returns only the conditions of the filters that are set, so that the planner can choose an index for each
// combination.
function conditionsOf(filter: AuditFilter, position: AuditPosition | undefined): Prisma.Sql[] {
  const { identityId, type, outcome, actor, after, before } = filter;
  return [
    identityId === undefined ? undefined : Prisma.sql`identity_id = ${identityId}::uuid`,
    type === undefined ? undefined : Prisma.sql`type = ${type}`,
    outcome === undefined ? undefined : outcomeConditions[outcome],
    actor === undefined ? undefined : Prisma.sql`actor = ${actor}`,
    after === undefined ? undefined : Prisma.sql`at >= ${after}::timestamptz`,
    before === undefined ? undefined : Prisma.sql`at < ${before}::timestamptz`,
    position === undefined
      ? undefined
      : Prisma.sql`(at, id) < (${position.at}::timestamptz, ${position.id}::bigint)`,
  ].filter((condition) => condition !== undefined);
}

// Literals instead of parameters: a generic plan cannot use the partial index on failures.
const outcomeConditions = {
  success: Prisma.sql`outcome = 'success'`,
  failure: Prisma.sql`outcome = 'failure'`,
};
