import type { RemoteKeySource } from '@tessera/jwt-verify';
import type { Logger, Metrics, Tracing } from '@tessera/service-kit';
import type { Leases } from '../background/leases.ts';
import type { Config } from '../config.ts';
import type { Database } from '../database.ts';
import { UserService } from '../users/user.service.ts';
import { WebSessionRepository } from '../web-session/web-session.repository.ts';
import { IdentityClient } from './identity-client.ts';
import { IdentityMirrorRepository } from './identity-mirror.repository.ts';
import { IdentityMirrorService } from './identity-mirror.service.ts';
import type { BreakerState } from './identity-transport.ts';
import { MirrorBackfillRepository } from './mirror-backfill.repository.ts';
import { MirrorBackfill, observeBackfill } from './mirror-backfill.ts';
import { MirrorFeedRepository } from './mirror-feed.repository.ts';
import { MirrorFeed, observeFeed } from './mirror-feed.ts';

interface PeopleCollaborators {
  database: Database;
  leases: Leases;
  keys: RemoteKeySource;
  metrics: Metrics;
  logger: Logger;
  tracing: Tracing | undefined;
}

/** Creates everything that knows people: the client of the identity service, the mirror and what keeps it current. */
export function createPeople(
  { identity, strictPrivilegeCheck, mirrorIntervalSeconds }: Config,
  { database, leases, keys, metrics, logger, tracing }: PeopleCollaborators,
) {
  const client = new IdentityClient({ ...identity, logger, tracing });
  const repository = new IdentityMirrorRepository(database);
  const mirror = new IdentityMirrorService({ repository, client });
  const backfills = new MirrorBackfillRepository(database, leases);
  const backfill = new MirrorBackfill(
    { client, mirror, repository: backfills, logger },
    { intervalSeconds: mirrorIntervalSeconds },
  );
  const feeds = new MirrorFeedRepository(database);
  const sessions = new WebSessionRepository(database);
  const feed = new MirrorFeed({ client, mirror, repository: feeds, backfill, sessions, keys, logger });
  observeBreaker(metrics, client);
  observeBackfill(metrics, backfills);
  observeFeed(metrics, feeds);
  const users = new UserService({ client, mirror, repository, strictPrivilegeCheck });
  return { mirror, backfill, feed, users };
}

const breakerStates: BreakerState[] = ['closed', 'half_open', 'open'];

/** Exposes the state of the circuit breaker: 1 for the current state, 0 for the others. */
function observeBreaker(metrics: Metrics, client: IdentityClient): void {
  const help = 'State of the circuit breaker for identity: 1 for the current state.';
  const gauge = metrics.gauge('issues_identity_breaker_state', help, ['state'], () => {
    const { breaker } = client.status();
    for (const state of breakerStates) gauge.set({ state }, state === breaker ? 1 : 0);
  });
}
