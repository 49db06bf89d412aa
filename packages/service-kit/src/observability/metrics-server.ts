import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Logger } from './logger.ts';
import type { Metrics } from './metrics.ts';

interface MetricsServerOptions {
  metrics: Metrics;
  host: string;
  port: number;
  logger: Logger;
}

/**
 * Serves `GET /metrics` on a separate port, which no ingress publishes, because route names, versions and load are
 * internal. Responds until the process ends, so that a drain can be observed.
 */
export function createMetricsServer(metrics: Metrics, logger: Logger): Server {
  const { registry } = metrics;
  const server = createServer({ requestTimeout: 15_000 }, (request, response) => {
    if (request.method !== 'GET' || request.url?.split('?')[0] !== '/metrics') {
      response.writeHead(404).end();
      return;
    }
    registry.metrics().then(
      (text) => response.writeHead(200, { 'Content-Type': registry.contentType }).end(text),
      (error: unknown) => {
        logger.error({ err: error }, 'metrics cannot be collected');
        response.writeHead(500).end();
      },
    );
  });
  server.maxConnections = 20;
  return server;
}

/** Starts the server, which does not keep the process alive. Rejects if the port is in use. */
export async function serveMetrics({ metrics, host, port, logger }: MetricsServerOptions): Promise<void> {
  const server = createMetricsServer(metrics, logger);
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen({ host, port }, () => {
      server.off('error', reject);
      resolve();
    });
  });
  server.unref();
  metrics.observeProcess();
  const { port: metrics_port } = server.address() as AddressInfo;
  logger.info({ host, metrics_port }, 'serving metrics');
}
