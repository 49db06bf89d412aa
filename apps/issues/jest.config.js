import preset from '../../jest.preset.js';

export default {
  ...preset,
  globalSetup: '<rootDir>/test/support/global-setup.ts',
  globalTeardown: '<rootDir>/test/support/global-teardown.ts',
  setupFilesAfterEnv: ['<rootDir>/test/support/leak-guard.ts'],
};
