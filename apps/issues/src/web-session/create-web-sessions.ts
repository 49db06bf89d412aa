import type { KeyObject } from 'node:crypto';
import type { TokenVerifier } from '@tessera/jwt-verify';
import type { Logger, Metrics, Tracing } from '@tessera/service-kit';
import type { Database } from '../database.ts';
import type { IdentityTransportOptions } from '../identity-mirror/identity-transport.ts';
import { IdentitySessions } from './identity-sessions.ts';
import { SessionCookie } from './session-id.ts';
import { SessionRefresher } from './session-refresher.ts';
import { TokenClient } from './token-client.ts';
import { TokenSealer } from './token-sealer.ts';
import { WebSessionRepository } from './web-session.repository.ts';
import { WebSessionService } from './web-session.service.ts';

/** The settings of the web app. */
export interface WebAppConfig {
  /** The first key seals the tokens of sessions, all keys open them. */
  sessionKeys: readonly KeyObject[];
  /** Whether the app's URL is https. */
  isSecure: boolean;
}

interface WebSessionCollaborators {
  identity: Omit<IdentityTransportOptions, 'logger'>;
  database: Database;
  verifier: TokenVerifier<'access'>;
  logger: Logger;
  metrics: Metrics;
  tracing?: Tracing | undefined;
}

/** Creates the sessions of the web app. */
export function createWebSessions(
  { sessionKeys, isSecure }: WebAppConfig,
  { identity, database, verifier, logger, metrics, tracing }: WebSessionCollaborators,
) {
  const repository = new WebSessionRepository(database);
  const client = new TokenClient(identity);
  const sealer = new TokenSealer(sessionKeys);
  const refreshes = metrics.counter(
    'issues_session_refreshes_total',
    'Refreshes of web sessions, by outcome.',
    ['outcome'],
  );
  const refresher = new SessionRefresher({
    repository,
    client,
    sealer,
    logger,
    onRefresh: (outcome) => refreshes.inc({ outcome }),
  });
  const identitySessions = new IdentitySessions({ ...identity, logger, tracing });
  return {
    cookie: new SessionCookie({ isSecure }),
    service: new WebSessionService({
      repository,
      refresher,
      client,
      identitySessions,
      sealer,
      verifier,
      logger,
    }),
    stop: () => refresher.stop(),
  };
}

export type WebSessions = ReturnType<typeof createWebSessions>;
