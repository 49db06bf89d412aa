import express, { type Express } from 'express';
import { errorHandler, type Logger, refuseUnknownRoute, requestContext } from '../../src/index.ts';
import { keepLogLines } from './log-lines.ts';

/** The chain that both services have, around the routes of a test. */
export function buildApp(addRoutes: (app: Express) => void, logger: Logger = keepLogLines().logger): Express {
  const app = express();
  const begin = requestContext(logger);
  app.use((request, response, next) => {
    begin(request, response);
    next();
  });
  addRoutes(app);
  app.use(refuseUnknownRoute(app));
  app.use(errorHandler({ logger }));
  return app;
}
