import { setFlagsFromString } from 'node:v8';

// Jest's configuration for every package: native ESM, TypeScript through swc, workspace packages from source.
// CI sets the file to which the duration of each test file is appended.
const times = process.env.TEST_TIMES;
const timesReporter = new URL('packages/dev/testing/src/file-times.reporter.js', import.meta.url).pathname;

// V8 optimises a function after it has executed 68 kB of its bytecode, which costs more than it saves in processes that end after
// seconds, and in modules that each test file loads again.
const lateOptimisation = '--interrupt-budget=1000000';
setFlagsFromString(lateOptimisation);
// For Jest's workers.
process.execArgv.push(lateOptimisation);
// For the services that tests start (`testNodeArguments` of @tessera/stack).
process.env.TEST_NODE_ARGUMENTS = lateOptimisation;

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
