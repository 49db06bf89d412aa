import { describe } from '@jest/globals';
import { startFakeTracker } from './support/fake-tracker.ts';
import { describeSync } from './support/sync-conformance.ts';

describe('a sync with Gitea', () => {
  describeSync(() => startFakeTracker('gitea'), { hasLabels: true });
});
