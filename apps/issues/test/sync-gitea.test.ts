import { describe, expect, it } from '@jest/globals';
import { startFakeTracker } from './support/fake-tracker.ts';
import { createIssue, issuePath } from './support/issues.ts';
import { aPerson } from './support/people.ts';
import { describeSync, syncIssue } from './support/sync-conformance.ts';
import { startTestApp } from './support/test-app.ts';
import { trackerEnvironment } from './support/tracker-environment.ts';

describe('a sync with Gitea', () => {
  describeSync(() => startFakeTracker('gitea'), { hasLabels: true });
});

it('a label of the organization that owns the repository is used instead of creating one', async () => {
  const tracker = await startFakeTracker('gitea');
  tracker.fake.createLabel('Of the organization', '00ff00', { ofOwner: true });
  const app = await startTestApp(trackerEnvironment(tracker));
  const staff = await aPerson(app, { is_staff: true });
  for (const name of ['of the Organization', 'Ours'])
    await staff.post('/api/v1/labels/', { name }).expect(201);
  const labelsThere = () => tracker.fake.issues().map(({ labels }) => [...labels].sort());
  const issue = await createIssue(staff, { labels: ['Ours', 'of the Organization'] });
  await syncIssue(staff, issue);
  expect(labelsThere()).toEqual([['Of the organization', 'Ours']]);
  const created = tracker.fake.requests.filter(
    ({ method, path }) => method === 'POST' && path === '/api/v1/repos/acme/website/labels',
  );
  expect(created.map(({ body }) => body)).toMatchObject([{ name: 'Ours' }]);
  expect((await syncIssue(staff, issue)).sync.last_result).toMatchObject({ pushed: [], pulled: [] });

  await staff.patch(issuePath(issue), { labels: [] }).expect(200);
  await syncIssue(staff, issue);
  expect(labelsThere()).toEqual([[]]);
  tracker.fake.fail({ kind: 'status', status: 403, on: { path: /\/orgs\// } });
  await staff.post('/api/v1/labels/', { name: 'Without permission' }).expect(201);
  await staff.patch(issuePath(issue), { labels: ['Without permission'] }).expect(200);
  await syncIssue(staff, issue);
  expect(labelsThere()).toEqual([['Without permission']]);
  await app.close();
  await tracker.close();
});
