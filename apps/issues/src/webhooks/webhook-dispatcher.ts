import type { Logger } from '@tessera/service-kit';
import { WorkerPool } from '../background/worker-pool.ts';
import type { EventSignal } from '../events/event-signal.ts';
import { EventWorker } from '../events/event-signal.ts';
import type { IssueUrls } from '../issue-core/issue-reference.ts';
import type { LeasedDelivery, WebhookDeliveryRepository } from './webhook-delivery.repository.ts';
import type { Attempt, WebhookSender } from './webhook-sender.ts';
import { messageId, payloadOf } from './webhook-sender.ts';

/** Seconds between an attempt and the next one. The first attempt follows the event at once. */
const retrySeconds = [5, 5 * 60, 30 * 60, 2 * 3600, 5 * 3600, 10 * 3600, 14 * 3600, 20 * 3600, 24 * 3600];
/** A longer `Retry-After` is shortened to this. */
const retryAfterMaxSeconds = 24 * 3600;
/** Requests at once in this process. */
const workers = 100;
const pollMs = 1_000;
/** Time until this process looks again at an event that only a later release knows. */
const unknownEventSeconds = 60;
const backlogCheckMs = 60_000;

interface DispatcherDependencies {
  deliveries: WebhookDeliveryRepository;
  sender: Pick<WebhookSender, 'send'>;
  urls: Pick<IssueUrls, 'keyOf'>;
  signal: EventSignal;
  /** Called after each attempt. */
  onAttempt: (error: Attempt['error']) => void;
  logger: Logger;
}

/** Sends events to the endpoints: makes deliveries of unread events, and attempts those that are due. */
export class WebhookDispatcher {
  readonly #dependencies: DispatcherDependencies;
  readonly #reader: EventWorker;
  readonly #pool: WorkerPool<LeasedDelivery>;
  readonly #stopping = new AbortController();
  #backlogCheckedAt = performance.now();

  constructor(dependencies: DispatcherDependencies) {
    this.#dependencies = dependencies;
    const { deliveries, signal, logger } = dependencies;
    this.#reader = new EventWorker({
      name: 'webhooks',
      signal,
      run: () => this.#addDeliveries(),
      pauseMs: 100,
      logger,
    });
    this.#pool = new WorkerPool({
      name: 'webhooks',
      pollMs,
      workers,
      prepare: () => this.#checkBacklogs(),
      lease: () => deliveries.lease(),
      run: (delivery) => this.#attempt(delivery),
      logger,
    });
  }

  start(): void {
    this.#reader.start();
    this.#pool.start();
  }

  /** Aborts running attempts. Another process repeats them at once. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    await Promise.all([this.#reader.stop(), this.#pool.stop()]);
  }

  async #addDeliveries(): Promise<boolean> {
    const { deliveries: repository } = this.#dependencies;
    const { events, deliveries } = await repository.addOfEvents();
    if (deliveries > 0) this.#pool.wake();
    return events >= repository.pageSize;
  }

  async #checkBacklogs(): Promise<boolean> {
    if (performance.now() - this.#backlogCheckedAt > backlogCheckMs) {
      this.#backlogCheckedAt = performance.now();
      for (const endpointId of await this.#dependencies.deliveries.disableOverfull())
        this.#logDisabled(endpointId, 'backlog');
    }
    return true;
  }

  async #attempt(delivery: LeasedDelivery): Promise<void> {
    const { deliveries, sender, urls, onAttempt } = this.#dependencies;
    if (!delivery.mayBeSent) return deliveries.drop(delivery);
    const payload = payloadOf(delivery, urls);
    // A later release has written the event, and sends it. Other deliveries must not wait for that.
    if (payload === undefined) return deliveries.release(delivery, { delaySeconds: unknownEventSeconds });
    const { url, secret, previousSecret } = delivery;
    let attempt: Attempt;
    try {
      attempt = await sender.send(
        {
          id: messageId(delivery),
          url,
          secrets: previousSecret === null ? [secret] : [secret, previousSecret],
          body: JSON.stringify(payload),
        },
        this.#stopping.signal,
      );
    } catch (error) {
      await deliveries.release(delivery);
      if (this.#stopping.signal.aborted) return;
      throw error;
    }
    onAttempt(attempt.error);
    const reason = await deliveries.record(delivery, attempt, retryDelay(delivery, attempt));
    if (reason !== undefined) this.#logDisabled(delivery.endpointId, reason);
  }

  #logDisabled(endpointId: string, reason: string): void {
    this.#dependencies.logger.warn({ endpointId, reason }, 'webhook endpoint disabled');
  }
}

/** Returns the time until the next attempt; undefined if there is none. */
export function retryDelay(
  { attempts }: Pick<LeasedDelivery, 'attempts'>,
  { error, status, retryAfterSeconds = 0 }: Pick<Attempt, 'error' | 'status' | 'retryAfterSeconds'>,
): number | undefined {
  if (error === null || status === 410) return undefined;
  const delay = retrySeconds[attempts];
  if (delay === undefined) return undefined;
  // Up to a fifth longer, so that deliveries that failed together are not repeated together.
  const withJitter = delay * (1 + Math.random() / 5);
  return Math.max(withJitter, Math.min(retryAfterSeconds, retryAfterMaxSeconds));
}
