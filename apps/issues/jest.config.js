import { spawnSync } from 'node:child_process';
import { availableParallelism } from 'node:os';
import { canRunPgBouncer } from '@tessera/stack/postgres';
import { canRunRedmine } from '@tessera/trackers/redmine';
import preset from '../../jest.preset.js';

// packages/dev/trackers/install-redmine.sh installs Redmine. CI runs the script and fails without Redmine.
const hasRedmine = canRunRedmine();
if (!hasRedmine) {
  if (process.env.REQUIRE_REDMINE === '1') throw new Error('REQUIRE_REDMINE is set, and there is no Redmine');
  process.stderr.write(
    'Skipping *.redmine.test.ts: they need root and a Redmine (packages/dev/trackers/install-redmine.sh)\n',
  );
}

// packages/dev/testing/install-proxies.sh installs both. CI runs the script and fails without them.
const hasProxies = spawnSync('nginx', ['-V']).error === undefined && canRunPgBouncer();
if (!hasProxies) {
  if (process.env.REQUIRE_PROXIES === '1')
    throw new Error('REQUIRE_PROXIES is set, and there is no nginx or no PgBouncer');
  process.stderr.write(
    'Skipping *.proxies.test.ts: they need nginx and PgBouncer (packages/dev/testing/install-proxies.sh)\n',
  );
}

export default {
  ...preset,
  // At least two workers, also on two cores, because these tests mostly wait for processes, Redmine and timeouts.
  maxWorkers: Math.max(2, availableParallelism() - 1),
  // Jest keeps the modules of each file that a worker has run, about 40 MB. Both workers grew to 3 GB.
  workerIdleMemoryLimit: '1GB',
  testPathIgnorePatterns: [
    '/node_modules/',
    ...(hasRedmine ? [] : ['\\.redmine\\.test\\.ts$']),
    ...(hasProxies ? [] : ['\\.proxies\\.test\\.ts$']),
  ],
  globalSetup: '<rootDir>/test/support/global-setup.ts',
  globalTeardown: '<rootDir>/test/support/global-teardown.ts',
  setupFilesAfterEnv: ['<rootDir>/test/support/response-guard.ts'],
};
