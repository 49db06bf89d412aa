import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type FakeTestTracker, startFakeTracker } from './support/fake-tracker.ts';
import { createIssue } from './support/issues.ts';
import { aPerson, type TestPerson } from './support/people.ts';
import { syncIssue } from './support/sync-conformance.ts';
import { startTestApp, type TestApp } from './support/test-app.ts';
import { trackerEnvironment } from './support/tracker-environment.ts';

// The character has three bytes in UTF-8.
const longText = '長'.repeat(64_000);

describe.each(['github', 'gitlab', 'gitea'] as const)(
  'an issue in %s with more than 5 MB of comments',
  (provider) => {
    let tracker: FakeTestTracker;
    let app: TestApp;
    let ann: TestPerson;
    beforeAll(async () => {
      tracker = await startFakeTracker(provider);
      app = await startTestApp(trackerEnvironment(tracker));
      ann = await aPerson(app);
    });
    afterAll(async () => {
      await app.close();
      await tracker.close();
    });

    it('is synced', async () => {
      const issue = await createIssue(ann);
      const { external } = await syncIssue(ann, issue);
      for (let number = 1; number <= 40; number += 1)
        await tracker.comment(external?.id ?? '', `${number} ${longText}`);
      const synced = await syncIssue(ann, issue);
      expect(synced).toMatchObject({ comments_count: 40, sync: { last_result: { comments_pulled: 40 } } });
      expect((await syncIssue(ann, issue)).sync.last_result).toMatchObject({ comments_pulled: 0 });
    });
  },
);
