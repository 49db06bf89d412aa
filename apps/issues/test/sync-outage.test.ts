import { setTimeout as pause } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { Issue } from '@tessera/contracts';
import { eventually } from '@tessera/stack/eventually';
import { expectProblem } from '@tessera/testing/problems';
import { type FakeTestTracker, startFakeTracker } from './support/fake-tracker.ts';
import { checkOf, integrationsPath } from './support/integrations.ts';
import { createIssue, getIssue, issuePath } from './support/issues.ts';
import { aPerson, type TestPerson } from './support/people.ts';
import { syncIssue } from './support/sync-conformance.ts';
import { startTestApp, type TestApp } from './support/test-app.ts';
import { trackerEnvironment } from './support/tracker-environment.ts';

const breakMs = 60_000;

let tracker: FakeTestTracker;
let app: TestApp;
let ann: TestPerson;
const others: TestApp[] = [];
beforeEach(async () => {
  tracker = await startFakeTracker('gitea');
  app = await startTestApp(trackerEnvironment(tracker, { TRACKER_BREAK_MS: String(breakMs) }));
  ann = await aPerson(app, { is_staff: true });
});
afterEach(async () => {
  await Promise.all(others.splice(0).map((other) => other.close()));
  await app.close();
  await tracker.close();
});

const sync = (issue: { id: string }) => ann.post(issuePath(issue, 'sync/'));
const startBackground = async (environment: Record<string, string> = {}) => {
  const background = { SYNC_WORKERS: '2', SYNC_POLL_MS: '100', TRACKER_BREAK_MS: String(breakMs) };
  others.push(await startTestApp(trackerEnvironment(tracker, { ...background, ...environment }), app));
};
const linksOf = (issues: readonly Issue[]) =>
  app.sql(
    `SELECT failures, last_error, extract(epoch FROM next_attempt_at - now())::float8 AS seconds
       FROM tracker_links WHERE issue_id::text = ANY ($1) ORDER BY issue_id`,
    [issues.map(({ id }) => id)],
  );
const createIssues = (count: number) => Promise.all(Array.from({ length: count }, () => createIssue(ann)));

describe('an open circuit breaker', () => {
  const open = async () => {
    await tracker.fake.stop();
    for (const issue of await createIssues(5)) expectProblem(await sync(issue), 502, 'tracker_unavailable');
  };

  it('does not count as a failure of the issue and does not delay its retry', async () => {
    await open();
    const issue = await createIssue(ann);
    for (let attempt = 1; attempt <= 4; attempt += 1) {
      const refused = await sync(issue);
      expectProblem(refused, 503, 'tracker_rate_limited');
      expect(refused.body.retry_scheduled).toBe(true);
      const advice = /did not respond to the last requests.* before (.*): check TRACKER_URL/.exec(
        refused.body.detail,
      );
      const inMs = Date.parse(advice?.[1] ?? '') - Date.now();
      expect(inMs).toBeGreaterThan(0.8 * breakMs);
      expect(inMs).toBeLessThanOrEqual(breakMs + 1_000);
    }
    const [integration] = (await ann.get(integrationsPath).expect(200)).body;
    expect(checkOf(integration, 'reachable').detail).toContain('did not respond to the last requests');
    const [link] = await linksOf([issue]);
    expect(link).toMatchObject({ failures: 0, last_error: 'tracker_rate_limited' });
    expect(link?.seconds).toBeGreaterThan(0.8 * (breakMs / 1000));
    expect(link?.seconds).toBeLessThanOrEqual(1.5 * (breakMs / 1000));
  });

  it('does not hide the failure that opened it', async () => {
    const [first, second] = await createIssues(2);
    for (const issue of [first, second]) await syncIssue(ann, issue ?? { id: '' });
    await tracker.fake.stop();
    // Each read is retried twice, so the second sync opens the breaker with its second request.
    for (const issue of [first, second])
      expectProblem(await sync(issue ?? { id: '' }), 502, 'tracker_unavailable');
    const third = await createIssue(ann);
    expectProblem(await sync(third), 503, 'tracker_rate_limited');
  });

  it('keeps the background from leasing issues', async () => {
    await tracker.fake.stop();
    await startBackground({ SYNC_AUTO: 'all', SYNC_RETRY_SECONDS: '3600' });
    await createIssues(12);
    const failed = async () => {
      const [row] = await app.sql(
        `SELECT count(*)::int AS count FROM tracker_links WHERE last_error IS NOT NULL`,
      );
      return row?.count;
    };
    while ((await failed()) < 5) await pause(50);
    await pause(1_500);
    // Two workers can be active when the breaker opens.
    expect(await failed()).toBeLessThanOrEqual(6);
  });
});

