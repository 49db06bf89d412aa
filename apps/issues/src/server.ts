import { runService } from '@tessera/service-kit';
import { createApp } from './app.ts';
import { loadConfig } from './config.ts';
import { createDependencies } from './dependencies.ts';

await runService({
  service: 'issues',
  loadConfig,
  createDependencies: async (...options) => {
    const dependencies = await createDependencies(...options);
    const { integration, logger, projects } = dependencies;
    // Logs how to correct the configuration. The service also starts if the tracker is unavailable.
    integration.list().catch((err: unknown) => logger.warn({ err }, 'could not check the external tracker'));
    projects
      .keepPrefix()
      .then((isOwn) => {
        if (!isOwn) logger.error('ISSUE_KEY_PREFIX is the key of another project: choose another prefix');
      })
      // The first creation of a project keeps it then.
      .catch((err: unknown) => logger.warn({ err }, 'could not keep the prefix of keys'));
    return dependencies;
  },
  createApp,
});
