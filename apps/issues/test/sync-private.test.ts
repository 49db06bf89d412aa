import { describe } from '@jest/globals';
import { startFakeTracker } from './support/fake-tracker.ts';
import { describePrivate } from './support/sync-private.ts';

describe('a confidential issue in GitLab', () => {
  describePrivate(async () => {
    const tracker = await startFakeTracker('gitlab');
    const hide = async (id: string, isPrivate: boolean) =>
      tracker.fake.editIssue(Number(id), { confidential: isPrivate });
    return { tracker, hide };
  });
});
