import preset from '../../../jest.preset.js';

export default {
  ...preset,
  globalSetup: '<rootDir>/../stack/test/support/global-setup.ts',
  globalTeardown: '<rootDir>/../stack/test/support/global-teardown.ts',
  maxWorkers: 1,
};
