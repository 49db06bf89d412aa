import type { RequestListener } from 'node:http';
import { BearerError } from '@tessera/jwt-verify';
import {
  answerDirectly,
  answerUnconditionally,
  apiDocsRouter,
  before,
  type ConnectHandler,
  errorHandler,
  noStore,
  ProblemError,
  raiseFailure,
  refuseUnknownRoute,
  requestContext,
  securityHeaders,
} from '@tessera/service-kit';
import cors from 'cors';
import express, { type Express } from 'express';
import { activityRouter } from './activity/activity.router.ts';
import { describeIssuesApi } from './api-description.ts';
import { authenticate } from './authentication/authenticate.ts';
import { commentRouter } from './comments/comment.router.ts';
import type { Dependencies } from './dependencies.ts';
import { issueRouter } from './issues/issue.router.ts';
import { linkRouter } from './links/link.router.ts';
import { limitRate } from './rate-limit/limit-rate.ts';
import { syncRouter } from './tracker-sync/sync.router.ts';
import { webhookRouter } from './tracker-sync/webhook.router.ts';
import { userRouter } from './users/user.router.ts';

/** The whole HTTP surface, in order. */
export function createApp(dependencies: Dependencies): Express {
  const { config, logger, health } = dependencies;
  const app = express();
  app.disable('x-powered-by');
  answerUnconditionally(app);
  app.set('trust proxy', config.trustProxy);

  app.use(protection(dependencies), raiseFailure);
  app.get('/healthz', (request, response) => health.answerLiveness(request, response));
  app.get('/readyz', (request, response) => health.answerReadiness(request, response));
  app.use(
    apiDocsRouter({
      documentPath: '/api/openapi.json',
      pagePath: '/api/docs/',
      document: describeIssuesApi(),
      title: 'Tessera issues',
    }),
  );
  app.use('/api/v1', crossOrigin(config.corsOrigins), noStore);
  app.use(webhookRouter(dependencies));
  app.use('/api/v1', before(...admission(dependencies)));
  app.use(issueRouter(dependencies));
  app.use(commentRouter(dependencies));
  app.use(linkRouter(dependencies));
  app.use(activityRouter(dependencies));
  app.use(syncRouter(dependencies));
  app.use(userRouter({ ...dependencies, publicBaseUrl: config.publicBaseUrl }));

  app.use(refuseUnknownRoute(app));
  app.use(errorHandler({ logger, translate: translateBearerError }));
  return app;
}

/** What the server calls: every request gets its id and its log line; what is asked most is answered without Express. */
export function createListener(dependencies: Dependencies): RequestListener {
  const { logger, metrics, endpoints, config } = dependencies;
  const begin = requestContext(logger, metrics);
  const [recognise, limit] = admission(dependencies);
  const answer = answerDirectly(
    createApp(dependencies),
    endpoints.directRoutes(
      [protection(dependencies), crossOrigin(config.corsOrigins)],
      async (request, response) => {
        await recognise(request, response);
        await limit(request, response);
      },
    ),
  );
  return (request, response) => {
    begin(request, response);
    answer(request, response);
  };
}

function protection({ config }: Dependencies) {
  return securityHeaders({ hsts: config.publicBaseUrl.startsWith('https:') });
}

// Who asks, and how often.
function admission(dependencies: Dependencies) {
  const { requireVerified } = dependencies.config;
  return [authenticate({ ...dependencies, requireVerified }), limitRate(dependencies.rateLimits)] as const;
}

// Bearer tokens are no ambient credential; still, a browser of another origin is let in only by name. A preflight is
// told from the OPTIONS that asks for metadata by its own header.
function crossOrigin(origins: string[]): ConnectHandler {
  const allow = cors({
    origin: origins,
    methods: ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE'],
    exposedHeaders: [
      'Link',
      'X-Total-Count',
      'ETag',
      'Location',
      'Retry-After',
      'X-Request-Id',
      'Idempotency-Replayed',
      'RateLimit',
      'RateLimit-Policy',
    ],
    maxAge: 600,
  });
  return (request, response, next) => {
    const isMetadata =
      request.method === 'OPTIONS' && request.headers['access-control-request-method'] === undefined;
    if (origins.length === 0 || isMetadata) next();
    else allow(request, response, next);
  };
}

function translateBearerError(error: unknown): ProblemError | undefined {
  if (!(error instanceof BearerError)) return undefined;
  const { status, code, headers } = error;
  return new ProblemError({ status, code, detail: error.message, headers, cause: error });
}
