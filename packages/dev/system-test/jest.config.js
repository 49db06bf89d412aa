import preset from '../../../jest.preset.js';

export default {
  ...preset,
  globalSetup: '<rootDir>/test/support/global-setup.ts',
  globalTeardown: '<rootDir>/test/support/global-teardown.ts',
  // Each file brings services and a load of its own: side by side they would only measure each other.
  maxWorkers: 1,
};
