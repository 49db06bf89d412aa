import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { type Issue, issueSchema } from '@tessera/contracts';
import { eventually } from '@tessera/stack/eventually';
import { FakeIdentity } from './support/fake-identity.ts';
import { type FakeTestTracker, startFakeTracker } from './support/fake-tracker.ts';
import { aPerson, type TestPerson } from './support/people.ts';
import { startTestApp, type TestApp } from './support/test-app.ts';
import { trackerEnvironment } from './support/tracker-environment.ts';

let tracker: FakeTestTracker;
let identity: FakeIdentity;
const apps: TestApp[] = [];
beforeAll(async () => {
  identity = await FakeIdentity.start();
  tracker = await startFakeTracker('gitea');
});
afterEach(async () => {
  tracker.fake.clearFaults();
  await Promise.all(apps.splice(0).map((app) => app.close()));
});
afterAll(async () => {
  await Promise.all([identity.stop(), tracker.close()]);
});

async function start(environment: Record<string, string> = {}, databaseUrl?: string) {
  const workers = { SYNC_WORKERS: '2', SYNC_POLL_MS: '100' };
  const variables = trackerEnvironment(tracker, { ...workers, ...environment });
  const app = await startTestApp(variables, { identity, databaseUrl });
  apps.push(app);
  return app;
}

const create = async (ann: TestPerson, title: string): Promise<Issue> =>
  (await ann.post('/api/v1/issues/', { title }).expect(201)).body;
const read = async (ann: TestPerson, { id }: { id: string }): Promise<Issue> =>
  issueSchema.parse((await ann.get(`/api/v1/issues/${id}/`).expect(200)).body);
const marked = (issue: Issue) =>
  tracker.fake.issues().filter(({ body }) => body.includes(`issues-sync:${issue.id}`));

/** Makes all postponed syncs due. */
const bringForward = (app: TestApp) =>
  app.sql('UPDATE tracker_links SET next_attempt_at = now() WHERE next_attempt_at IS NOT NULL');

describe('a sync that failed', () => {
  it('is retried automatically, and the issue shows its state', async () => {
    const app = await start();
    const ann = await aPerson(app);
    const issue = await create(ann, 'Retried');
    tracker.fake.fail({ kind: 'status', status: 500, times: Number.POSITIVE_INFINITY });
    const { body } = await ann.post(`/api/v1/issues/${issue.id}/sync/`).expect(502);
    expect(body).toMatchObject({ code: 'tracker_unavailable', retry_scheduled: true });
    const failed = await read(ann, issue);
    expect(failed.sync).toMatchObject({ state: 'retrying', next_attempt_at: body.next_attempt_at });
    await bringForward(app);
    await eventually(
      () => read(ann, issue),
      ({ sync }) => sync.next_attempt_at !== null && sync.next_attempt_at > body.next_attempt_at,
    );
    tracker.fake.clearFaults();
    const synced = await eventually(
      async () => {
        await bringForward(app);
        return read(ann, issue);
      },
      ({ sync }) => sync.state === 'synced',
    );
    expect(synced.sync).toMatchObject({ last_error: null, next_attempt_at: null });
    expect(marked(issue)).toHaveLength(1);
  });

  it('is not retried after twelve failures until the next request', async () => {
    const app = await start({ SYNC_WORKERS: '0' });
    const ann = await aPerson(app);
    const issue = await create(ann, 'Hopeless');
    tracker.fake.fail({ kind: 'reset_before', times: Number.POSITIVE_INFINITY });
    await app.sql(
      `INSERT INTO tracker_links (issue_id, provider, project, requested_by, failures) VALUES ($1, 'gitea', $2, $3, 11)`,
      [issue.id, tracker.project, ann.id],
    );
    const { body } = await ann.post(`/api/v1/issues/${issue.id}/sync/`).expect(502);
    expect(body).toMatchObject({ retry_scheduled: false, next_attempt_at: null });
    expect((await read(ann, issue)).sync.state).toBe('failed');
    const again = await ann.post(`/api/v1/issues/${issue.id}/sync/`);
    expect(again.body).toMatchObject({ retry_scheduled: true });
  });

  it('is taken over by another process after its process died', async () => {
    const app = await start();
    const ann = await aPerson(app);
    const issue = await create(ann, 'Orphan');
    await app.sql(
      `INSERT INTO tracker_links (issue_id, provider, project, requested_by, claim_id, claim_until)
       VALUES ($1, 'gitea', $2, $3, gen_random_uuid(), now() - interval '1 second')`,
      [issue.id, tracker.project, ann.id],
    );
    await eventually(
      () => read(ann, issue),
      ({ sync }) => sync.state === 'synced',
    );
    expect(marked(issue)).toHaveLength(1);
  });

  it('is not retried after rejected credentials, and readiness reports a warning', async () => {
    const app = await start();
    const ann = await aPerson(app);
    const issue = await create(ann, 'Refused');
    tracker.fake.fail({ kind: 'status', status: 401, body: { message: 'token is required' } });
    const { body } = await ann.post(`/api/v1/issues/${issue.id}/sync/`).expect(502);
    expect(body).toMatchObject({ code: 'tracker_auth_failed', retry_scheduled: false });
    const ready = await app.http.get('/readyz').expect(200);
    expect(ready.body).toMatchObject({ status: 'ready', warnings: ['tracker_credentials'] });
    await ann.post(`/api/v1/issues/${issue.id}/sync/`).expect(200);
    expect((await app.http.get('/readyz').expect(200)).body.warnings).toBeUndefined();
    const scraped = await app.dependencies.metrics.registry.metrics();
    expect(scraped).toContain('issues_syncs_total{outcome="tracker_auth_failed",service="issues"} 1');
    expect(scraped).toContain('issues_syncs_total{outcome="synced",service="issues"} 1');
  });
});

