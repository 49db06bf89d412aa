import { previousSecretHours, shownAttemptsMax, type UpdateWebhook, webhooksMax } from '@tessera/contracts';
import { v7 as uuidv7 } from 'uuid';
import type { Database, Transaction } from '../database.ts';
import { Prisma } from '../generated/prisma/client.ts';
import { defaultProjectId } from '../issue-core/project.ts';
import type { Delivery, DeliveryAttempt, DeliveryPage, ListedDelivery, WebhookEndpoint } from './webhook.ts';
import { testType } from './webhook-sender.ts';

/** The key of the lock under which endpoints are counted and created; an arbitrary constant. */
const createLockKey = 7_355_608_004n;
/** Deliveries that one statement changes or deletes, so that it ends before the timeout. */
const rowsAtOnce = 10_000;

const columns = Prisma.raw(`
  e.id, e.url, e.description, e.types,
  ARRAY(SELECT key FROM projects WHERE id = ANY(e.project_ids) AND visibility <> 'sealed' ORDER BY key) AS "projectKeys", e.is_enabled AS "isEnabled", e.disabled_reason AS "disabledReason",
  e.disabled_at AS "disabledAt", e.failing_since AS "failingSince",
  CASE WHEN e.previous_secret_until > clock_timestamp() THEN e.previous_secret_until END AS "previousSecretUntil",
  e.created_by AS "createdBy", (SELECT names FROM identity_mirror WHERE id = e.created_by) AS "creatorName",
  e.created_at AS "createdAt", e.updated_at AS "updatedAt"`);

const deliveryColumns = Prisma.raw(`
  d.id, d.endpoint_id AS "endpointId", d.event_id AS "eventId", d.type, d.subject_id AS "subjectId", d.data,
  d.event_at AS "eventAt", d.state, d.attempts, d.next_attempt_at AS "nextAttemptAt", d.created_at AS "createdAt",
  d.ended_at AS "endedAt"`);

const attemptColumns = Prisma.raw(
  'a.number, a.started_at AS "startedAt", a.duration_ms AS "durationMs", a.status, a.error',
);

/** The projects of an endpoint that are sealed now: those who change its projects do not see them, so they stay. */
const sealedOfEndpoint = Prisma.raw(
  "ARRAY(SELECT id FROM projects WHERE id = ANY(e.project_ids) AND visibility = 'sealed')",
);

/** The condition that an event is of no sealed project, also if it was not when the delivery was made. */
export const isNotSealed = Prisma.sql`NOT EXISTS (
  SELECT FROM projects p WHERE p.visibility = 'sealed'
     AND p.id = coalesce((d.data ->> 'project_id')::uuid, ${defaultProjectId}::uuid))`;

const listedColumns = Prisma.sql`${deliveryColumns}, ${attemptColumns}`;
const joinLastAttempt = Prisma.raw(
  'LEFT JOIN webhook_attempts a ON a.delivery_id = d.id AND a.number = d.attempts',
);

type Attempt = Omit<DeliveryAttempt, 'answer'>;
/** A delivery beside its last attempt, all of whose columns are null before the first one. */
type ListedRow = Delivery & (Attempt | { number: null });

interface NewEndpoint
  extends Pick<WebhookEndpoint, 'url' | 'description' | 'types' | 'isEnabled' | 'createdBy'> {
  projectIds: readonly string[];
  secret: string;
}

