import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import type { Integration } from '@tessera/contracts';
import { eventually } from '@tessera/stack/eventually';
import { expectProblem } from '@tessera/testing/problems';
import { type FakeTestTracker, startFakeTracker } from './support/fake-tracker.ts';
import { checkOf, integrationsPath } from './support/integrations.ts';
import { createIssue, issuePath } from './support/issues.ts';
import { startIssuesService } from './support/issues-service.ts';
import { aPerson, type TestPerson } from './support/people.ts';
import { startTestApp, type TestApp } from './support/test-app.ts';
import { trackerEnvironment } from './support/tracker-environment.ts';

describe.each(['github', 'gitlab', 'gitea'] as const)('GET /api/v1/integrations/ with %s', (provider) => {
  let tracker: FakeTestTracker;
  let shared: TestApp;
  let staff: TestPerson;
  const apps: TestApp[] = [];
  beforeAll(async () => {
    shared = await startTestApp();
    staff = await aPerson(shared, { is_staff: true });
  });
  beforeEach(async () => {
    tracker = await startFakeTracker(provider);
  });
  afterEach(async () => {
    await Promise.all(apps.splice(0).map((app) => app.close()));
    await tracker.close();
  });
  afterAll(() => shared.close());

  const start = async (changes: Partial<FakeTestTracker> = {}, environment = {}) => {
    const app = await startTestApp(trackerEnvironment({ ...tracker, ...changes }, environment), shared);
    apps.push(app);
    return app;
  };
  const read = async (changes: Partial<FakeTestTracker> = {}): Promise<Integration> => {
    const app = await start(changes);
    const { body } = await staff.on(app).get(integrationsPath).expect(200);
    expect(body).toHaveLength(1);
    return body[0];
  };

  it('reports no problem for a valid configuration and writes nothing to the tracker', async () => {
    expect(await read()).toMatchObject({
      provider,
      project: tracker.project,
      state: 'ok',
      checks: ['reachable', 'credentials', 'project', 'permissions'].map((name) => ({
        name,
        status: 'ok',
        detail: null,
      })),
    });
    expect(tracker.fake.issues()).toEqual([]);
  });

  it('advises how to correct an unavailable tracker', async () => {
    await tracker.fake.stop();
    const integration = await read();
    expect(integration.state).toBe('failed');
    expect(integration.checks.map(({ status }) => status)).toEqual([
      'failed',
      'skipped',
      'skipped',
      'skipped',
    ]);
    expect(checkOf(integration, 'reachable')).toMatchObject({
      detail: expect.stringContaining('check TRACKER_URL'),
      reason: 'ECONNREFUSED',
    });
  });

  it("advises how to correct a wrong token and shows the tracker's message", async () => {
    const integration = await read({ token: 'not-the-token' });
    expect(checkOf(integration, 'reachable').status).toBe('ok');
    expect(checkOf(integration, 'credentials')).toMatchObject({
      status: 'failed',
      detail:
        "The external tracker rejects this service's credentials: an operator must correct TRACKER_TOKEN, or unlock its account.",
      reason: 'responded 401',
    });
    expect(checkOf(integration, 'credentials').messages).toHaveLength(1);
    expect(JSON.stringify(integration)).not.toContain('not-the-token');
  });

  it('advises how to correct a wrong project', async () => {
    expect(checkOf(await read({ project: 'acme/nothing' }), 'project')).toMatchObject({
      status: 'failed',
      detail: expect.stringContaining('correct TRACKER_PROJECT'),
    });
  });

  it('advises how to correct a URL that leads to another server', async () => {
    const integration = await read({ url: `${shared.url}/other` });
    expect(checkOf(integration, 'reachable')).toMatchObject({
      status: 'failed',
      detail: expect.stringMatching(/^TRACKER_URL does not lead to .*: correct it\.$/),
      reason: 'responded 404',
    });
    expect(checkOf(integration, 'credentials').status).toBe('skipped');
  });

  it('advises how to correct disabled issues', async () => {
    tracker.fake.setProject({ issuesEnabled: false });
    expect(checkOf(await read(), 'project')).toMatchObject({
      status: 'failed',
      detail: expect.stringContaining('enable them there'),
    });
  });

  it('advises how to correct a read-only token', async () => {
    tracker.fake.setProject({ isReadOnly: true });
    const permissions = checkOf(await read(), 'permissions');
    expect(permissions).toMatchObject({
      status: 'failed',
      detail: expect.stringContaining('may not change'),
    });
    expect(permissions.messages).not.toEqual([]);
  });

  it('checks once for many concurrent requests', async () => {
    const app = await start();
    await Promise.all(Array.from({ length: 20 }, () => staff.on(app).get(integrationsPath).expect(200)));
    await staff.on(app).get(integrationsPath).expect(200);
    expect(tracker.fake.requests.length).toBeLessThanOrEqual(4);
  });

  it('logs the advice', async () => {
    const app = await start({ token: 'not-the-token' });
    await staff.on(app).get(integrationsPath).expect(200);
    const [line] = app.log.filter((one) => one.includes('external tracker: '));
    expect(line).toContain('correct TRACKER_TOKEN');
    expect(line).not.toContain('not-the-token');
  });

  it("keeps the tracker's message in the sync state until a sync succeeds", async () => {
    const ann = await aPerson(shared);
    const app = await start();
    const issue = await createIssue(ann.on(app));
    const sync = () => ann.on(app).post(issuePath(issue, 'sync/'));
    const messages = async () =>
      (await ann.on(app).get(issuePath(issue, 'sync/')).expect(200)).body.last_messages;
    expect(await messages()).toEqual([]);
    tracker.fake.fail({ kind: 'status', status: 422, body: { message: 'Area cannot be blank' } });
    expectProblem(await sync(), 422, 'tracker_rejected');
    expect(await messages()).toEqual(['Area cannot be blank']);
    expect(app.log.some((line) => line.includes('Area cannot be blank'))).toBe(true);
    expect((await sync()).status).toBe(200);
    expect(await messages()).toEqual([]);
  });
});

describe('the start of the service', () => {
  it('logs the advice about the tracker', async () => {
    const tracker = await startFakeTracker('gitea');
    const app = await startTestApp();
    const environment = trackerEnvironment({ ...tracker, token: 'not-the-token' });
    const service = await startIssuesService(app, environment);
    await eventually(() => service.log.join('').includes('external tracker: '));
    expect(service.log.join('')).toContain('correct TRACKER_TOKEN');
    expect(service.log.join('')).not.toContain('not-the-token');
    await service.stop();
    await app.close();
    await tracker.close();
  });
});

describe('GET /api/v1/integrations/', () => {
  it('is for staff, and empty without a tracker', async () => {
    const app = await startTestApp();
    expectProblem(await (await aPerson(app)).get(integrationsPath), 403, 'forbidden');
    const staff = await aPerson(app, { is_staff: true });
    expect((await staff.get(integrationsPath).expect(200)).body).toEqual([]);
    await app.close();
  });
});
