import type { RequestListener } from 'node:http';
import {
  answerDirectly,
  answerUnconditionally,
  apiDocsRouter,
  directDocument,
  errorHandler,
  noStore,
  raiseFailure,
  refuseUnknownRoute,
  requestContext,
  securityHeaders,
} from '@tessera/service-kit';
import express, { type Express } from 'express';
import { describeIdentityApi } from './api-description.ts';
import { auditRouter } from './audit/audit.router.ts';
import type { Dependencies } from './dependencies.ts';
import { discoveryPath, discoveryRouter } from './discovery/discovery.router.ts';
import { identityRouter } from './identities/identity.router.ts';
import { requireServiceToken } from './identities/require-service-token.ts';
import { introspectionRouter } from './introspection/introspection.router.ts';
import { jwksPath, jwksRouter } from './keys/jwks.router.ts';
import { oauthMembers } from './oauth-error.ts';
import { sessionRouter } from './sessions/session.router.ts';
import { directTokenRoutes, tokenRouter } from './tokens/token.router.ts';
import { translateTokenError } from './tokens/token-error.ts';
import { directUserInfo, userInfoRouter } from './userinfo/userinfo.router.ts';

/** The whole HTTP surface, in order. */
export function createApp(dependencies: Dependencies): Express {
  const { config, logger, documents, health } = dependencies;
  const app = express();
  app.disable('x-powered-by');
  answerUnconditionally(app);
  app.set('trust proxy', config.trustProxy);

  app.use(protection(dependencies), raiseFailure);
  app.get('/healthz', (request, response) => health.answerLiveness(request, response));
  app.get('/readyz', (request, response) => health.answerReadiness(request, response));
  app.use(discoveryRouter(documents.discovery));
  app.use(jwksRouter(documents.jwks));
  app.use(tokenRouter({ ...dependencies, corsOrigins: config.corsOrigins }));
  app.use(
    userInfoRouter({
      ...dependencies,
      verifier: dependencies.accessVerifier,
      corsOrigins: config.corsOrigins,
    }),
  );
  app.use(
    apiDocsRouter({
      documentPath: '/openapi.json',
      pagePath: '/docs',
      document: describeIdentityApi(),
      title: 'Tessera identity',
    }),
  );
  app.use('/internal', requireServiceToken(config.serviceTokens, logger), noStore);
  app.use(identityRouter(dependencies.identities));
  app.use(sessionRouter(dependencies.sessions));
  app.use(introspectionRouter(dependencies.introspection));
  app.use(auditRouter(dependencies.audit));

  app.use(refuseUnknownRoute(app));
  app.use(errorHandler({ logger, translate: translateTokenError, extraMembers: oauthMembers }));
  return app;
}

/** What the server calls: every request gets its id and its log line; what is asked most is answered without Express. */
export function createListener(dependencies: Dependencies): RequestListener {
  const { logger, metrics, documents, accessVerifier } = dependencies;
  const { corsOrigins } = dependencies.config;
  const begin = requestContext(logger, metrics);
  const protect = protection(dependencies);
  const answer = answerDirectly(createApp(dependencies), [
    directDocument(jwksPath, documents.jwks, protect),
    directDocument(discoveryPath, documents.discovery, protect),
    directUserInfo({ ...dependencies, verifier: accessVerifier, corsOrigins }, protect),
    ...directTokenRoutes({ ...dependencies, corsOrigins }, protect),
  ]);
  return (request, response) => {
    begin(request, response);
    answer(request, response);
  };
}

function protection({ config }: Dependencies) {
  return securityHeaders({ hsts: config.issuer.startsWith('https:'), resourcePolicy: 'cross-origin' });
}
