import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import type { Issue } from '@tessera/contracts';
import { eventually } from '@tessera/stack/eventually';
import { expectProblem } from '@tessera/testing/problems';
import type { Fault } from '@tessera/trackers/fakes';
import { type FakeTestTracker, startFakeTracker } from './support/fake-tracker.ts';
import { createIssue, getIssue, issuePath } from './support/issues.ts';
import { aPerson, type TestPerson } from './support/people.ts';
import { syncIssue } from './support/sync-conformance.ts';
import { startTestApp, type TestApp } from './support/test-app.ts';
import { trackerEnvironment } from './support/tracker-environment.ts';

const deadlineMs = 1_500;
// The circuit breaker closes again quickly, because these tests concern single failures.
const times = { TRACKER_DEADLINE_MS: '10000', TRACKER_BREAK_MS: '100' };
const always = Number.POSITIVE_INFINITY;

let tracker: FakeTestTracker;
let app: TestApp;
/** A second instance with a short deadline. */
let hurried: TestApp;
let ann: TestPerson;
beforeAll(async () => {
  tracker = await startFakeTracker('github');
  app = await startTestApp(trackerEnvironment(tracker, times));
  const hurry = { ...times, TRACKER_DEADLINE_MS: String(deadlineMs) };
  hurried = await startTestApp(trackerEnvironment(tracker, hurry), app);
  ann = await aPerson(app);
});
afterEach(() => clearFaults());
afterAll(async () => {
  await hurried.close();
  await app.close();
  await tracker.close();
});

const clearFaults = async () => {
  tracker.fake.clearFaults();
  await app.sql('UPDATE tracker_states SET limited_until = NULL');
};
const sync = (issue: Issue) => ann.post(issuePath(issue, 'sync/'));
/** Syncs again while the outcome of a creation is unknown: until it must be visible, syncs return 503. */
const syncOnceKnown = (issue: Issue) =>
  eventually(
    async () => {
      const answer = await sync(issue);
      if (answer.status === 503) expectProblem(answer, 503, 'create_outcome_unknown');
      return answer;
    },
    ({ status }) => status !== 503,
  );
const marked = (issue: Issue) =>
  tracker.fake.issues().filter(({ body }) => body.includes(`issues-sync:${issue.id}`));
const creating = { method: 'POST', path: /\/issues$/ };
const onIssue = (issue: Issue) => new RegExp(`/issues/${issue.external?.id}$`);

async function linkedIssue(): Promise<Issue> {
  return syncIssue(ann, await createIssue(ann, { title: 'Linked', description: 'Text' }));
}

async function expectUsable(issue: Issue): Promise<void> {
  await ann.put(issuePath(issue), { description: `Edited ${Math.random()}` }).expect(200);
  await ann.post(issuePath(issue, 'comments/'), { body: 'Still here' }).expect(201);
}

interface Case {
  fault: Omit<Fault, 'on' | 'times'>;
  status: number;
  code: string;
  /** Whether the sync is retried automatically. */
  isRetried: boolean;
}

const cases: Record<string, Case> = {
  'a response that is too late': {
    // Until the test lets it take effect.
    fault: { kind: 'latency' },
    status: 504,
    code: 'tracker_timeout',
    isRetried: true,
  },
  'a body that is too slow': {
    fault: { kind: 'slow_body', ms: deadlineMs * 3 },
    status: 504,
    code: 'tracker_timeout',
    isRetried: true,
  },
  'a connection reset before the request is processed': {
    fault: { kind: 'reset_before' },
    status: 502,
    code: 'tracker_unavailable',
    isRetried: true,
  },
  'a connection reset after the request was processed': {
    fault: { kind: 'reset_after' },
    status: 502,
    code: 'tracker_unavailable',
    isRetried: true,
  },
  'a 500': {
    fault: { kind: 'status', status: 500 },
    status: 502,
    code: 'tracker_unavailable',
    isRetried: true,
  },
  'an HTML page instead of JSON': {
    fault: {
      kind: 'status',
      status: 200,
      body: '<html>Maintenance</html>',
      headers: { 'content-type': 'text/html' },
    },
    status: 502,
    code: 'tracker_unavailable',
    isRetried: true,
  },
  'truncated JSON': {
    fault: { kind: 'truncated_json' },
    status: 502,
    code: 'tracker_unavailable',
    isRetried: true,
  },
  'a 429': {
    fault: { kind: 'status', status: 429 },
    status: 503,
    code: 'tracker_rate_limited',
    isRetried: true,
  },
  'a 503 with Retry-After': {
    fault: { kind: 'status', status: 503, headers: { 'retry-after': '7' } },
    status: 503,
    code: 'tracker_rate_limited',
    isRetried: true,
  },
  'a secondary rate limit': {
    fault: {
      kind: 'status',
      status: 403,
      body: {
        message: 'You have exceeded a secondary rate limit.',
        documentation_url: 'https://docs.github.com',
      },
    },
    status: 503,
    code: 'tracker_rate_limited',
    isRetried: true,
  },
  'a 401': {
    fault: { kind: 'status', status: 401, body: { message: 'Bad credentials' } },
    status: 502,
    code: 'tracker_auth_failed',
    isRetried: false,
  },
  'a 403': {
    fault: { kind: 'status', status: 403, body: { message: 'Resource not accessible' } },
    status: 502,
    code: 'not_a_member',
    isRetried: false,
  },
  'a 422': {
    fault: {
      kind: 'status',
      status: 422,
      body: {
        message: 'Validation Failed',
        errors: [{ resource: 'Issue', field: 'title', code: 'too_long' }],
      },
    },
    status: 422,
    code: 'tracker_rejected',
    isRetried: false,
  },
};

