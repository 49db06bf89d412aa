import type { Leases } from '../background/leases.ts';
import type { Database } from '../database.ts';
import { unreadEvents } from '../events/event-reader.sql.ts';
import { Prisma } from '../generated/prisma/client.ts';
import { defaultProjectId } from '../issue-core/project.ts';
import { isNotSealed } from './webhook.repository.ts';
import type { Attempt, DeliveredEvent } from './webhook-sender.ts';

/** A delivery that this process has leased, with what is needed to send it. */
export interface LeasedDelivery extends DeliveredEvent {
  claimId: string;
  /** The number of attempts since the delivery was requested. */
  attempts: number;
  url: string;
  secret: string;
  /** Null if the secret was not rotated within the last day. */
  previousSecret: string | null;
  /** False if the project of the event was sealed after the delivery was made. */
  mayBeSent: boolean;
}

/** The name of this reader in `event_readers`. */
const reader = 'webhooks';
const pageSize = 200;
/** Requests to one endpoint at once, over all processes. A slow endpoint delays only its own deliveries. */
const endpointConcurrency = 4;
/** The same for an endpoint whose last attempt failed, so that many dead endpoints do not occupy all workers. */
const failingConcurrency = 1;
/** Number of unsent deliveries of an actor to an endpoint. Further ones wait until those of other actors are sent. */
const shareOfActor = 10;
/** How often a delivery that is behind is sent first, so that it does not wait forever. */
const behindFirst = 0.2;
/** An endpoint with more unsent deliveries is disabled, not counting those of the actor who has most. */
const backlogMax = 100_000;
/** An endpoint is disabled if all attempts have failed for this time. */
const failingDays = 5;
/** Longer than an attempt. A lease expires only if its process has died, or if the database is down for so long. */
const leaseSeconds = 60;

/** The queue of deliveries that all replicas share. */
export class WebhookDeliveryRepository {
  readonly #database: Database;
  readonly #leases: Leases;

  constructor(database: Database, leases: Leases) {
    this.#database = database;
    this.#leases = leases;
  }

