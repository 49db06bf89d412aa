// A service that reads large bodies, in a separate process to measure its memory.
import { z } from 'zod';
import { createApp, createLogger, everyone, type Handler, Health, route, serve } from '../../src/index.ts';
import { testOperation } from './test-app.ts';

const logger = createLogger({ service: 'bodies-test', level: 'info' });
const operation = testOperation({ path: '/bodies', method: 'POST', body: { schema: z.string() } });
const handler: Handler<typeof operation> = ({ body }) => ({ status: 200, body: body.length });
const health = new Health({ checks: [] });

await serve({
  app: createApp({
    routes: [route(operation, { access: everyone, body: { limitBytes: 1024 * 1024 } }, handler)],
    logger,
    trustProxy: false,
    security: { hsts: false },
  }),
  host: '127.0.0.1',
  port: 0,
  health,
  logger,
  shutdownDelayMs: 0,
  shutdownTimeoutMs: 5000,
  close: async () => undefined,
});
