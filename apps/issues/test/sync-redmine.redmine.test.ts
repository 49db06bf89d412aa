import { describe } from '@jest/globals';
import { startRedmineProject } from './support/redmine-project.ts';
import { describeSync } from './support/sync-conformance.ts';

describe('a sync with a real Redmine', () => {
  describeSync(() => startRedmineProject());
});