describe.each(Object.entries(cases))('%s', (_, { fault, status, code, isRetried }) => {
  // On a loaded machine, any other sync may take longer than the short deadline.
  const isSlow = fault.kind === 'latency' || fault.kind === 'slow_body';
  const syncWithFault = (issue: Issue) =>
    isSlow ? ann.on(hurried).post(issuePath(issue, 'sync/')) : sync(issue);
  /** Returns a function that lets a held request take effect, as it does before the settle time has passed. */
  const failWith = (on: { method: string; path: RegExp }, times = 1) => {
    const before = tracker.fake.requests.length;
    let release = () => {};
    const until = new Promise<void>((resolve) => {
      release = resolve;
    });
    tracker.fake.fail({ ...fault, ...(fault.kind === 'latency' && { until }), on, times });
    return async (hasTakenEffect?: () => boolean) => {
      release();
      // A slow machine may reach the deadline before this request.
      const isHeld = tracker.fake.requests
        .slice(before)
        .some(({ method, path }) => method === on.method && on.path.test(path));
      if (fault.kind !== 'latency' || !isHeld) return;
      while (hasTakenEffect?.() === false) await new Promise((resolve) => setTimeout(resolve, 10));
    };
  };
  const expectRefusal = (answer: Awaited<ReturnType<typeof sync>>) => {
    expectProblem(answer, status, code);
    expect(answer.body.retry_scheduled).toBe(isRetried);
    expect(typeof answer.body.next_attempt_at === 'string').toBe(isRetried);
    expect(answer.headers['retry-after'] !== undefined).toBe(status === 503);
  };

  it('while the issue is created: the issue stays usable, and the next sync leaves one issue in the tracker', async () => {
    const issue = await createIssue(ann);
    const takeEffect = failWith(creating);
    expectRefusal(await syncWithFault(issue));
    await takeEffect(() => marked(issue).length > 0);
    const failed = await getIssue(ann, issue);
    expect(failed.sync).toMatchObject({ state: isRetried ? 'retrying' : 'failed', last_error: code });
    await expectUsable(issue);
    await clearFaults();
    const next = await syncOnceKnown(issue);
    expect(next.body).toMatchObject({ sync: { state: 'synced', last_error: null, next_attempt_at: null } });
    expect(marked(issue)).toHaveLength(1);
  });

  it('while the issue is changed: the sync reports it, and the next sync repeats the change', async () => {
    const issue = await linkedIssue();
    await ann.put(issuePath(issue), { title: 'Changed' }).expect(200);
    const takeEffect = failWith({ method: 'PATCH', path: onIssue(issue) });
    const answer = await syncWithFault(issue);
    await takeEffect(() => marked(issue)[0]?.title === 'Changed');
    // The change is read back, so a sync may succeed although the response was unreadable.
    if (answer.status !== 200) expectRefusal(answer);
    await expectUsable(issue);
    await clearFaults();
    const synced = await syncIssue(ann, issue);
    expect(synced).toMatchObject({ title: 'Changed', sync: { state: 'synced', conflicts: [] } });
    expect(marked(issue)).toMatchObject([{ title: 'Changed' }]);
  });

  it('while the issue is read: the sync reports it and changes nothing', async () => {
    const issue = await linkedIssue();
    const takeEffect = failWith({ method: 'GET', path: onIssue(issue) }, always);
    const before = await getIssue(ann, issue);
    expectRefusal(await syncWithFault(issue));
    await takeEffect();
    const { sync: _sync, ...after } = await getIssue(ann, issue);
    const { sync: _before, ...expected } = before;
    expect(after).toEqual(expected);
    await expectUsable(issue);
  });

  it('while a comment is sent: the next sync leaves one comment in the tracker', async () => {
    const issue = await linkedIssue();
    await ann.post(issuePath(issue, 'comments/'), { body: 'Once' }).expect(201);
    const takeEffect = failWith({ method: 'POST', path: /\/comments$/ });
    expectRefusal(await syncWithFault(issue));
    await takeEffect(() => marked(issue)[0]?.comments.length === 1);
    await clearFaults();
    const next = await syncOnceKnown(issue);
    expect(next.status).toBe(200);
    expect(marked(issue)[0]?.comments).toHaveLength(1);
    expect((await getIssue(ann, issue)).comments_count).toBe(1);
  });
});

