import type { RequestListener } from 'node:http';
import {
  answerUnconditionally,
  apiDocsRouter,
  errorHandler,
  noStore,
  type PreparedDocument,
  refuseUnknownRoute,
  requestContext,
  securityHeaders,
  securityHeaderValues,
  sendPreparedDocument,
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
import { tokenRouter } from './tokens/token.router.ts';
import { translateTokenError } from './tokens/token-error.ts';
import { userInfoRouter } from './userinfo/userinfo.router.ts';

/** The whole HTTP surface, in order. */
export function createApp(dependencies: Dependencies): Express {
  const { config, logger, documents, health } = dependencies;
  const app = express();
  app.disable('x-powered-by');
  answerUnconditionally(app);
  app.set('trust proxy', config.trustProxy);

  app.use(securityHeaders({ hsts: isHttps(dependencies), resourcePolicy: 'cross-origin' }));
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

/**
 * What the server calls: every request gets its id and log line, and the documents that never change are answered
 * at once, since Express alone costs more than they do.
 */
export function createListener(dependencies: Dependencies): RequestListener {
  const app = createApp(dependencies);
  const begin = requestContext(dependencies.logger, dependencies.metrics);
  const headers = securityHeaderValues({ hsts: isHttps(dependencies), resourcePolicy: 'cross-origin' });
  const prepared = new Map<string | undefined, PreparedDocument>([
    [discoveryPath, dependencies.documents.discovery],
    [jwksPath, dependencies.documents.jwks],
  ]);
  return (request, response) => {
    begin(request, response);
    const document = request.method === 'GET' ? prepared.get(request.url) : undefined;
    if (document === undefined) {
      app(request, response);
      return;
    }
    // As Express would say for the log line and the metrics.
    request.route = { path: request.url ?? '' };
    response.setHeaders(headers);
    sendPreparedDocument(request, response, document);
  };
}

function isHttps({ config }: Dependencies): boolean {
  return config.issuer.startsWith('https:');
}
