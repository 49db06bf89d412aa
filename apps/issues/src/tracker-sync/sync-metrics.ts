import type { Metrics } from '@tessera/service-kit';
import type { SyncQueueRepository } from './sync-queue.repository.ts';

/**
 * Registers the metrics of syncs, also if no tracker is configured. Returns the function that counts the outcome of a
 * sync.
 */
export function observeSyncs(
  metrics: Metrics,
  queue: SyncQueueRepository | undefined,
): (outcome: string) => void {
  const syncs = metrics.counter('issues_syncs_total', 'Syncs with the external tracker, by outcome.', [
    'outcome',
  ]);
  const stuck = metrics.gauge(
    'issues_syncs_stuck',
    'Issues whose sync failed and has no retry scheduled, by error.',
    ['error'],
    async () => {
      const counts = (await queue?.countStuck()) ?? [];
      stuck.reset();
      for (const { error, count } of counts) stuck.set({ error }, count);
    },
  );
  return (outcome) => syncs.inc({ outcome });
}
