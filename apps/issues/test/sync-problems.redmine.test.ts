import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { expectProblem } from '@tessera/testing/problems';
import axios from 'axios';
import { createIssue, issuePath } from './support/issues.ts';
import { aPerson, type TestPerson } from './support/people.ts';
import { redmineServer, startRedmineProject } from './support/redmine-project.ts';
import { startTestApp, type TestApp } from './support/test-app.ts';
import type { TestTracker } from './support/test-tracker.ts';
import { trackerEnvironment } from './support/tracker-environment.ts';

describe('a sync that Redmine refuses reports the reason', () => {
  let tracker: TestTracker;
  let app: TestApp;
  let ann: TestPerson;
  beforeAll(async () => {
    tracker = await startRedmineProject();
    app = await startTestApp(trackerEnvironment(tracker));
    ann = await aPerson(app);
  });
  afterAll(() => app.close());

  const syncWith = async (changes: Partial<TestTracker>) => {
    const other = await startTestApp(trackerEnvironment({ ...tracker, ...changes }), app);
    const issue = await createIssue(ann);
    const answer = await ann.on(other).post(issuePath(issue, 'sync/'));
    await other.close();
    return answer;
  };
  const asAdmin = () => {
    const { url, admin } = redmineServer();
    return axios.create({ baseURL: url, headers: { 'X-Redmine-API-Key': admin.key }, proxy: false });
  };

  it('with a wrong key', async () => {
    expectProblem(await syncWith({ token: 'not-the-key' }), 502, 'tracker_auth_failed');
  });

  it('with a wrong project', async () => {
    expectProblem(await syncWith({ project: 'nothing' }), 502, 'project_not_found');
  });

  it('without a membership', async () => {
    expectProblem(await syncWith({ token: redmineServer().reporter.key }), 502, 'not_a_member');
  });

  it('with the issue tracking module disabled', async () => {
    const path = `/projects/${tracker.project}.json`;
    await asAdmin().put(path, { project: { enabled_module_names: ['wiki'] } });
    expectProblem(await syncWith({}), 502, 'issues_disabled');
    await asAdmin().put(path, { project: { enabled_module_names: ['issue_tracking'] } });
    expect((await syncWith({})).status).toBe(200);
  });

  it('with an issue that moved to another project of the account', async () => {
    const issue = await createIssue(ann);
    await ann.post(issuePath(issue, 'sync/')).expect(200);
    const { project } = await startRedmineProject();
    const { external } = (await ann.get(issuePath(issue)).expect(200)).body;
    const { data } = await asAdmin().get(`/projects/${project}.json`);
    const change = { project_id: data.project.id, subject: 'of the other project' };
    await asAdmin().put(`/issues/${external.id}.json`, { issue: change });
    expectProblem(await ann.post(issuePath(issue, 'sync/')), 409, 'remote_moved');
    expect((await ann.get(issuePath(issue)).expect(200)).body.title).toBe(issue.title);
  });
});
