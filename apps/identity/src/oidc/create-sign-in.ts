import {
  type Access,
  documentRoute,
  type Logger,
  type Metrics,
  prepareDocument,
  type Route,
} from '@tessera/service-kit';
import { ClientRepository } from '../clients/client.repository.ts';
import { ClientService } from '../clients/client.service.ts';
import { ClientDirectory } from '../clients/client-directory.ts';
import type { Config } from '../config.ts';
import type { Database } from '../database.ts';
import { logoutOutcomes } from '../identity-metrics.ts';
import { jwksMaxAgeSeconds } from '../keys/key-schedule.ts';
import type { SigningKeys } from '../keys/signing-keys.ts';
import { assetRoutes } from '../pages/assets.ts';
import { readBranding } from '../pages/branding.ts';
import { IdentityQuota } from '../rate-limit/identity-quota.ts';
import { SignInRepository } from '../sign-in/sign-in.repository.ts';
import type { SignInService } from '../sign-in/sign-in.service.ts';
import { SsoCookie } from '../sso/sso-cookie.ts';
import { SsoSessionRepository } from '../sso/sso-session.repository.ts';
import type { TokenService } from '../tokens/token.service.ts';
import type { TokenIssuer } from '../tokens/token-issuer.ts';
import { UserInfoRepository } from '../userinfo/userinfo.repository.ts';
import { AuthorizationRepository } from './authorization.repository.ts';
import { AuthorizationService } from './authorization.service.ts';
import { AuthorizationCodeRepository } from './authorization-code.repository.ts';
import { authorizeRoutes } from './authorize.handlers.ts';
import { Browser } from './browser.ts';
import { ClientAuthentication } from './client-authentication.ts';
import { ClientTokens } from './client-tokens.ts';
import { oidcIssuer } from './issuer.ts';
import { logoutRoutes } from './logout.handlers.ts';
import { LogoutDeliveries } from './logout-deliveries.ts';
import { MachineRepository } from './machine.repository.ts';
import { oidcDiscoveryDocument } from './oidc-discovery.ts';
import { readClientAccessToken, readIdTokenHint } from './own-jwt.ts';
import { protocolRoutes } from './protocol.handlers.ts';
import { SignOutTickets } from './sign-out-ticket.ts';
import { TokenEndpoint } from './token-endpoint.ts';

interface SignInParts {
  keys: SigningKeys;
  database: Database;
  signIns: SignInService;
  tokens: TokenService;
  issuer: TokenIssuer;
  logger: Logger;
  metrics: Metrics;
}

/** The access rules of the service that its other endpoints have, too. */
export interface SignInAccess {
  anyOrigin: Access<undefined>;
  tokenClients: Access<undefined>;
  bearers: Access<undefined>;
}

const refusalsPerMinute = 6;

/** Creates the sign-in for applications. */
export async function createSignIn(config: Config, parts: SignInParts) {
  const { keys, database, signIns, tokens, issuer, logger, metrics } = parts;
  const oidc = oidcIssuer(config.issuer, config.audience);
  const branding = await readBranding(config.branding, oidc.basePath);
  const browser = new Browser(branding);
  const clientRepository = new ClientRepository(database);
  const directory = new ClientDirectory(clientRepository);
  const sessions = new SsoSessionRepository(database, config.tokens);
  const cookie = new SsoCookie(config.issuer);
  const readHint = (token: string) => readIdTokenHint(token, { issuer: oidc.issuer, keys: keys.accepted });
  const deliveries = new LogoutDeliveries({
    database,
    issuer,
    oidc,
    logger,
    onOutcome: logoutOutcomes(metrics),
  });
  const authorizations = new AuthorizationService({
    directory,
    clients: clientRepository,
    repository: new AuthorizationRepository(database, new SignInRepository(database), config.tokens),
    signIns,
    refusals: new IdentityQuota('refusals', refusalsPerMinute),
    readHint,
    onEnded: () => deliveries.wake(),
  });
  const endpoint = new TokenEndpoint({
    ...config.tokens,
    codes: new AuthorizationCodeRepository(database),
    machines: new MachineRepository(database),
    tokens,
    clientTokens: new ClientTokens({ issuer, oidc }),
    issuer,
    exchanges: new IdentityQuota('code exchanges', config.rateLimits.tokensPerMinute),
    machineTokens: new IdentityQuota('tokens', config.rateLimits.tokensPerMinute),
  });
  const routes = ({ anyOrigin, tokenClients, bearers }: SignInAccess): Route[] => {
    const metadata = prepareDocument(oidcDiscoveryDocument(oidc, [...branding.messages.keys()]), {
      'Cache-Control': `public, max-age=${jwksMaxAgeSeconds}`,
      'Access-Control-Allow-Origin': '*',
    });
    return [
      ...protocolRoutes(
        {
          authentication: new ClientAuthentication({ database, directory, issuer: oidc.issuer }),
          endpoint,
          tokens,
          directory,
          users: new UserInfoRepository(database),
          reads: new IdentityQuota('reads', config.rateLimits.readsPerMinute),
          sessionsValidAfter: config.tokens.sessionsValidAfter,
          readAccessToken: (token, realm) =>
            readClientAccessToken(token, { issuer: config.issuer, keys: keys.published, realm }),
        },
        { tokenClients, bearers },
      ),
      ...authorizeRoutes({
        authorizations,
        sessions,
        cookie,
        browser,
        oidc,
        passwordMinLength: config.passwords.minLength,
      }),
      ...logoutRoutes({
        directory,
        sessions,
        cookie,
        browser,
        oidc,
        readHint,
        tickets: new SignOutTickets(config.serviceTokens.current),
        onEnded: () => deliveries.wake(),
      }),
      ...assetRoutes(branding),
      documentRoute({ method: 'GET', path: '/oidc/.well-known/openid-configuration' }, metadata, anyOrigin),
      documentRoute(
        { method: 'GET', path: '/.well-known/oauth-authorization-server/oidc' },
        metadata,
        anyOrigin,
      ),
    ];
  };
  deliveries.start();
  return {
    clients: new ClientService({
      repository: clientRepository,
      directory,
      audience: config.audience,
      issuer: config.issuer,
    }),
    browser,
    deliveries,
    routes,
    close: () => deliveries.stop(),
  };
}
