import { afterAll, afterEach, beforeAll, beforeEach, describe, it } from '@jest/globals';
import type { TrackerProvider } from '@tessera/contracts';
import { type FakeTestTracker, startFakeTracker } from './support/fake-tracker.ts';
import { expectAdvice } from './support/first-hour.ts';
import { createIssue, issuePath } from './support/issues.ts';
import { aPerson, type TestPerson } from './support/people.ts';
import { syncIssue } from './support/sync-conformance.ts';
import { startTestApp, type TestApp } from './support/test-app.ts';
import { trackerEnvironment } from './support/tracker-environment.ts';

const providers = ['github', 'gitlab', 'gitea'] as const satisfies TrackerProvider[];

describe.each(providers)('the first hour of an operator with %s', (provider) => {
  let shared: TestApp;
  let staff: TestPerson;
  let tracker: FakeTestTracker;
  let app: TestApp | undefined;
  beforeAll(async () => {
    shared = await startTestApp();
    staff = await aPerson(shared, { is_staff: true });
  });
  beforeEach(async () => {
    tracker = await startFakeTracker(provider);
  });
  afterEach(async () => {
    await app?.close();
    await tracker.close();
  });
  afterAll(() => shared.close());

  const start = async (changes: Partial<FakeTestTracker> = {}) => {
    app = await startTestApp(trackerEnvironment({ ...tracker, ...changes }), shared);
    return app;
  };
  const anIssue = (on: TestApp) => createIssue(staff.on(on));

  it('with a wrong token', async () => {
    const service = await start({ token: 'not-the-token' });
    await expectAdvice(service, staff, await anIssue(service), {
      status: 502,
      code: 'tracker_auth_failed',
      says: /correct TRACKER_TOKEN/,
      check: { name: 'credentials', says: /correct TRACKER_TOKEN/ },
    });
  });

  it('with a wrong project', async () => {
    const service = await start({ project: 'acme/nothing' });
    await expectAdvice(service, staff, await anIssue(service), {
      status: 502,
      code: 'project_not_found',
      says: /correct TRACKER_PROJECT/,
      check: { name: 'project', says: /correct TRACKER_PROJECT/ },
    });
  });

  it('with a token that may only read', async () => {
    const service = await start();
    tracker.fake.setProject({ isReadOnly: true });
    await expectAdvice(service, staff, await anIssue(service), {
      status: 502,
      code: 'not_a_member',
      says: /give it a role/,
      check: { name: 'permissions', says: /give them the permissions/ },
    });
  });

  it('with issues switched off', async () => {
    const service = await start();
    tracker.fake.setProject({ issuesEnabled: false });
    await expectAdvice(service, staff, await anIssue(service), {
      status: 502,
      code: 'issues_disabled',
      says: /enable them there/,
      check: { name: 'project', says: /enable them there/ },
    });
  });

  if (provider === 'gitlab') {
    it('with a confidential issue', async () => {
      const service = await start();
      const issue = await anIssue(service);
      const { external } = await syncIssue(staff.on(service), issue);
      tracker.fake.editIssue(Number(external?.id), { confidential: true });
      await expectAdvice(service, staff, issue, {
        status: 409,
        code: 'remote_private',
        says: /make it public there/,
      });
    });
  }

  if (provider === 'github') {
    it('with a locked issue', async () => {
      const service = await start();
      const issue = await anIssue(service);
      const { external } = await syncIssue(staff.on(service), issue);
      tracker.fake.editIssue(Number(external?.id), { locked: true });
      await staff.on(service).post(issuePath(issue, 'comments/'), { body: 'A word' }).expect(201);
      await expectAdvice(service, staff, issue, {
        status: 409,
        code: 'remote_locked',
        says: /unlock it there/,
      });
    });
  }
});