describe('a sync that failed permanently is retried', () => {
  const refuse = () =>
    tracker.fake.fail({ kind: 'status', status: 401, body: { message: 'token is required' } });
  const failSync = async (ann: TestPerson, title: string) => {
    const issue = await create(ann, title);
    refuse();
    await ann.post(`/api/v1/issues/${issue.id}/sync/`).expect(502);
    expect((await read(ann, issue)).sync).toMatchObject({ state: 'failed', next_attempt_at: null });
    return issue;
  };
  const untilSynced = (ann: TestPerson, issue: Issue) =>
    eventually(
      () => read(ann, issue),
      ({ sync }) => sync.state === 'synced',
    );
  const failedBefore = (app: TestApp, issue: Issue, age: string) =>
    app.sql('UPDATE tracker_links SET failed_at = now() - $2::interval WHERE issue_id = $1', [issue.id, age]);

  it('after the credential was corrected', async () => {
    const app = await start({ SYNC_WORKERS: '0', TRACKER_TOKEN: 'not-the-token' });
    const ann = await aPerson(app);
    const issue = await create(ann, 'Wrong key');
    const { body } = await ann.post(`/api/v1/issues/${issue.id}/sync/`).expect(502);
    expect(body).toMatchObject({ code: 'tracker_auth_failed', retry_scheduled: false });
    await start({}, app.databaseUrl);
    await untilSynced(ann, issue);
    expect(marked(issue)).toHaveLength(1);
  });

  it('after its issue was changed, for every error', async () => {
    const app = await start();
    const ann = await aPerson(app);
    const issue = await failSync(ann, 'Changed later');
    await new Promise((resolve) => setTimeout(resolve, 500));
    expect((await read(ann, issue)).sync.state).toBe('failed');
    await ann.put(`/api/v1/issues/${issue.id}/`, { title: 'Changed' }).expect(200);
    await untilSynced(ann, issue);
    expect(marked(issue)).toMatchObject([{ title: 'Changed' }]);
  });

  it('within an hour after another issue was synced, unless the error concerns this issue only', async () => {
    const app = await start();
    const ann = await aPerson(app);
    const [outage, rejected] = [await failSync(ann, 'Outage'), await failSync(ann, 'Rejected')];
    await app.sql(`UPDATE tracker_links SET last_error = 'tracker_rejected' WHERE issue_id = $1`, [
      rejected.id,
    ]);
    const other = await create(ann, 'Succeeds');
    await ann.post(`/api/v1/issues/${other.id}/sync/`).expect(200);
    await new Promise((resolve) => setTimeout(resolve, 500));
    expect((await read(ann, outage)).sync.state).toBe('failed');
    for (const issue of [outage, rejected]) await failedBefore(app, issue, '61 minutes');
    await untilSynced(ann, outage);
    expect((await read(ann, rejected)).sync.state).toBe('failed');
  });

  it('one every five minutes while all fail, and all when one succeeds', async () => {
    const app = await start();
    const ann = await aPerson(app);
    const issues = [await failSync(ann, 'One'), await failSync(ann, 'Two'), await failSync(ann, 'Three')];
    const failures = async () =>
      (await app.sql('SELECT failures FROM tracker_links ORDER BY failures')).map((row) => row.failures);
    tracker.fake.fail({ kind: 'status', status: 401, times: Number.POSITIVE_INFINITY });
    for (const issue of issues) await failedBefore(app, issue, '6 minutes');
    await eventually(failures, (seen) => seen.includes(2));
    await pause(500);
    expect(await failures()).toEqual([1, 1, 2]);
    tracker.fake.clearFaults();
    for (const issue of issues) await failedBefore(app, issue, '6 minutes');
    for (const issue of issues) await untilSynced(ann, issue);
  });

  it('twice if the remote issue is missing', async () => {
    const app = await start();
    const ann = await aPerson(app);
    const issue = await create(ann, 'Hidden by a proxy');
    await ann.post(`/api/v1/issues/${issue.id}/sync/`).expect(200);
    const on = { method: 'GET', path: /\/issues\/\d+$/ };
    tracker.fake.fail({ kind: 'status', status: 404, on, times: Number.POSITIVE_INFINITY });
    await ann.post(`/api/v1/issues/${issue.id}/sync/`).expect(409);
    await failedBefore(app, issue, '3 minutes');
    await eventually(
      () => app.sql('SELECT failures FROM tracker_links WHERE next_attempt_at IS NULL'),
      ([row]) => row?.failures === 2,
    );
    tracker.fake.clearFaults();
    await app.sql('UPDATE tracker_links SET failures = 3');
    await failedBefore(app, issue, '2 hours');
    await pause(500);
    expect((await read(ann, issue)).sync.state).toBe('failed');
    await app.sql('UPDATE tracker_links SET failures = 2');
    await untilSynced(ann, issue);
  });

  it('once a day', async () => {
    const app = await start();
    const ann = await aPerson(app);
    const issue = await failSync(ann, 'Yesterday');
    await failedBefore(app, issue, '25 hours');
    await untilSynced(ann, issue);
  });

  it('and is counted as failed until then', async () => {
    const app = await start();
    const ann = await aPerson(app);
    const issue = await failSync(ann, 'Counted');
    const scrape = () => app.dependencies.metrics.registry.metrics();
    expect(await scrape()).toContain('issues_syncs_stuck{error="tracker_auth_failed",service="issues"} 1');
    await ann.post(`/api/v1/issues/${issue.id}/sync/`).expect(200);
    expect(await scrape()).not.toContain('issues_syncs_stuck{');
  });
});