  /** Inserts a delivery for each unread event and matching endpoint. Returns the number of read events. */
  async addOfEvents(): Promise<{ events: number; deliveries: number }> {
    const [row] = await this.#database.$queryRaw<{ events: number; deliveries: number }[]>`
      WITH ${unreadEvents(Prisma.sql, reader, pageSize)},
      added AS (
        INSERT INTO webhook_deliveries (endpoint_id, event_id, type, subject_id, data, event_at, actor_id, is_behind)
        SELECT e.id, p.id, p.type, p.subject_id, p.data, p.at, p.actor_id,
               waiting.count + row_number() OVER (PARTITION BY e.id, p.actor_id ORDER BY p.tx, p.id) > ${shareOfActor}::int
          FROM (SELECT *, (data ->> 'actor_id')::uuid AS actor_id,
                       coalesce((data ->> 'project_id')::uuid, ${defaultProjectId}::uuid) AS project_id FROM page) p
          JOIN projects ON projects.id = p.project_id
          JOIN webhook_endpoints e ON e.is_enabled AND (e.types = '{}' OR p.type = ANY(e.types))
           AND CASE WHEN e.project_ids = '{}' THEN projects.visibility = 'everyone'
                    ELSE p.project_id = ANY(e.project_ids) AND projects.visibility <> 'sealed' END
         CROSS JOIN LATERAL (
           SELECT count(*) FROM (
             SELECT FROM webhook_deliveries d
              WHERE d.endpoint_id = e.id AND d.actor_id = p.actor_id AND d.state = 'pending' LIMIT ${shareOfActor}::int
           ) d
         ) waiting
         ORDER BY p.tx, p.id
        ON CONFLICT (endpoint_id, event_id) DO NOTHING
        RETURNING 1
      )
      SELECT (SELECT count(*)::int FROM page) AS events, (SELECT count(*)::int FROM added) AS deliveries`;
    return row ?? { events: 0, deliveries: 0 };
  }

  /** The size of a page of {@link addOfEvents}. */
  get pageSize(): number {
    return pageSize;
  }

  /**
   * Leases a delivery that is due, or whose lease has expired because its process died. The endpoints take turns at
   * random, so a backlog of one does not delay the others. Those of an actor with few deliveries are usually first.
   */
  async lease(): Promise<LeasedDelivery | undefined> {
    return this.#leases.take(leaseSeconds * 1000, {
      lease: (claimId) => this.#lease(claimId),
      release: (claimId) => this.#database.$executeRaw`
        UPDATE webhook_deliveries SET claim_id = NULL, claim_until = NULL WHERE claim_id = ${claimId}::uuid`,
    });
  }

  async #lease(claimId: string): Promise<LeasedDelivery | undefined> {
    const [delivery] = await this.#database.$queryRaw<LeasedDelivery[]>`
      UPDATE webhook_deliveries d
         SET claim_id = ${claimId}::uuid, claim_until = clock_timestamp() + make_interval(secs => ${leaseSeconds})
        FROM webhook_endpoints e
       WHERE e.id = d.endpoint_id AND d.id = (
         SELECT due.id FROM (
           SELECT id, random() < ${behindFirst}::float8 AS is_behind_first,
                  CASE WHEN failing_since IS NULL THEN ${endpointConcurrency}::int ELSE ${failingConcurrency}::int END AS slots
             FROM webhook_endpoints WHERE is_enabled ORDER BY random()
         ) turn
          CROSS JOIN LATERAL (VALUES (turn.is_behind_first), (NOT turn.is_behind_first)) lane (is_behind)
          CROSS JOIN LATERAL (
            SELECT id FROM webhook_deliveries
             WHERE endpoint_id = turn.id AND is_behind = lane.is_behind AND state = 'pending'
               AND next_attempt_at <= clock_timestamp()
               AND (claim_until IS NULL OR claim_until < clock_timestamp())
               AND turn.slots > (
                     SELECT count(*) FROM webhook_deliveries
                      WHERE endpoint_id = turn.id AND claim_id IS NOT NULL AND claim_until > clock_timestamp())
             ORDER BY next_attempt_at LIMIT 1 FOR UPDATE SKIP LOCKED
          ) due LIMIT 1)
      RETURNING d.id, d.claim_id AS "claimId", d.endpoint_id AS "endpointId", d.event_id AS "eventId", d.type,
                d.subject_id AS "subjectId", d.data, d.event_at AS "eventAt",
                d.attempts - d.earlier_attempts AS attempts, e.url, e.secret,
                CASE WHEN e.previous_secret_until > clock_timestamp() THEN e.previous_secret END AS "previousSecret",
                ${isNotSealed} AS "mayBeSent"`;
    return delivery;
  }

  /**
   * Records an attempt and ends the lease. `retrySeconds`: the time until the next attempt; undefined to end the delivery.
   * A failed attempt disables the endpoint if it is gone or has failed for five days. Returns the reason if it was disabled.
   */
  async record(
    delivery: LeasedDelivery,
    attempt: Attempt,
    retrySeconds: number | undefined,
  ): Promise<string | undefined> {
    return this.#leases.end(delivery.claimId, () => this.#record(delivery, attempt, retrySeconds));
  }

  async #record(
    { id, claimId, endpointId }: LeasedDelivery,
    { startedAt, durationMs, status, error, answer }: Attempt,
    retrySeconds: number | undefined,
  ): Promise<string | undefined> {
    const isDelivered = error === null;
    const state = isDelivered ? 'delivered' : retrySeconds === undefined ? 'failed' : 'pending';
    const rows = await this.#database.$queryRaw<{ reason: string | null }[]>`
      WITH delivery AS (
        UPDATE webhook_deliveries
           SET attempts = attempts + 1, state = ${state}, claim_id = NULL, claim_until = NULL,
               next_attempt_at = clock_timestamp() + make_interval(secs => ${retrySeconds ?? null}::float8),
               ended_at = CASE WHEN ${state} <> 'pending' THEN clock_timestamp() END
         WHERE id = ${id} AND claim_id = ${claimId}::uuid
        RETURNING id, attempts
      ), logged AS (
        INSERT INTO webhook_attempts (delivery_id, number, started_at, duration_ms, status, error, answer)
        SELECT id, attempts, ${startedAt}::timestamptz, ${durationMs}::int, ${status}::int, ${error}, ${answer}
          FROM delivery
      ), succeeded AS (
        UPDATE webhook_endpoints SET failing_since = NULL
         WHERE id = ${endpointId}::uuid AND ${isDelivered} AND failing_since IS NOT NULL
      )
      UPDATE webhook_endpoints e
         SET failing_since = since, is_enabled = reason IS NULL, disabled_reason = reason,
             disabled_at = CASE WHEN reason IS NOT NULL THEN clock_timestamp() END
        FROM (
          SELECT since, CASE WHEN ${status}::int = 410 THEN 'gone'
                             WHEN since < clock_timestamp() - make_interval(days => ${failingDays}) THEN 'failing' END AS reason
            FROM (SELECT coalesce(failing_since, clock_timestamp()) AS since
                    FROM webhook_endpoints WHERE id = ${endpointId}::uuid) endpoint
        ) next
       WHERE e.id = ${endpointId}::uuid AND NOT ${isDelivered} AND e.is_enabled
         AND (e.failing_since IS NULL OR reason IS NOT NULL) AND EXISTS (SELECT FROM delivery)
      RETURNING disabled_reason AS reason`;
    return rows[0]?.reason ?? undefined;
  }

  /** Deletes a delivery of a sealed project. */
  async drop({ id, claimId }: LeasedDelivery): Promise<void> {
    const end = () => this.#database.$executeRaw`
      DELETE FROM webhook_deliveries WHERE id = ${id} AND claim_id = ${claimId}::uuid`;
    await this.#leases.end(claimId, end);
  }

  /** Ends a lease without an attempt. Another process can send the delivery, by default at once. */
  async release({ id, claimId }: LeasedDelivery, { delaySeconds = 0 } = {}): Promise<void> {
    const end = () => this.#database.$executeRaw`
      UPDATE webhook_deliveries
         SET claim_id = NULL, claim_until = NULL,
             next_attempt_at = clock_timestamp() + make_interval(secs => ${delaySeconds}::float8)
       WHERE id = ${id} AND claim_id = ${claimId}::uuid`;
    await this.#leases.end(claimId, end);
  }

  /**
   * Disables endpoints with too many unsent deliveries. Returns their ids. The first count ends early; only an endpoint with
   * many is counted by actor.
   */
  async disableOverfull(): Promise<string[]> {
    const rows = await this.#database.$queryRaw<{ id: string }[]>`
      UPDATE webhook_endpoints e
         SET is_enabled = false, disabled_reason = 'backlog', disabled_at = clock_timestamp()
       WHERE is_enabled AND ${backlogMax}::int < (
         SELECT count(*) FROM (
           SELECT FROM webhook_deliveries WHERE endpoint_id = e.id AND state = 'pending' LIMIT ${backlogMax + 1}
         ) unsent)
         AND ${backlogMax}::int < (
         SELECT sum(unsent) - max(unsent) FROM (
           SELECT count(*) AS unsent FROM webhook_deliveries
            WHERE endpoint_id = e.id AND state = 'pending' GROUP BY actor_id
         ) actors)
      RETURNING id`;
    return rows.map(({ id }) => id);
  }

  /** Returns the age of the oldest delivery that is due, in seconds; 0 if there is none. */
  async oldestDueSeconds(): Promise<number> {
    const [row] = await this.#database.$queryRaw<{ age: number }[]>`
      SELECT coalesce(greatest(0, max(extract(epoch FROM clock_timestamp() - oldest.at))), 0)::float8 AS age
        FROM webhook_endpoints e CROSS JOIN (VALUES (false), (true)) lane (is_behind) CROSS JOIN LATERAL (
          SELECT next_attempt_at AS at FROM webhook_deliveries d
           WHERE endpoint_id = e.id AND d.is_behind = lane.is_behind AND state = 'pending' ORDER BY next_attempt_at LIMIT 1
        ) oldest WHERE e.is_enabled`;
    return row?.age ?? 0;
  }
}
