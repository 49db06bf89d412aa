import type { Database } from '../database.ts';
import { Prisma } from '../generated/prisma/client.ts';
import type { AuditEvent } from './audit-event.ts';

/** An event as it stands in the trail. Its type may be of another release. */
export interface AuditRecord extends Omit<AuditEvent, 'type' | 'origin' | 'details'> {
  id: number;
  at: Date;
  type: string;
  ip: string | null;
  userAgent: string | null;
  requestId: string | null;
  details: Record<string, unknown>;
}

/** Where a page ended: newest first, and ids where two were written in the same millisecond. */
export interface AuditPlace {
  at: Date;
  id: number;
}

/** What is looked for; absent means any. */
export interface AuditFilter {
  identityId?: string | undefined;
  type?: string | undefined;
  outcome?: AuditEvent['outcome'] | undefined;
  actor?: AuditEvent['actor'] | undefined;
  /** At this moment or later. */
  after?: Date | undefined;
  /** Earlier than this moment. */
  before?: Date | undefined;
}

/** The audit trail, to be read: it is written by the statements of the changes that it tells of. */
export class AuditRepository {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  /** Newest first, after a place. */
  async list(
    filter: AuditFilter,
    { limit, place }: { limit: number; place: AuditPlace | undefined },
  ): Promise<AuditRecord[]> {
    const conditions = conditionsOf(filter, place);
    const where =
      conditions.length === 0 ? Prisma.empty : Prisma.sql`WHERE ${Prisma.join(conditions, ' AND ')}`;
    return this.#database.$queryRaw<AuditRecord[]>`
      SELECT id::float8 AS id, at, type, outcome, actor, identity_id AS "identityId", ip, user_agent AS "userAgent",
        request_id AS "requestId", details
        FROM audit_events ${where} ORDER BY at DESC, id DESC LIMIT ${limit}`;
  }
}

// One condition for each thing that is looked for, and none for the rest, so that each combination finds its index.
function conditionsOf(filter: AuditFilter, place: AuditPlace | undefined): Prisma.Sql[] {
  const { identityId, type, outcome, actor, after, before } = filter;
  return [
    identityId === undefined ? undefined : Prisma.sql`identity_id = ${identityId}::uuid`,
    type === undefined ? undefined : Prisma.sql`type = ${type}`,
    outcome === undefined ? undefined : outcomeConditions[outcome],
    actor === undefined ? undefined : Prisma.sql`actor = ${actor}`,
    after === undefined ? undefined : Prisma.sql`at >= ${after}::timestamptz`,
    before === undefined ? undefined : Prisma.sql`at < ${before}::timestamptz`,
    place === undefined ? undefined : Prisma.sql`(at, id) < (${place.at}::timestamptz, ${place.id}::bigint)`,
  ].filter((condition) => condition !== undefined);
}

// Literals: a plan that is made before the value is known cannot use the index of failures alone.
const outcomeConditions = {
  success: Prisma.sql`outcome = 'success'`,
  failure: Prisma.sql`outcome = 'failure'`,
};