describe('after an outage', () => {
  /** Creates issues whose syncs failed during an outage of an hour. The last issue has no scheduled retry. */
  const failedIssues = async () => {
    const issues = await createIssues(6);
    for (const { id } of issues)
      await app.sql(
        `INSERT INTO tracker_links (issue_id, provider, project, requested_by, failures, last_error, failed_at,
           failed_configuration, failed_activity_id, next_attempt_at)
         VALUES ($1, 'gitea', $2, $3, 9, 'tracker_unavailable', now() - interval '20 minutes', $4, 1000000,
           now() + interval '40 minutes')`,
        [id, tracker.project, ann.id, app.dependencies.config.tracking?.fingerprint],
      );
    await app.sql('UPDATE tracker_links SET failures = 12, next_attempt_at = NULL WHERE issue_id = $1', [
      issues.at(-1)?.id,
    ]);
    await app.sql(
      `INSERT INTO tracker_states (provider, project, answered_at) VALUES ('gitea', $1, now() - interval '1 hour')
       ON CONFLICT (provider, project) DO UPDATE SET answered_at = excluded.answered_at`,
      [tracker.project],
    );
    return issues;
  };
  const untilBroughtForward = (issues: readonly Issue[]) =>
    eventually(
      () => linksOf(issues),
      (links) =>
        links.every(
          ({ seconds, last_error: error }) => error === null || (seconds !== null && seconds <= 60),
        ),
    );

  it('failed issues are retried within a minute, spread evenly, once another issue is synced', async () => {
    const issues = await failedIssues();
    await startBackground();
    await pause(500);
    expect((await linksOf(issues)).filter(({ seconds }) => seconds > 2_000)).toHaveLength(5);
    await syncIssue(ann, await createIssue(ann));
    const links = await untilBroughtForward(issues);
    const waiting = links.flatMap(({ seconds }) => (seconds > 0 ? [Math.round(seconds * 100)] : []));
    expect(waiting.length).toBeGreaterThan(1);
    expect(new Set(waiting).size).toBe(waiting.length);
    expect(links.map(({ failures }) => failures)).toEqual(issues.map(() => 0));
    await app.sql('UPDATE tracker_links SET next_attempt_at = now() WHERE next_attempt_at IS NOT NULL');
    for (const issue of issues) while ((await getIssue(ann, issue)).sync.state !== 'synced') await pause(50);
  });

  it('failed issues are retried once a poll for changes succeeds', async () => {
    await syncIssue(ann, await createIssue(ann));
    const issues = await failedIssues();
    await startBackground({ SYNC_AUTO: 'linked', SYNC_POLL_REMOTE_SECONDS: '1' });
    await untilBroughtForward(issues);
  });

  it('an issue that fails again waits longer each time, also while other issues are synced', async () => {
    const issues = await failedIssues();
    await app.sql(`UPDATE tracker_links SET failed_at = now() + interval '1 hour'`);
    await startBackground();
    await syncIssue(ann, await createIssue(ann));
    await pause(1_000);
    expect((await linksOf(issues)).filter(({ seconds }) => seconds > 2_000)).toHaveLength(5);
  });

  it('an import continues as soon as the tracker responds', async () => {
    await failedIssues();
    await app.sql(
      `INSERT INTO tracker_imports (id, provider, project, requested_by, since, failures, last_error, next_attempt_at)
       VALUES (gen_random_uuid(), 'gitea', $1, $2, 'epoch', 9, 'tracker_unavailable', now() + interval '40 minutes')`,
      [tracker.project, ann.id],
    );
    await startBackground();
    await syncIssue(ann, await createIssue(ann));
    await eventually(
      () => ann.get('/api/v1/sync/import/'),
      ({ body }) => body.state === 'finished',
    );
  });
});
