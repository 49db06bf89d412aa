import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { type RunningRedmine, startRedmine } from '@tessera/trackers/redmine';
import axios from 'axios';
import { expectAdvice } from './support/first-hour.ts';
import { createIssue, getIssue, issuePath } from './support/issues.ts';
import { aPerson, type TestPerson } from './support/people.ts';
import { startRedmineProject } from './support/redmine-project.ts';
import { syncIssue } from './support/sync-conformance.ts';
import { startTestApp, type TestApp } from './support/test-app.ts';
import type { TestTracker } from './support/test-tracker.ts';
import { trackerEnvironment } from './support/tracker-environment.ts';

describe('the first hour of an operator with Redmine', () => {
  let redmine: RunningRedmine;
  let tracker: TestTracker;
  let shared: TestApp;
  let staff: TestPerson;
  let app: TestApp | undefined;
  beforeAll(async () => {
    // A separate Redmine, because the test disables its REST API.
    redmine = await startRedmine();
    tracker = await startRedmineProject('manager', redmine.server);
    shared = await startTestApp();
    staff = await aPerson(shared, { is_staff: true });
  });
  afterEach(() => app?.close());
  afterAll(async () => {
    await shared.close();
    await redmine.stop();
  });

  const start = async (changes: Partial<TestTracker> = {}, environment: Record<string, string> = {}) => {
    app = await startTestApp(trackerEnvironment({ ...tracker, ...changes }, environment), shared);
    return app;
  };
  const anIssue = (on: TestApp) => createIssue(staff.on(on));

  it('with the REST API switched off', async () => {
    await redmine.switchRestApi(false);
    const service = await start();
    await expectAdvice(service, staff, await anIssue(service), {
      status: 502,
      code: 'rest_api_disabled',
      says: /enable it under Administration/,
      check: { name: 'credentials', says: /enable it under Administration/ },
    });
    await redmine.switchRestApi(true);
  });

  it('with a wrong key', async () => {
    const service = await start({ token: 'not-the-key' });
    await expectAdvice(service, staff, await anIssue(service), {
      status: 502,
      code: 'tracker_auth_failed',
      says: /correct TRACKER_TOKEN/,
      check: { name: 'credentials', says: /correct TRACKER_TOKEN/ },
    });
  });

  it('with a wrong project', async () => {
    const service = await start({ project: 'nothing' });
    await expectAdvice(service, staff, await anIssue(service), {
      status: 502,
      code: 'project_not_found',
      says: /correct TRACKER_PROJECT/,
      check: { name: 'project', says: /correct TRACKER_PROJECT/ },
    });
  });

  it('without a membership in the project', async () => {
    const service = await start({ token: redmine.server.reporter.key });
    await expectAdvice(service, staff, await anIssue(service), {
      status: 502,
      code: 'not_a_member',
      says: /give it a role/,
      check: { name: 'permissions', says: /give it a role/ },
    });
  });

  it('with names of a status and a priority that do not exist', async () => {
    const service = await start(
      {},
      { TRACKER_STATUSES: 'IN_PROGRESS=Doing', TRACKER_PRIORITIES: 'HIGH=Important' },
    );
    const issue = await anIssue(service);
    const client = staff.on(service);
    await syncIssue(client, issue);
    await client.post(issuePath(issue, 'status/'), { status: 'IN_PROGRESS' }).expect(200);
    await client.patch(issuePath(issue), { title: 'Urgent', priority: 'HIGH' }).expect(200);
    await expectAdvice(service, staff, issue, {
      status: 422,
      code: 'tracker_rejected',
      says: /no status \\?"Doing\\?": correct TRACKER_STATUSES.*no priority \\?"Important\\?": correct TRACKER_PRIORITIES/,
      check: { name: 'statuses', says: /no status for \\?"IN_PROGRESS=Doing\\?": correct TRACKER_STATUSES/ },
    });
    // The other fields are synced.
    const { external } = await getIssue(client, issue);
    const [remote] = (await tracker.issues()).filter(({ id }) => id === external?.id);
    expect(remote).toMatchObject({ title: 'Urgent', state: 'New' });
    await service.close();
    expect((await syncIssue(staff.on(await start()), issue)).external?.state).toBe('In Progress');
  });

  it('with a private issue', async () => {
    const service = await start();
    const issue = await anIssue(service);
    const { external } = await syncIssue(staff.on(service), issue);
    const { url, admin } = redmine.server;
    const headers = { 'X-Redmine-API-Key': admin.key };
    const body = { issue: { is_private: true } };
    await axios.put(`${url}/issues/${external?.id}.json`, body, { headers, proxy: false });
    await expectAdvice(service, staff, issue, {
      status: 409,
      code: 'remote_private',
      says: /make it public there/,
    });
  });
});
