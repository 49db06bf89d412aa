import type { RetriedSyncs, RetrySyncs } from '@tessera/contracts';
import { trackerNotConfigured } from './sync-issue.ts';
import type { SyncQueueRepository } from './sync-queue.repository.ts';

interface Integration {
  queue: SyncQueueRepository;
}

/** What staff see and do about the configured tracker as a whole. */
export class IntegrationService {
  readonly #integration: Integration | undefined;

  /** Without an integration no tracker is configured. */
  constructor(integration: Integration | undefined) {
    this.#integration = integration;
  }

  /** Makes issues due whose sync matches a filter. */
  async retrySyncs(filter: RetrySyncs): Promise<RetriedSyncs> {
    if (this.#integration === undefined) throw trackerNotConfigured();
    return this.#integration.queue.addMatching(filter);
  }
}
