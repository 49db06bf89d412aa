import { availableParallelism } from 'node:os';
import preset from '../../jest.preset.js';

export default {
  ...preset,
  // At least two workers, also on two cores, because these tests mostly wait for processes and timeouts.
  maxWorkers: Math.max(2, availableParallelism() - 1),
  globalSetup: '<rootDir>/test/support/global-setup.ts',
  globalTeardown: '<rootDir>/test/support/global-teardown.ts',
  setupFilesAfterEnv: ['<rootDir>/test/support/response-guard.ts'],
};
