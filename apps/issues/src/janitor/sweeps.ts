import type { SweepBatch } from '@tessera/service-kit';
import type { JanitorRepository } from './janitor.repository.ts';

/** What the janitor deletes. Counts of rate limits are deleted by the library that keeps them. */
export function issuesSweeps(repository: JanitorRepository) {
  return {
    idempotency_keys: (size) => repository.deleteOldAnswers(size),
    tracker_deliveries: (size) => repository.deleteOldDeliveries(size),
  } satisfies Record<string, SweepBatch>;
}
