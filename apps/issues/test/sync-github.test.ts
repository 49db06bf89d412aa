import { describe } from '@jest/globals';
import { startFakeTracker } from './support/fake-tracker.ts';
import { describeSync } from './support/sync-conformance.ts';

describe('a sync with GitHub', () => {
  describeSync(() => startFakeTracker('github'), { hasLabels: true });
});
