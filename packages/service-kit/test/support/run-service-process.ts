// A service with one route, started as in both services.
import express from 'express';
import { z } from 'zod';
import { commonConfig, Health, Metrics, readConfig, runService, serviceVariables } from '../../src/index.ts';

await runService({
  service: 'run-test',
  loadConfig: () => commonConfig(readConfig(z.object(serviceVariables({ defaultPort: 0 })), process.env)),
  createDependencies: async (config) => {
    if (config.audience === 'fail') throw new Error('no keys');
    return {
      health: new Health({ checks: [] }),
      metrics: new Metrics('run-test'),
      close: async () => undefined,
    };
  },
  createApp: () => {
    const app = express();
    app.use((_request, response) => void response.end('ok'));
    return app;
  },
});
