import type { Express } from 'express';
import { createLogger, type Logger } from '../observability/logger.ts';
import type { Metrics } from '../observability/metrics.ts';
import { serveMetrics } from '../observability/metrics-server.ts';
import type { Tracing } from '../observability/tracing.ts';
import { type HttpTimeouts, serve } from '../server/index.ts';
import { ConfigError } from './config.ts';
import type { Health } from './health.ts';
import type { TracingConfig } from './service-environment.ts';

/** Exit code for an invalid configuration (sysexits.h, EX_CONFIG). */
const exitConfig = 78;

interface RunnableConfig {
  host: string;
  port: number;
  /** Port of the metrics server; null disables it. */
  metricsPort: number | null;
  logLevel: string;
  /** Null disables tracing. */
  tracing: TracingConfig | null;
  shutdownDelayMs: number;
  shutdownTimeoutMs: number;
  http: HttpTimeouts;
}

interface Runnable {
  health: Health;
  metrics: Metrics;
  endStreams?: () => void;
  close: () => Promise<void>;
}

interface RunOptions<Config extends RunnableConfig, Dependencies extends Runnable> {
  service: string;
  loadConfig: () => Config;
  createDependencies: (config: Config, logger: Logger, tracing: Tracing | undefined) => Promise<Dependencies>;
  createApp: (dependencies: Dependencies) => Express;
}

/**
 * Runs a service: reads its configuration, creates dependencies, listens, drains. Exits with 78 for a bad
 * configuration.
 */
export async function runService<Config extends RunnableConfig, Dependencies extends Runnable>(
  options: RunOptions<Config, Dependencies>,
): Promise<void> {
  const { service, loadConfig, createDependencies, createApp } = options;
  try {
    const config = loadConfig();
    const logger = createLogger({ service, level: config.logLevel });
    const tracing = await createTracing(service, config.tracing);
    const dependencies = await createDependencies(config, logger, tracing);
    const app = createApp(dependencies);
    const { host, metricsPort } = config;
    if (metricsPort !== null) {
      await serveMetrics({ metrics: dependencies.metrics, host, port: metricsPort, logger });
    }
    await serve({
      app,
      listener: tracing?.traceRequests(app) ?? app,
      host,
      port: config.port,
      health: dependencies.health,
      logger,
      shutdownDelayMs: config.shutdownDelayMs,
      shutdownTimeoutMs: config.shutdownTimeoutMs,
      http: config.http,
      endStreams: dependencies.endStreams,
      close: async () => {
        await dependencies.close();
        await tracing?.shutdown();
      },
    });
  } catch (error) {
    const configured = !(error instanceof ConfigError);
    const reason = error instanceof Error ? error.message : String(error);
    process.stderr.write(`${service} could not start: ${reason}\n`);
    process.exit(configured ? 1 : exitConfig);
  }
}

// Loaded on demand, so that the SDK costs no memory and start-up time if tracing is disabled.
async function createTracing(service: string, config: TracingConfig | null): Promise<Tracing | undefined> {
  if (config === null) return undefined;
  const { startTracing } = await import('../observability/start-tracing.ts');
  return startTracing(service, config);
}
