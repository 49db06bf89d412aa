// A service in a separate process, to test the effect of SIGTERM.
import express from 'express';
import { createLogger, Health, sendJson, serve } from '../../src/index.ts';

const {
  port = 0,
  shutdownDelayMs = 0,
  shutdownTimeoutMs = 5000,
  closeMs = 0,
} = JSON.parse(process.argv[2] ?? '{}');
const health = new Health({ checks: [] });
const logger = createLogger({ service: 'serve-test', level: 'info' });

const app = express();
app.get('/readyz', async (_request, response) => sendJson(response, await health.readiness()));
app.get('/slow', (_request, response) => void setTimeout(() => response.end('slow but whole'), 700));
app.get('/never', () => undefined);
app.get('/', (_request, response) => void response.end('ok'));

await serve({
  app,
  host: '127.0.0.1',
  port,
  health,
  logger,
  shutdownDelayMs,
  shutdownTimeoutMs,
  close: async () => {
    if (closeMs < 0) throw new Error('the pool did not close');
    await new Promise((resolve) => setTimeout(resolve, closeMs));
    logger.info('released');
  },
});
