import type { IncomingMessage } from 'node:http';
import {
  type AccessTokenClaims,
  changeIdentityPassword,
  createClient,
  createIdentity,
  deleteIdentity,
  disableClient,
  findIdentityByEmail,
  findIdentityBySso,
  getClient,
  getDiscoveryDocument,
  getIdentity,
  getKeySet,
  getUserInfo,
  introspectToken,
  listAuditEvents,
  listClients,
  listIdentities,
  listIdentityEvents,
  listSessions,
  postUserInfo,
  refreshTokens,
  revokeSession,
  revokeSessions,
  revokeToken,
  rotateClientSecret,
  signIn,
  updateClient,
  updateIdentity,
} from '@tessera/contracts';
import { verifyRequest } from '@tessera/jwt-verify';
import {
  type Access,
  type App,
  apiDocsRoutes,
  createApp as createExpressApp,
  documentRoute,
  everyone,
  guard,
  type Handler,
  healthRoutes,
  type Route,
  route,
} from '@tessera/service-kit';
import { auditHandlers } from './audit/audit.handlers.ts';
import { clientHandlers } from './clients/client.handlers.ts';
import type { Dependencies } from './dependencies.ts';
import { eventHandlers } from './events/event.handlers.ts';
import { identityHandlers } from './identities/identity.handlers.ts';
import { serviceTokenAccess } from './identities/service-token-access.ts';
import { introspectionHandlers } from './introspection/introspection.handlers.ts';
import { oauthMembers, translateBearerError } from './oauth.ts';
import { passwordChangeHandlers } from './passwords/password-change.handlers.ts';
import { sessionHandlers } from './sessions/session.handlers.ts';
import { readGrant, readPasswordGrant, tokenEndpoint, tokenHandlers } from './sign-in/token.handlers.ts';
import { realm } from './userinfo/userinfo.service.ts';

export function createApp(dependencies: Dependencies): App {
  const { config, logger, metrics, signIn } = dependencies;
  return createExpressApp({
    logger,
    metrics,
    trustProxy: config.trustProxy,
    publicUrl: config.issuer,
    security: { hsts: config.issuer.startsWith('https:'), resourcePolicy: 'cross-origin' },
    translate: translateBearerError,
    extraMembers: oauthMembers,
    sendErrorPage:
      signIn && ((problem, request, response) => signIn.browser.sendError(problem, request, response)),
    guards: { '/internal': guard({ access: accessPolicies(dependencies).backends }) },
    routes: createRoutes(dependencies),
  });
}

/** Returns all routes with their access rules. Express tries routes in order, so frequent routes come first. */
export function createRoutes(dependencies: Dependencies): Route[] {
  const { config, documents, health } = dependencies;
  const token = tokenHandlers(dependencies);
  const userInfo: Handler<typeof getUserInfo, AccessTokenClaims> = async ({ actor }) => ({
    status: 200,
    body: await dependencies.userInfo.get(actor),
  });
  const identity = identityHandlers(dependencies.identities);
  const password = passwordChangeHandlers(dependencies.passwordChanges);
  const session = sessionHandlers(dependencies.sessions);
  const introspection = introspectionHandlers(dependencies.introspection);
  const audit = auditHandlers(dependencies.audit);
  const events = eventHandlers(dependencies.events, dependencies.deletedKeys);

  const { anyOrigin, tokenClients, bearer, backends } = accessPolicies(dependencies);
  const reads = { request: ({ sub }: AccessTokenClaims) => dependencies.reads.take(sub) };
  const grantBody = { limitBytes: 16 * 1024 };
  const identityBody = { limitBytes: 64 * 1024 };

  return [
    documentRoute(getKeySet, documents.jwks, anyOrigin),
    route(getUserInfo, { access: bearer, limit: reads }, userInfo),
    route(refreshTokens, { access: tokenClients, body: grantBody }, token.refresh),
    config.tokens.refreshAtTokenEndpoint
      ? route(
          tokenEndpoint,
          { access: tokenClients, body: { ...grantBody, from: readGrant } },
          token.exchange,
        )
      : route(signIn, { access: tokenClients, body: { ...grantBody, from: readPasswordGrant } }, token.issue),
    route(revokeToken, { access: tokenClients, body: grantBody }, token.revoke),
    route(postUserInfo, { access: bearer, limit: reads }, userInfo),
    documentRoute(getDiscoveryDocument, documents.discovery, anyOrigin),

    route(introspectToken, { access: backends, body: grantBody }, introspection.introspect),
    route(findIdentityByEmail, { access: backends }, identity.findByEmail),
    route(findIdentityBySso, { access: backends }, identity.findBySso),
    route(getIdentity, { access: backends }, identity.get),
    route(listIdentities, { access: backends }, identity.list),
    route(createIdentity, { access: backends, body: identityBody }, identity.create),
    route(updateIdentity, { access: backends, body: identityBody }, identity.update),
    route(changeIdentityPassword, { access: backends, body: identityBody }, password.change),
    route(deleteIdentity, { access: backends }, identity.remove),
    route(listSessions, { access: backends }, session.list),
    route(revokeSessions, { access: backends }, session.revokeAll),
    route(revokeSession, { access: backends }, session.revoke),
    route(listAuditEvents, { access: backends }, audit.list),
    route(listIdentityEvents, { access: backends }, events.list),
    ...signInRoutes(dependencies),

    ...healthRoutes(health),
    ...apiDocsRoutes({
      api: 'identity',
      documentPath: '/api/openapi.json',
      pagePath: '/api/docs/',
      earlier: { documentPath: '/openapi.json', pagePath: '/docs' },
    }),
  ];
}

/** The routes of the sign-in for applications, and of the clients; none if it is off. */
function signInRoutes(dependencies: Dependencies): Route[] {
  const { signIn } = dependencies;
  if (signIn === undefined) return [];
  const { anyOrigin, tokenClients, bearer, backends } = accessPolicies(dependencies);
  const client = clientHandlers(signIn.clients);
  const body = { limitBytes: 64 * 1024 };
  return [
    ...signIn.routes({ anyOrigin, tokenClients, bearers: { ...everyone, crossOrigin: bearer.crossOrigin } }),
    route(createClient, { access: backends, body }, client.create),
    route(listClients, { access: backends }, client.list),
    route(getClient, { access: backends }, client.get),
    route(updateClient, { access: backends, body }, client.update),
    route(rotateClientSecret, { access: backends }, client.rotate),
    route(disableClient, { access: backends }, client.disable),
  ];
}

function accessPolicies({ config, logger, accessVerifier }: Dependencies) {
  const origins = config.corsOrigins;
  const exposedHeaders = ['Retry-After', 'X-Request-Id', 'RateLimit', 'RateLimit-Policy'];
  return {
    /** Public; browsers may read responses from any origin. */
    anyOrigin: { ...everyone, crossOrigin: { origins: '*' as const, methods: ['GET', 'HEAD'] } },
    /** The body carries the credential. RFC 6749 5.1 forbids caching. */
    tokenClients: {
      ...everyone,
      crossOrigin: { origins, methods: ['POST'], exposedHeaders },
      headers: { 'Cache-Control': 'no-store', Pragma: 'no-cache' },
    },
    /** Requires an access token. */
    bearer: {
      identify: (request: IncomingMessage) => verifyRequest(request, accessVerifier, { realm }),
      crossOrigin: { origins, methods: ['GET', 'POST'], exposedHeaders },
    } satisfies Access<AccessTokenClaims>,
    /** Requires the service token. */
    backends: serviceTokenAccess(config.serviceTokens, logger),
  };
}
