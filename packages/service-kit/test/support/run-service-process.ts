// A whole service of one route, started as both services are.
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
  createListener: () => (_request, response) => response.end('ok'),
});
