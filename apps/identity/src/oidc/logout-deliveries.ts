import { randomUUID } from 'node:crypto';
import type { Logger } from '@tessera/service-kit';
import type { Database } from '../database.ts';
import type { TokenIssuer } from '../tokens/token-issuer.ts';
import type { OidcIssuer } from './issuer.ts';

export type LogoutOutcome = 'delivered' | 'failed' | 'given_up';

interface LogoutDeliveriesOptions {
  database: Database;
  issuer: TokenIssuer;
  oidc: OidcIssuer;
  logger: Logger;
  onOutcome: (outcome: LogoutOutcome) => void;
  /** How often the outbox is read. */
  intervalMs?: number;
}

interface Delivery {
  id: bigint;
  clientId: string;
  identityId: string;
  sid: string | null;
  attempts: number;
  uri: string | null;
}

/** The attempts take about a day: after 30 s, 2, 8 and 32 minutes, 2 hours, and every 6 hours. */
const attemptsMax = 9;
/** How many tokens a process sends at the same time, and to one client, so that a slow one does not hold up others. */
const slots = 10;
const slotsOfClient = 2;
const requestTimeoutMs = 5_000;
const tokenSeconds = 120;
const logoutEvent = 'http://schemas.openid.net/event/backchannel-logout';

/**
 * Sends the logout tokens of the outbox to clients (OpenID Connect Back-Channel Logout 1.0 2.5). Every process does; a row that
 * one process sends is skipped by others. A client that is down gets its token later.
 */
export class LogoutDeliveries {
  readonly #options: Required<LogoutDeliveriesOptions>;
  #timer: NodeJS.Timeout | undefined;
  #running: Promise<unknown> = Promise.resolve();
  #isRunning = false;
  #isStopped = false;
  /** What is being sent. */
  readonly #sending = new Set<Delivery>();
  /** Runs that wait for a free place, or for more that is due. */
  readonly #waiting = new Set<() => void>();

  constructor(options: LogoutDeliveriesOptions) {
    this.#options = { intervalMs: 5_000, ...options };
  }

  start(): void {
    this.#schedule(this.#options.intervalMs);
  }

  /** Sends what is due, without waiting for the interval. */
  wake(): void {
    if (this.#isRunning) this.#lookAgain();
    else this.#schedule(0);
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    clearTimeout(this.#timer);
    await this.#running;
  }

  /** Sends everything that is due; after `stop`, only what has a free place now. */
  async run(): Promise<void> {
    for (let isFirst = true; ; isFirst = false) {
      const woken = new Promise<void>((resolve) => {
        this.#waiting.add(resolve);
      });
      const inFlight = this.#sending.size;
      const due = isFirst || !this.#isStopped ? await this.#claim(slots - inFlight) : [];
      for (const delivery of due) {
        this.#sending.add(delivery);
        void this.#deliver(delivery)
          .catch(this.#warn)
          .finally(() => {
            this.#sending.delete(delivery);
            this.#lookAgain();
          });
      }
      if (inFlight === 0 && due.length === 0) return;
      // Also if one has arrived during the claim, in which its client was busy.
      await woken;
    }
  }

  #lookAgain(): void {
    for (const resolve of this.#waiting) resolve();
    this.#waiting.clear();
  }

  #schedule(delayMs: number): void {
    clearTimeout(this.#timer);
    if (this.#isStopped) return;
    this.#timer = setTimeout(() => {
      this.#isRunning = true;
      this.#running = this.run()
        .catch(this.#warn)
        .finally(() => {
          this.#isRunning = false;
          this.#schedule(this.#options.intervalMs);
        });
    }, delayMs);
    this.#timer.unref();
  }

  readonly #warn = (error: unknown) => this.#options.logger.warn({ err: error }, 'logout tokens not sent');

  // The next attempt is stored before this one, so that a process that dies loses nothing. With many clients, chance decides
  // whose turn it is: an order by time would lock what another process could send.
  async #claim(count: number): Promise<Delivery[]> {
    const busy = Array.from(this.#sending, ({ clientId }) => clientId);
    return this.#options.database.$queryRaw<Delivery[]>`
      WITH due AS (
        SELECT one.id FROM (SELECT id FROM oauth_clients WHERE id <> ALL(${busy}::uuid[]) ORDER BY random()) c
         CROSS JOIN LATERAL (
           SELECT id FROM logout_deliveries WHERE client_id = c.id AND next_attempt_at <= now()
            ORDER BY next_attempt_at LIMIT ${slotsOfClient}::int FOR UPDATE SKIP LOCKED) one
         LIMIT ${count}::int)
      UPDATE logout_deliveries d SET attempts = d.attempts + 1,
             next_attempt_at = now() + least(30 * 4 ^ d.attempts, 21600) * interval '1 second'
        FROM due, oauth_clients c WHERE d.id = due.id AND c.id = d.client_id
      RETURNING d.id, d.client_id AS "clientId", d.identity_id AS "identityId", d.sid, d.attempts,
        CASE WHEN c.disabled_at IS NULL THEN c.backchannel_logout_uri END AS uri`;
  }

  async #deliver(delivery: Delivery): Promise<void> {
    const { logger, onOutcome } = this.#options;
    const { clientId, attempts, uri } = delivery;
    if (uri === null) return this.#forget(delivery);
    const problem = await this.#send(delivery, uri);
    if (problem === undefined) {
      onOutcome('delivered');
      return this.#forget(delivery);
    }
    const isLast = attempts >= attemptsMax;
    logger.warn({ client: clientId, attempts, reason: problem }, 'logout token not delivered');
    onOutcome(isLast ? 'given_up' : 'failed');
    if (isLast) await this.#giveUp(delivery);
  }

  /** Returns the reason if the client has not accepted the token. */
  async #send({ clientId, identityId, sid }: Delivery, uri: string): Promise<string | undefined> {
    const { issuer, oidc } = this.#options;
    const now = Math.floor(Date.now() / 1000);
    const claims = {
      iss: oidc.issuer,
      aud: clientId,
      iat: now,
      exp: now + tokenSeconds,
      jti: randomUUID(),
      events: { [logoutEvent]: {} },
      sub: identityId,
      ...(sid === null ? {} : { sid }),
    };
    const body = new URLSearchParams({ logout_token: await issuer.signForClient(claims, 'logout+jwt') });
    try {
      const signal = AbortSignal.timeout(requestTimeoutMs);
      // The address of a redirect is not registered.
      const response = await fetch(uri, { method: 'POST', body, redirect: 'manual', signal });
      await response.body?.cancel();
      return response.ok ? undefined : `status ${response.status}`;
    } catch (error) {
      return error instanceof Error ? error.name : 'unknown';
    }
  }

  async #forget({ id }: Delivery): Promise<void> {
    await this.#options.database.$executeRaw`DELETE FROM logout_deliveries WHERE id = ${id}`;
  }

  async #giveUp({ id }: Delivery): Promise<void> {
    await this.#options.database.$executeRaw`
      WITH given_up AS (DELETE FROM logout_deliveries WHERE id = ${id} RETURNING client_id, identity_id)
      INSERT INTO audit_events (type, outcome, actor, identity_id, details)
      SELECT 'logout.undelivered', 'failure', 'system', identity_id, jsonb_build_object('client', client_id)
        FROM given_up`;
  }
}
