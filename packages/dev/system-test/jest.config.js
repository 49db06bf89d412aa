import { canRunPgBouncer } from '@tessera/stack/postgres';
import preset from '../../../jest.preset.js';

// packages/dev/testing/install-proxies.sh installs it. CI runs the script and fails without it.
const hasPgBouncer = canRunPgBouncer();
if (!hasPgBouncer) {
  if (process.env.REQUIRE_PROXIES === '1')
    throw new Error('REQUIRE_PROXIES is set, and there is no PgBouncer');
  process.stderr.write(
    'Skipping *.proxies.test.ts: they need PgBouncer (packages/dev/testing/install-proxies.sh)\n',
  );
}

export default {
  ...preset,
  testPathIgnorePatterns: ['/node_modules/', ...(hasPgBouncer ? [] : ['\\.proxies\\.test\\.ts$'])],
  globalSetup: '<rootDir>/../stack/test/support/global-setup.ts',
  globalTeardown: '<rootDir>/../stack/test/support/global-teardown.ts',
  // Each file starts its own services and load; in parallel they would affect each other's results.
  maxWorkers: 1,
};
