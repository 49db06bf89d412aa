// A service of three routes, as a process: what SIGTERM does can only be seen from outside.
import { createLogger, Health, serve } from '../../src/index.ts';

const {
  port = 0,
  shutdownDelayMs = 0,
  shutdownTimeoutMs = 5000,
  closeMs = 0,
} = JSON.parse(process.argv[2] ?? '{}');
const health = new Health({ checks: [] });
const logger = createLogger({ service: 'serve-test', level: 'info' });

await serve({
  listener: (request, response) => {
    if (request.url === '/readyz') void health.answerReadiness(request, response);
    else if (request.url === '/slow') setTimeout(() => response.end('slow but whole'), 700);
    else if (request.url !== '/never') response.end('ok');
  },
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
