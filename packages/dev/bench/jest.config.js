import { canRunRedmine } from '@tessera/trackers/redmine';
import preset from '../../../jest.preset.js';

// packages/dev/trackers/install-redmine.sh installs Redmine. CI requires it.
const hasRedmine = canRunRedmine();
if (!hasRedmine && process.env.REQUIRE_REDMINE === '1') {
  throw new Error('REQUIRE_REDMINE is set, but Redmine is not installed');
}

export default {
  ...preset,
  testPathIgnorePatterns: ['/node_modules/', ...(hasRedmine ? [] : ['\\.redmine\\.test\\.ts$'])],
  // Each test file starts processes, which would only compete with those of another file.
  maxWorkers: 1,
  testTimeout: 120_000,
};
