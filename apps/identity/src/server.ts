import { ConfigError, createLogger, serve } from '@tessera/service-kit';
import { createListener } from './app.ts';
import { type Config, loadConfig } from './config.ts';
import { createDependencies } from './dependencies.ts';

/** Exit code of a process whose configuration cannot be used (sysexits.h, EX_CONFIG). */
const exitConfig = 78;

async function start(config: Config): Promise<void> {
  const logger = createLogger({ service: 'identity', level: config.logLevel });
  const dependencies = await createDependencies(config, logger);
  await serve({
    listener: createListener(dependencies),
    host: config.host,
    port: config.port,
    health: dependencies.health,
    logger,
    shutdownDelayMs: config.shutdownDelayMs,
    shutdownTimeoutMs: 25_000,
    close: dependencies.close,
  });
}

try {
  await start(loadConfig());
} catch (error) {
  const problem = error instanceof ConfigError ? error.message : `identity could not start: ${String(error)}`;
  process.stderr.write(`${problem}\n`);
  process.exitCode = exitConfig;
  process.exit();
}
