import type { TrackerProvider } from '@tessera/contracts';
import { ProblemError } from '@tessera/service-kit';
import type { SyncDueRepository } from './sync-due.repository.ts';
import { readDelivery } from './webhook.ts';

interface SyncWebhookDependencies {
  /** Undefined where no tracker with a webhook secret is configured. */
  hook: { provider: TrackerProvider; project: string; secret: string; due: SyncDueRepository } | undefined;
}

/** Deliveries of the tracker. Each is a hint to run the one sync: what it says is not believed, but looked up. */
export class SyncWebhookService {
  readonly #hook: SyncWebhookDependencies['hook'];

  constructor({ hook }: SyncWebhookDependencies) {
    this.#hook = hook;
  }

  isFor(provider: TrackerProvider): boolean {
    return this.#hook?.provider === provider;
  }

  /** False where the delivery was taken before. Throws a 401 problem where its signature does not hold. */
  async take(request: Parameters<typeof readDelivery>[2]): Promise<boolean> {
    const hook = this.#hook;
    if (hook === undefined) throw new Error('isFor comes first');
    const delivery = readDelivery(hook.provider, hook, request);
    if (delivery === undefined) {
      throw new ProblemError({
        status: 401,
        code: 'invalid_signature',
        detail: 'The signature of the delivery does not hold.',
        headers: { 'WWW-Authenticate': 'Signature' },
      });
    }
    return hook.due.takeDelivery(delivery.id, delivery.remoteId);
  }
}