describe('a number that the tracker reuses', () => {
  it('is linked to the new issue, and the former one reports remote_gone', async () => {
    const app = await start({ SYNC_WORKERS: '0' });
    const ann = await aPerson(app);
    const former = await create(ann, 'Former');
    const issue = await create(ann, 'New');
    await app.sql(
      `INSERT INTO tracker_links (issue_id, provider, project, requested_by, remote_id, remote_key, remote_url)
       SELECT $1, 'gitea', $2, $3, n::text, '#' || n, 'https://git.example/' || n FROM generate_series($4::int, $4::int) n`,
      [
        former.id,
        tracker.project,
        ann.id,
        Math.max(0, ...tracker.fake.issues().map(({ number }) => number)) + 1,
      ],
    );
    const { body } = await ann.post(`/api/v1/issues/${issue.id}/sync/`).expect(200);
    expect(body.sync.state).toBe('synced');
    expect(await read(ann, former)).toMatchObject({
      external: null,
      sync: { state: 'failed', last_error: 'remote_gone' },
    });
  });
});

describe('a sync that fails in this service', () => {
  it('shows sync_failed in the issue and is retried', async () => {
    const app = await start({ SYNC_WORKERS: '0' });
    const ann = await aPerson(app);
    const issue = await create(ann, 'Broken');
    await app.sql('ALTER TABLE tracker_comments RENAME TO tracker_comments_away');
    await ann.post(`/api/v1/issues/${issue.id}/sync/`).expect(500);
    await app.sql('ALTER TABLE tracker_comments_away RENAME TO tracker_comments');
    const { sync } = await read(ann, issue);
    expect(sync).toMatchObject({ state: 'retrying', last_error: 'sync_failed' });
    await ann.post(`/api/v1/issues/${issue.id}/sync/`).expect(200);
    expect(marked(issue)).toHaveLength(1);
  });
});

describe('a service that stops', () => {
  it('releases its lease, and another one continues immediately', async () => {
    const first = await start({ SYNC_WORKERS: '0' });
    const ann = await aPerson(first);
    const issue = await create(ann, 'Handed over');
    const before = tracker.fake.requests.length;
    tracker.fake.fail({ kind: 'latency', ms: 3_000, on: { method: 'POST' } });
    const answer = ann.post(`/api/v1/issues/${issue.id}/sync/`).then((response) => response);
    await eventually(() => tracker.fake.requests.slice(before).some(({ method }) => method === 'POST'));
    apps.splice(apps.indexOf(first), 1);
    const [response] = await Promise.all([answer, first.close()]);
    expect(response.body).toMatchObject({ status: 504, code: 'tracker_timeout' });
    // On a slow machine, the request takes effect later than the service expects of a tracker.
    await eventually(() => marked(issue).length === 1);
    const second = await start({}, first.databaseUrl);
    await eventually(
      async () => {
        await bringForward(second);
        return read(ann.on(second), issue);
      },
      ({ sync }) => sync.state === 'synced',
    );
    expect(marked(issue)).toHaveLength(1);
  });
});

