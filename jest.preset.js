// Jest's configuration for every package: native ESM, TypeScript through swc, workspace packages from source.
// CI sets the file to which the duration of each test file is appended.
const times = process.env.TEST_TIMES;
const timesReporter = new URL('packages/dev/testing/src/file-times.reporter.js', import.meta.url).pathname;

export default {
  testEnvironment: 'node',
  testEnvironmentOptions: { customExportConditions: ['@tessera/source', 'node', 'node-addons'] },
  extensionsToTreatAsEsm: ['.ts'],
  transform: {
    '^.+\\.ts$': [
      '@swc/jest',
      {
        jsc: { parser: { syntax: 'typescript' }, target: 'es2023' },
        module: { type: 'es6' },
        sourceMaps: 'inline',
      },
    ],
  },
  testMatch: ['<rootDir>/test/**/*.test.ts', '<rootDir>/src/**/*.test.ts'],
  // Only for a test that hangs: a slow machine must not exceed it.
  testTimeout: 300_000,
  reporters: ['default', ...(times === undefined ? [] : [[timesReporter, { file: times }]])],
};
