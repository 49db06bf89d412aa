import {
  attachExternalIssue,
  backfillSyncs,
  detachExternalIssue,
  getImport,
  getSyncState,
  importIssues,
  listIntegrations,
  resolveSyncConflict,
  retrySyncs,
  syncIssue,
  takeWebhook,
} from '@tessera/contracts';
import { type Access, type Route, route } from '@tessera/service-kit';
import type { Dependencies } from '../dependencies.ts';
import { once } from '../idempotency/once.ts';
import { assertMayAdministerSync as authorize } from '../issue-core/issue-access.ts';
import { limitRate } from '../rate-limit/rate-limiter.ts';
import type { RouteLimits } from '../rate-limit/route-limits.ts';
import { syncHandlers } from './sync.handlers.ts';
import { trackerWebhookBody, trackerWebhookHandlers } from './tracker-webhook.handlers.ts';

/** The operations on syncs with the tracker, and what the tracker sends. `trackers`: the access rule of the latter. */
export function syncRoutes(
  dependencies: Dependencies,
  { access, reads, writes }: RouteLimits,
  trackers: Access<undefined>,
): Route[] {
  const sync = syncHandlers(dependencies);
  const { assertConfigured, take } = trackerWebhookHandlers(dependencies.trackerWebhooks);
  // These requests wait for the tracker, not for the database.
  const syncs = limitRate(dependencies.rateLimits.syncs);
  return [
    route(getSyncState, { access, limit: reads }, sync.getState),
    route(syncIssue, { access, limit: syncs }, once(dependencies.idempotency, sync.run)),
    route(takeWebhook, { access: trackers, authorize: assertConfigured, body: trackerWebhookBody }, take),
    route(resolveSyncConflict, { access, limit: writes }, sync.resolveConflict),
    route(attachExternalIssue, { access, limit: writes }, sync.attach),
    route(listIntegrations, { access, limit: reads, authorize }, sync.list),
    route(retrySyncs, { access, limit: syncs, authorize }, sync.retry),
    route(importIssues, { access, limit: syncs, authorize }, sync.startImport),
    route(getImport, { access, limit: reads, authorize }, sync.readImport),
    route(backfillSyncs, { access, limit: syncs, authorize }, sync.backfill),
    route(detachExternalIssue, { access, limit: writes }, sync.detach),
  ];
}
