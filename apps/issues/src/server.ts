import { runService } from '@tessera/service-kit';
import { createApp } from './app.ts';
import { loadConfig } from './config.ts';
import { createDependencies } from './dependencies.ts';

await runService({
  service: 'issues',
  loadConfig,
  createDependencies: async (...options) => {
    const dependencies = await createDependencies(...options);
    const { integration, logger } = dependencies;
    // Logs what to do. The service also starts without the tracker.
    integration.list().catch((err: unknown) => logger.warn({ err }, 'could not check the external tracker'));
    return dependencies;
  },
  createApp,
});