/** Reads and writes endpoints, and reads their deliveries. */
export class WebhookRepository {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  async list(): Promise<WebhookEndpoint[]> {
    return this.#database.$queryRaw<WebhookEndpoint[]>`
      SELECT ${columns} FROM webhook_endpoints e ORDER BY e.created_at, e.id`;
  }

  async find(id: string): Promise<WebhookEndpoint | undefined> {
    const [endpoint] = await this.#database.$queryRaw<WebhookEndpoint[]>`
      SELECT ${columns} FROM webhook_endpoints e WHERE e.id = ${id}::uuid`;
    return endpoint;
  }

  /** Inserts an endpoint. Returns undefined if there are as many as there may be. */
  async insert({
    url,
    description,
    types,
    projectIds,
    isEnabled,
    secret,
    createdBy,
  }: NewEndpoint): Promise<WebhookEndpoint | undefined> {
    return this.#database.$transaction(async (transaction) => {
      // The next statement counts the endpoints of the previous lock holder, too.
      await transaction.$executeRaw`SELECT pg_advisory_xact_lock(${createLockKey}::bigint)`;
      const [endpoint] = await transaction.$queryRaw<WebhookEndpoint[]>`
        INSERT INTO webhook_endpoints AS e (id, url, description, types, project_ids, is_enabled, secret, created_by)
        SELECT ${uuidv7()}::uuid, ${url}, ${description}, ${types}::text[], ${[...projectIds]}::uuid[], ${isEnabled}::boolean, ${secret},
               ${createdBy}::uuid
         WHERE (SELECT count(*) FROM webhook_endpoints) < ${webhooksMax}::int
        RETURNING ${columns}`;
      return endpoint;
    });
  }

  /**
   * Changes the given members. If this enables the endpoint, its pending deliveries become due. Returns undefined if there is
   * no such endpoint.
   */
  async update(
    id: string,
    change: Omit<UpdateWebhook, 'projects'> & { projectIds: readonly string[] | undefined },
  ): Promise<WebhookEndpoint | undefined> {
    const [url, description] = [change.url ?? null, change.description ?? null];
    const [types, enabled] = [change.types ?? null, change.enabled ?? null];
    const projects = change.projectIds === undefined ? null : [...change.projectIds];
    const isEnabling = Prisma.sql`(NOT e.is_enabled AND ${enabled}::boolean IS TRUE)`;
    const [endpoint] = await this.#database.$queryRaw<(WebhookEndpoint & { wasEnabled: boolean })[]>`
      UPDATE webhook_endpoints e
         SET url = coalesce(${url}::text, e.url), description = coalesce(${description}::text, e.description),
             types = coalesce(${types}::text[], e.types),
             project_ids = coalesce(${projects}::uuid[] || ${sealedOfEndpoint}, e.project_ids), is_enabled = coalesce(${enabled}::boolean, e.is_enabled),
             disabled_reason = CASE WHEN NOT ${isEnabling} THEN e.disabled_reason END,
             disabled_at = CASE WHEN NOT ${isEnabling} THEN e.disabled_at END,
             failing_since = CASE WHEN NOT ${isEnabling} AND coalesce(${url}::text, e.url) = e.url THEN e.failing_since END,
             updated_at = clock_timestamp()
        FROM (SELECT id, is_enabled FROM webhook_endpoints WHERE id = ${id}::uuid FOR UPDATE) before
       WHERE e.id = before.id
      RETURNING ${columns}, before.is_enabled AS "wasEnabled"`;
    if (endpoint?.isEnabled && !endpoint.wasEnabled) await this.#makeDue(id);
    return endpoint;
  }

  async #makeDue(id: string): Promise<void> {
    for (;;) {
      const changed = await this.#database.$executeRaw`
        UPDATE webhook_deliveries SET next_attempt_at = clock_timestamp() WHERE id IN (
          SELECT id FROM webhook_deliveries
           WHERE endpoint_id = ${id}::uuid AND state = 'pending' AND next_attempt_at > clock_timestamp()
           LIMIT ${rowsAtOnce}::int FOR UPDATE SKIP LOCKED)`;
      if (changed < rowsAtOnce) break;
    }
  }

  /** Sets the secret. The previous one signs, too, for a day. */
  async rotate(id: string, secret: string): Promise<WebhookEndpoint | undefined> {
    const [endpoint] = await this.#database.$queryRaw<WebhookEndpoint[]>`
      UPDATE webhook_endpoints e
         SET previous_secret = e.secret, secret = ${secret}, updated_at = clock_timestamp(),
             previous_secret_until = clock_timestamp() + make_interval(hours => ${previousSecretHours}::int)
       WHERE e.id = ${id}::uuid
      RETURNING ${columns}`;
    return endpoint;
  }

  /** Deletes an endpoint with its deliveries. Returns false if there is none. */
  async delete(id: string): Promise<boolean> {
    const disabled = await this.#database.$executeRaw`
      UPDATE webhook_endpoints SET is_enabled = false WHERE id = ${id}::uuid`;
    if (disabled === 0) return false;
    for (;;) {
      const deleted = await this.#database.$executeRaw`
        DELETE FROM webhook_deliveries WHERE id IN (
          SELECT id FROM webhook_deliveries WHERE endpoint_id = ${id}::uuid LIMIT ${rowsAtOnce}::int)`;
      if (deleted < rowsAtOnce) break;
    }
    return (await this.#database.$executeRaw`DELETE FROM webhook_endpoints WHERE id = ${id}::uuid`) > 0;
  }

  /**
   * Inserts a test, or makes the pending one due with a new schedule. Returns undefined if the endpoint is missing or
   * disabled.
   */
  async addTest(id: string): Promise<ListedDelivery | undefined> {
    return this.#database.$transaction(async (transaction) => {
      if (!(await lockEnabled(id, transaction))) return undefined;
      const [pending] = await transaction.$queryRaw<ListedRow[]>`
        WITH changed AS (
          UPDATE webhook_deliveries SET next_attempt_at = clock_timestamp(), earlier_attempts = attempts
           WHERE endpoint_id = ${id}::uuid AND state = 'pending' AND event_id IS NULL
          RETURNING *
        )
        SELECT ${listedColumns} FROM changed d ${joinLastAttempt}`;
      if (pending !== undefined) return withLastAttempt(pending);
      const [added] = await transaction.$queryRaw<Delivery[]>`
        INSERT INTO webhook_deliveries AS d (endpoint_id, type, subject_id, data, event_at)
        VALUES (${id}::uuid, ${testType}, ${id}::uuid, '{}', clock_timestamp())
        RETURNING ${deliveryColumns}`;
      return added && { ...added, lastAttempt: undefined };
    });
  }

  /** Makes an ended delivery pending. Returns undefined if it is missing or pending, or its endpoint is disabled. */
  async redeliver(endpointId: string, id: string): Promise<ListedDelivery | undefined> {
    const [row] = await this.#database.$queryRaw<ListedRow[]>`
      WITH changed AS (
        UPDATE webhook_deliveries d
           SET state = 'pending', next_attempt_at = clock_timestamp(), earlier_attempts = d.attempts, ended_at = NULL
          FROM webhook_endpoints e
         WHERE e.id = d.endpoint_id AND e.is_enabled AND d.state <> 'pending'
           AND d.endpoint_id = ${endpointId}::uuid AND d.id = ${id}::bigint AND ${isNotSealed}
        RETURNING d.*
      )
      SELECT ${listedColumns} FROM changed d ${joinLastAttempt}`;
    return row && withLastAttempt(row);
  }

  /** Returns a page of the deliveries of an endpoint, the newest first, each with its last attempt. */
  async listDeliveries(endpointId: string, { state, limit, after }: DeliveryPage): Promise<ListedDelivery[]> {
    const ofState = state === undefined ? Prisma.empty : Prisma.sql`AND state = ${state}`;
    const older = after === undefined ? Prisma.empty : Prisma.sql`AND id < ${after.id}::bigint`;
    const rows = await this.#database.$queryRaw<ListedRow[]>`
      SELECT ${listedColumns}
        FROM (
          SELECT * FROM webhook_deliveries d
           WHERE endpoint_id = ${endpointId}::uuid ${ofState} ${older} AND ${isNotSealed} ORDER BY id DESC LIMIT ${limit}::int
        ) d
        ${joinLastAttempt}
       ORDER BY d.id DESC`;
    return rows.map(withLastAttempt);
  }

  async findDelivery(endpointId: string, id: string): Promise<ListedDelivery | undefined> {
    const [row] = await this.#database.$queryRaw<ListedRow[]>`
      SELECT ${listedColumns}
        FROM webhook_deliveries d
        ${joinLastAttempt}
       WHERE d.endpoint_id = ${endpointId}::uuid AND d.id = ${id}::bigint AND ${isNotSealed}`;
    return row && withLastAttempt(row);
  }

  /** Returns the latest attempts of a delivery, the newest first. */
  async listAttempts(id: bigint): Promise<DeliveryAttempt[]> {
    return this.#database.$queryRaw<DeliveryAttempt[]>`
      SELECT ${attemptColumns}, a.answer FROM webhook_attempts a
       WHERE a.delivery_id = ${id} ORDER BY a.number DESC LIMIT ${shownAttemptsMax}::int`;
  }
}

/** Locks an endpoint, so that at most one test is pending. Returns false if it is missing or disabled. */
async function lockEnabled(id: string, transaction: Transaction): Promise<boolean> {
  const rows = await transaction.$queryRaw<unknown[]>`
    SELECT 1 FROM webhook_endpoints WHERE id = ${id}::uuid AND is_enabled FOR NO KEY UPDATE`;
  return rows.length > 0;
}

function withLastAttempt(row: ListedRow): ListedDelivery {
  return { ...row, lastAttempt: row.number === null ? undefined : row };
}
