import { describe } from '@jest/globals';
import { startStandInSide } from './support/stand-in-side.ts';
import { describeSync } from './support/sync-conformance.ts';

describe('a sync with GitHub', () => {
  describeSync(() => startStandInSide('github'));
});
