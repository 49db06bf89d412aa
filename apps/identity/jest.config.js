import { availableParallelism } from 'node:os';
import preset from '../../jest.preset.js';

export default {
  ...preset,
  // Two also on two cores: these tests wait for processes and for times.
  maxWorkers: Math.max(2, availableParallelism() - 1),
  globalSetup: '<rootDir>/test/support/global-setup.ts',
  globalTeardown: '<rootDir>/test/support/global-teardown.ts',
  setupFilesAfterEnv: ['<rootDir>/test/support/leak-guard.ts'],
};
