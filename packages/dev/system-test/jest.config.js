import preset from '../../../jest.preset.js';

export default {
  ...preset,
  globalSetup: '<rootDir>/test/support/global-setup.ts',
  globalTeardown: '<rootDir>/test/support/global-teardown.ts',
  // Each file starts its own services and load; in parallel they would affect each other's results.
  maxWorkers: 1,
};
