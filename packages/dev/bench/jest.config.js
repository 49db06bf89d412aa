import { canRunRedmine } from '@tessera/trackers/redmine';
import preset from '../../../jest.preset.js';

// packages/dev/trackers/install-redmine.sh installs it; CI does so, and refuses to go on without.
const hasRedmine = canRunRedmine();
if (!hasRedmine && process.env.REQUIRE_REDMINE === '1') {
  throw new Error('REQUIRE_REDMINE is set, and there is no Redmine');
}

export default {
  ...preset,
  testPathIgnorePatterns: ['/node_modules/', ...(hasRedmine ? [] : ['\\.redmine\\.test\\.ts$'])],
  // Each file brings processes of its own: side by side they would only wait for each other.
  maxWorkers: 1,
  testTimeout: 120_000,
};
