import { describe } from '@jest/globals';
import { startRedmineSide } from './support/redmine-side.ts';
import { describeSync } from './support/sync-conformance.ts';

describe('a sync with a real Redmine', () => {
  describeSync(() => startRedmineSide());
});
