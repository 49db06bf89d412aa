import preset from '../../../jest.preset.js';
import { findHelm } from './src/helm/helm.ts';

// An npm package has Helm for Linux on x64, where CI runs.
const hasHelm = findHelm() !== undefined;
if (!hasHelm) process.stderr.write('Skipping helm.test.ts: it needs Helm\n');

export default {
  ...preset,
  testPathIgnorePatterns: ['/node_modules/', ...(hasHelm ? [] : ['/helm\\.test\\.ts$'])],
};