describe('Retry-After of the tracker', () => {
  it('is returned to the client and delays the next attempt', async () => {
    const issue = await createIssue(ann);
    tracker.fake.fail({ kind: 'status', status: 429, headers: { 'retry-after': '120' }, on: creating });
    const answer = await sync(issue);
    expectProblem(answer, 503, 'tracker_rate_limited');
    expect(answer.headers['retry-after']).toBe('120');
    expect(Date.parse(answer.body.next_attempt_at) - Date.now()).toBeGreaterThan(110_000);
  });

  it('is one minute by default', async () => {
    const issue = await createIssue(ann);
    tracker.fake.fail({ kind: 'status', status: 429, on: creating });
    expect((await sync(issue)).headers['retry-after']).toBe('60');
  });
});

it('an edit during a sync is pending after the sync', async () => {
  const issue = await linkedIssue();
  // Comments are requested only if the remote issue has comments.
  await tracker.comment(issue.external?.id ?? '', 'There');
  tracker.fake.fail({ kind: 'latency', ms: 500, on: { method: 'GET', path: /\/comments$/ } });
  const before = tracker.fake.requests.length;
  const running = sync(issue).then((answer) => answer);
  while (tracker.fake.requests.length < before + 2) await new Promise((resolve) => setTimeout(resolve, 10));
  await ann.put(issuePath(issue), { title: 'Edited meanwhile' }).expect(200);
  expect((await running).body.sync.state).toBe('changed');
  expect((await syncIssue(ann, issue)).sync).toMatchObject({
    state: 'synced',
    last_result: { pushed: ['title'] },
  });
});

describe('a linked issue in the tracker', () => {
  it.each([
    ['https://github.example/elsewhere/issues/1', 'https://github.example/elsewhere/issues/1'],
    [null, null],
  ])('returns 409 remote_moved after it was moved (%s)', async (given, location) => {
    const issue = await linkedIssue();
    tracker.fake.moveIssue?.(Number(issue.external?.id), given);
    const answer = await sync(issue);
    expectProblem(answer, 409, 'remote_moved');
    expect(answer.body.location).toBe(location);
    expect((await getIssue(ann, issue)).sync).toMatchObject({ state: 'failed', moved_to: location });
    await expectUsable(issue);
  });

  it('that ignores a change causes a conflict until it applies the change', async () => {
    const issue = await linkedIssue();
    await ann.put(issuePath(issue), { title: 'Not taken' }).expect(200);
    tracker.fake.fail({ kind: 'silent_drop', on: { method: 'PATCH' } });
    const synced = await syncIssue(ann, issue);
    expect(synced).toMatchObject({
      title: 'Not taken',
      sync: { conflicts: [{ field: 'title', reason: 'not_applied', local: 'Not taken', remote: 'Linked' }] },
    });
    tracker.fake.fail({ kind: 'silent_drop', on: { method: 'PATCH' } });
    const again = await syncIssue(ann, issue);
    expect(again.sync.conflicts).toEqual(synced.sync.conflicts);
    expect((await syncIssue(ann, issue)).sync.conflicts).toEqual([]);
    expect(marked(issue)).toMatchObject([{ title: 'Not taken' }]);
  });
});

it('a tracker that is down gets no requests after five failures, until it is back', async () => {
  const own = await startFakeTracker('github');
  const other = await startTestApp(trackerEnvironment(own, { ...times, TRACKER_BREAK_MS: '2000' }));
  const person = await aPerson(other);
  await own.fake.stop();
  const issues = await Promise.all(Array.from({ length: 6 }, () => createIssue(person)));
  const codes: string[] = [];
  for (const issue of issues) codes.push((await person.post(issuePath(issue, 'sync/'))).body.code);
  expect(codes.slice(0, 5)).toEqual(Array(5).fill('tracker_unavailable'));
  expect(codes[5]).toBe('tracker_rate_limited');
  await own.fake.restart();
  const [issue] = issues;
  await eventually(
    () => person.post(issuePath(issue ?? { id: '' }, 'sync/')),
    ({ status }) => status === 200,
  );
  await other.close();
  await own.close();
});

it('the credential is sent to the configured URL only', async () => {
  const asked: string[] = [];
  const elsewhere = createServer((request, response) => {
    asked.push(`${request.url} ${request.headers.authorization}`);
    response.end('{}');
  });
  await new Promise<void>((resolve) => elsewhere.listen(0, '127.0.0.1', resolve));
  const { port } = elsewhere.address() as AddressInfo;
  const issue = await linkedIssue();
  tracker.fake.moveIssue?.(Number(issue.external?.id), `http://127.0.0.1:${port}/issues/1`);
  expectProblem(await sync(issue), 409, 'remote_moved');
  const other = await createIssue(ann);
  const headers = { location: `http://127.0.0.1:${port}/issues` };
  tracker.fake.fail({ kind: 'status', status: 307, headers, on: creating });
  const refusal = await sync(other);
  expectProblem(refusal, 502, 'tracker_unavailable');
  expect(refusal.body.detail).toContain('redirects the request');
  await new Promise((resolve) => elsewhere.close(resolve));
  expect(asked).toEqual([]);
});
