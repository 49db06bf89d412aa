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
    // Logs how to correct the configuration. The service also starts if the tracker is unavailable.
    integration.list().catch((err: unknown) => logger.warn({ err }, 'could not check the external tracker'));
    return dependencies;
  },
  createApp,
});