describe('SYNC_AUTO', () => {
  it('retries after the text that the tracker rejected has changed', async () => {
    const app = await start({ SYNC_AUTO: 'linked' });
    const ann = await aPerson(app);
    const issue = await create(ann, 'Fine');
    await ann.post(`/api/v1/issues/${issue.id}/sync/`).expect(200);
    tracker.fake.fail({
      kind: 'status',
      status: 422,
      body: { message: 'no such title' },
      on: { method: 'PATCH' },
      times: Number.POSITIVE_INFINITY,
    });
    await ann.put(`/api/v1/issues/${issue.id}/`, { title: 'Refused' }).expect(200);
    await eventually(
      () => read(ann, issue),
      ({ sync }) => sync.last_error === 'tracker_rejected',
    );
    tracker.fake.clearFaults();
    await ann.put(`/api/v1/issues/${issue.id}/`, { title: 'Accepted' }).expect(200);
    await eventually(
      () => read(ann, issue),
      ({ sync }) => sync.state === 'synced',
    );
    expect(marked(issue)).toMatchObject([{ title: 'Accepted' }]);
  });

  it('retries after a change during the sync that the tracker rejected', async () => {
    const app = await start({ SYNC_AUTO: 'linked' });
    const ann = await aPerson(app);
    const issue = await create(ann, 'Fine');
    await ann.post(`/api/v1/issues/${issue.id}/sync/`).expect(200);
    let release = () => {};
    const changed = new Promise<void>((resolve) => {
      release = resolve;
    });
    const onProject = { method: 'GET', path: /\/repos\/[^/]+\/[^/]+$/ };
    tracker.fake.fail({ kind: 'status', status: 422, on: { method: 'PATCH' } });
    tracker.fake.fail({ kind: 'latency', until: changed, on: onProject });
    const before = tracker.fake.requests.length;
    await ann.put(`/api/v1/issues/${issue.id}/`, { title: 'Refused' }).expect(200);
    // The service looks for the cause of the refusal.
    await eventually(() => tracker.fake.requests.slice(before).some(({ path }) => onProject.path.test(path)));
    await ann.put(`/api/v1/issues/${issue.id}/`, { title: 'Accepted' }).expect(200);
    release();
    await eventually(
      () => read(ann, issue),
      ({ sync }) => sync.state === 'synced',
    );
    expect(marked(issue)).toMatchObject([{ title: 'Accepted' }]);
  });

  it('=linked pushes changes of linked issues and creates none', async () => {
    const app = await start({ SYNC_AUTO: 'linked' });
    const ann = await aPerson(app);
    const unlinked = await create(ann, 'Stays here');
    const issue = await create(ann, 'Linked');
    await ann.post(`/api/v1/issues/${issue.id}/sync/`).expect(200);
    await ann.put(`/api/v1/issues/${issue.id}/`, { title: 'Renamed' }).expect(200);
    await ann.post(`/api/v1/issues/${issue.id}/comments/`, { body: 'A word' }).expect(201);
    const there = async () => marked(issue);
    await eventually(there, ([one]) => one?.title === 'Renamed' && one.comments.length === 1);
    await eventually(
      () => read(ann, issue),
      ({ sync }) => sync.state === 'synced',
    );
    const revision = () => app.sql('SELECT rev FROM issues WHERE id = $1', [issue.id]);
    const before = await revision();
    await new Promise((resolve) => setTimeout(resolve, 500));
    // A sync does not trigger another sync.
    expect(before).toHaveLength(1);
    expect(await revision()).toEqual(before);
    expect(marked(unlinked)).toEqual([]);
  });

  it('=all creates every new issue of the default project in the tracker once, with two instances', async () => {
    const app = await start({ SYNC_AUTO: 'all' });
    await start({ SYNC_AUTO: 'all' }, app.databaseUrl);
    const ann = await aPerson(app, { is_staff: true });
    await ann.post('/api/v1/projects/', { key: 'APP', name: 'Apps' }).expect(201);
    const draft = { title: 'Private', project: 'APP' };
    const { body: other } = await ann.post('/api/v1/issues/', draft).expect(201);
    const issues = await Promise.all(Array.from({ length: 20 }, (_, index) => create(ann, `New ${index}`)));
    for (const issue of issues) {
      await eventually(
        () => read(ann, issue),
        ({ sync }) => sync.state === 'synced',
      );
      expect(marked(issue)).toHaveLength(1);
    }
    // The statement that found the last issue found all earlier changes.
    expect(marked(other)).toEqual([]);
    expect(await app.sql('SELECT 1 FROM tracker_links WHERE issue_id = $1', [other.id])).toEqual([]);
    expect((await read(ann, other)).sync.state).toBe('not_configured');
  });
});
