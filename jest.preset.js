// Jest's configuration for every package: native ESM, TypeScript through swc, workspace packages from source.
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
  testTimeout: 30_000,
};
