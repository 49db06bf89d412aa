import type { KeyObject } from 'node:crypto';
import type { KeySource, TokenVerifier } from '@tessera/jwt-verify';
import type { Logger, Metrics, Tracing } from '@tessera/service-kit';
import type { Database } from '../database.ts';
import { IdentityTransport, type IdentityTransportOptions } from '../identity-mirror/identity-transport.ts';
import { ClientRegistration, fixedCredentials, type Registration } from './client-registration.ts';
import {
  callbackPath,
  HostedSignIn,
  type HostedSignInConfig,
  logoutPath,
  signedOutPath,
} from './hosted-sign-in.ts';
import { IdentitySessions } from './identity-sessions.ts';
import { OauthClientRepository } from './oauth-client.repository.ts';
import { type ClientCredentials, OidcTokenClient } from './oidc-token-client.ts';
import { SessionCookie } from './session-id.ts';
import { type ClientOf, SessionRefresher } from './session-refresher.ts';
import { SignInFlows } from './sign-in-flow.ts';
import { TokenClient } from './token-client.ts';
import { TokenSealer } from './token-sealer.ts';
import { TokenTransport } from './token-transport.ts';
import { WebSessionRepository } from './web-session.repository.ts';
import { WebSessionService } from './web-session.service.ts';

/** The settings of the web app. */
export interface WebAppConfig {
  /** The first key seals the tokens of sessions, all keys open them. */
  sessionKeys: readonly KeyObject[];
  /** Whether the app's URL is https. */
  isSecure: boolean;
  /** The sign-in on identity's pages. Undefined if the app has a form of its own. */
  hosted: HostedConfig | undefined;
}

interface HostedConfig extends HostedSignInConfig {
  /** Of the access tokens that this service accepts. */
  audiences: string[];
  /** Whether identity reaches this service at its public URL. */
  isReachable: boolean;
  /** Undefined if the service registers itself. */
  credentials: ClientCredentials | undefined;
}

interface WebSessionCollaborators {
  identity: Omit<IdentityTransportOptions, 'logger'>;
  database: Database;
  verifier: TokenVerifier<'access'>;
  keys: KeySource;
  logger: Logger;
  metrics: Metrics;
  tracing?: Tracing | undefined;
}

/** Creates the sessions of the web app. */
export function createWebSessions(
  { sessionKeys, isSecure, hosted }: WebAppConfig,
  { identity, database, verifier, keys, logger, metrics, tracing }: WebSessionCollaborators,
) {
  const repository = new WebSessionRepository(database);
  const transport = new TokenTransport(identity);
  const client = new TokenClient(transport);
  const sealer = new TokenSealer(sessionKeys);
  const identityTransport = new IdentityTransport({ ...identity, logger, tracing });
  const credentials =
    hosted &&
    (hosted.credentials === undefined
      ? new ClientRegistration({
          issuer: hosted.issuer,
          registration: registrationOf(hosted),
          repository: new OauthClientRepository(database),
          transport: identityTransport,
          sealer,
          logger,
        })
      : fixedCredentials(hosted.credentials));
  const hostedClient = credentials && new OidcTokenClient(transport, credentials);
  // After a change to SIGN_IN=form, identity refuses the tokens of a client, so their sessions end at the next refresh.
  const clientOf: ClientOf = (clientId) => (clientId === null ? client : (hostedClient ?? client));
  const refreshes = metrics.counter(
    'issues_session_refreshes_total',
    'Refreshes of web sessions, by outcome.',
    ['outcome'],
  );
  const refresher = new SessionRefresher({
    repository,
    clientOf,
    sealer,
    logger,
    onRefresh: (outcome) => refreshes.inc({ outcome }),
  });
  const identitySessions = new IdentitySessions({ ...identity, logger, tracing });
  const service = new WebSessionService({
    repository,
    refresher,
    client,
    clientOf,
    identitySessions,
    sealer,
    verifier,
    logger,
  });
  const flows = new SignInFlows({ sealer, isSecure });
  return {
    cookie: new SessionCookie({ isSecure }),
    service,
    flows,
    identityTransport,
    hosted:
      hosted &&
      credentials &&
      hostedClient &&
      new HostedSignIn({ ...hosted, sessions: service, client: hostedClient, credentials, flows, keys }),
    stop: () => refresher.stop(),
  };
}

function registrationOf({ publicBaseUrl, audiences, isReachable }: HostedConfig): Registration {
  return {
    name: 'Tessera',
    redirect_uris: [publicBaseUrl + callbackPath],
    post_logout_redirect_uris: [publicBaseUrl + signedOutPath],
    backchannel_logout_uri: isReachable ? publicBaseUrl + logoutPath : null,
    scopes: ['openid', 'email', 'profile'],
    audiences,
    require_pkce: true,
    is_first_party: true,
  };
}

export type WebSessions = ReturnType<typeof createWebSessions>;
