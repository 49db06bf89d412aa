import { canRunRedmine } from '@tessera/trackers/redmine';
import preset from '../../../jest.preset.js';

// packages/dev/trackers/install-redmine.sh installs Redmine. CI runs the script and fails without Redmine.
const hasRedmine = canRunRedmine();
if (!hasRedmine && process.env.REQUIRE_REDMINE === '1') {
  throw new Error('REQUIRE_REDMINE is set, and there is no Redmine');
}

export default {
  ...preset,
  testPathIgnorePatterns: ['/node_modules/', ...(hasRedmine ? [] : ['\\.redmine\\.test\\.ts$'])],
  // Each file starts its own processes, which would compete for the cores if several files ran in parallel.
  maxWorkers: 1,
  testTimeout: 120_000,
};
