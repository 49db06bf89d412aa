import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import type { Integration } from '@tessera/contracts';
import { expectProblem } from '@tessera/testing/problems';
import axios from 'axios';
import { checkOf, integrationsPath } from './support/integrations.ts';
import { createIssue, issuePath } from './support/issues.ts';
import { aPerson, type TestPerson } from './support/people.ts';
import { redmineServer, startRedmineProject } from './support/redmine-project.ts';
import { startTestApp, type TestApp } from './support/test-app.ts';
import type { TestTracker } from './support/test-tracker.ts';
import { trackerEnvironment } from './support/tracker-environment.ts';

describe('GET /api/v1/integrations/ with Redmine', () => {
  let tracker: TestTracker;
  let shared: TestApp;
  let staff: TestPerson;
  const apps: TestApp[] = [];
  beforeAll(async () => {
    shared = await startTestApp();
    staff = await aPerson(shared, { is_staff: true });
    tracker = await startRedmineProject();
  });
  afterEach(async () => {
    await Promise.all(apps.splice(0).map((app) => app.close()));
  });
  afterAll(() => shared.close());

  const start = async (changes: Partial<TestTracker>, environment: Record<string, string> = {}) => {
    const app = await startTestApp(trackerEnvironment({ ...tracker, ...changes }, environment), shared);
    apps.push(app);
    return app;
  };
  const read = async (
    changes: Partial<TestTracker>,
    environment: Record<string, string> = {},
  ): Promise<Integration> => {
    const app = await start(changes, environment);
    return (await staff.on(app).get(integrationsPath).expect(200)).body[0];
  };

  it('reports no problem for a valid configuration and writes nothing to Redmine', async () => {
    const integration = await read({});
    expect(integration.state).toBe('ok');
    expect(integration.checks.map(({ name, status }) => `${name} ${status}`)).toEqual([
      'reachable ok',
      'credentials ok',
      'project ok',
      'permissions ok',
      'statuses ok',
      'priorities ok',
      'type ok',
      'custom_fields ok',
    ]);
    expect(await tracker.issues()).toEqual([]);
  });

  it('advises how to correct a wrong key and a wrong project', async () => {
    expect(checkOf(await read({ token: 'not-the-key' }), 'credentials')).toMatchObject({
      status: 'failed',
      detail: expect.stringContaining('correct TRACKER_TOKEN'),
    });
    expect(checkOf(await read({ project: 'nothing' }), 'project')).toMatchObject({
      status: 'failed',
      detail: expect.stringContaining('correct TRACKER_PROJECT'),
    });
  });

  it('advises how to correct a missing membership', async () => {
    expect(checkOf(await read({ token: redmineServer().reporter.key }), 'permissions')).toMatchObject({
      status: 'failed',
      detail: expect.stringContaining('give it a role'),
    });
  });

  it('advises how to correct an archived project', async () => {
    const { url, admin } = redmineServer();
    const { project } = await startRedmineProject();
    const headers = { 'X-Redmine-API-Key': admin.key };
    await axios.put(`${url}/projects/${project}/archive.json`, {}, { headers, proxy: false });
    const archived = checkOf(await read({ project }), 'permissions');
    expect(archived).toMatchObject({
      status: 'failed',
      detail: expect.stringMatching(/give it a role .* If the project is archived, unarchive it/),
      reason: 'responded 403',
    });
  });

  it('advises how to correct a URL that leads to another server', async () => {
    const integration = await read({ url: `${shared.url}/other` });
    expect(checkOf(integration, 'reachable')).toMatchObject({
      status: 'failed',
      detail: expect.stringContaining('TRACKER_URL does not lead to a Redmine'),
      reason: 'responded 404',
    });
    expect(checkOf(integration, 'credentials').status).toBe('skipped');
  });

  it('lists the permissions that the roles of the account lack', async () => {
    const other = await startRedmineProject('reporter');
    expect(checkOf(await read(other), 'permissions')).toMatchObject({
      status: 'failed',
      detail: 'The account lacks "Edit issues": grant them to one of its roles in the project, "Reporter".',
    });
  });

  it('lists the unknown statuses and priorities, and the existing ones', async () => {
    const integration = await read(
      {},
      { TRACKER_STATUSES: 'IN_PROGRESS=Doing,REOPENED=Again', TRACKER_PRIORITIES: 'LOW=Whenever' },
    );
    expect(checkOf(integration, 'statuses').detail).toMatch(
      /^Redmine has no status for "IN_PROGRESS=Doing": correct TRACKER_STATUSES; its names are "New", "In Progress"/,
    );
    expect(checkOf(integration, 'priorities').detail).toMatch(
      /^Redmine has no priority for "LOW=Whenever": correct TRACKER_PRIORITIES; its names are "Low", "Normal"/,
    );
  });

  it('lists an unknown type and unknown custom fields', async () => {
    const environment = { TRACKER_TYPE: 'Question', TRACKER_CUSTOM_FIELDS: '99=web' };
    const integration = await read({}, environment);
    expect(checkOf(integration, 'type').detail).toMatch(
      /^The project has no tracker "Question": correct TRACKER_TYPE; its trackers are "Bug"/,
    );
    expect(checkOf(integration, 'custom_fields').detail).toMatch(/^The project has no custom field "99"/);
  });

  describe('a project whose type of issues requires a custom field', () => {
    const incident = () => redmineServer().incident;
    beforeAll(async () => {
      const { url, admin } = redmineServer();
      const headers = { 'X-Redmine-API-Key': admin.key };
      const body = { project: { tracker_ids: [1, incident().typeId] } };
      await axios.put(`${url}/projects/${tracker.project}.json`, body, { headers, proxy: false });
    });
    const sync = async (environment: Record<string, string>) => {
      const app = await start({}, environment);
      const issue = await createIssue(staff.on(app));
      const answer = await staff.on(app).post(issuePath(issue, 'sync/'));
      const { body: report } = await staff.on(app).get(issuePath(issue, 'sync/')).expect(200);
      return { answer, report, app };
    };

    it("shows Redmine's error message in the response, in the sync state and in the log", async () => {
      const { answer, report, app } = await sync({ TRACKER_TYPE: 'Incident' });
      expectProblem(answer, 422, 'tracker_rejected');
      expect(answer.body.errors).toEqual([{ field: 'external', message: 'Area cannot be blank' }]);
      expect(report).toMatchObject({ state: 'failed', last_messages: ['Area cannot be blank'] });
      expect(app.log.some((line) => line.includes('Area cannot be blank'))).toBe(true);
    });

    it('is synced with the configured type and field', async () => {
      const field = `${incident().fieldId}=web`;
      const { answer, report } = await sync({ TRACKER_TYPE: 'incident', TRACKER_CUSTOM_FIELDS: field });
      expect(answer.status).toBe(200);
      expect(report).toMatchObject({ state: 'synced', last_messages: [] });
      const { url, admin } = redmineServer();
      const { data } = await axios.get(`${url}/issues/${answer.body.external.id}.json`, {
        headers: { 'X-Redmine-API-Key': admin.key },
        proxy: false,
      });
      expect(data.issue).toMatchObject({
        tracker: { name: 'Incident' },
        custom_fields: [{ name: 'Area', value: 'web' }],
      });
    });

    it('reports a type that does not exist', async () => {
      const { answer } = await sync({ TRACKER_TYPE: 'Question' });
      expectProblem(answer, 422, 'tracker_rejected');
      expect(answer.body.errors[0].message).toBe('Redmine has no tracker "Question": correct TRACKER_TYPE.');
    });
  });
});
