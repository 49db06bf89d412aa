import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type IssueStatus, issueStatuses } from '@tessera/contracts';
import { expectInvalidFields, expectProblem } from '@tessera/testing/problems';
import {
  createIssue,
  createIssueThatIs,
  etagOf,
  getIssue,
  historyOf,
  issueIn,
  issuePath,
} from './support/issues.ts';
import { aPerson, type TestPerson } from './support/people.ts';
import { startTestApp, type TestApp } from './support/test-app.ts';

let app: TestApp;
let ann: TestPerson;
beforeAll(async () => {
  app = await startTestApp();
  ann = await aPerson(app);
});
afterAll(() => app.close());

// The expected workflow, independent of the implementation.
const allowed: Record<IssueStatus, IssueStatus[]> = {
  OPEN: ['IN_PROGRESS', 'RESOLVED', 'CLOSED'],
  IN_PROGRESS: ['OPEN', 'RESOLVED', 'CLOSED'],
  RESOLVED: ['CLOSED', 'REOPENED'],
  CLOSED: ['REOPENED'],
  REOPENED: ['IN_PROGRESS', 'RESOLVED', 'CLOSED'],
};
const pairs = issueStatuses.flatMap((from) => issueStatuses.map((to) => [from, to] as const));
const move = (issue: { id: string }, body: object, person = ann) =>
  person.post(issuePath(issue, 'status/'), body);

describe('POST /api/v1/issues/{id}/status/', () => {
  it.each(pairs.filter(([from, to]) => allowed[from].includes(to)))(
    'moves from %s to %s',
    async (from, to) => {
      const issue = await createIssueThatIs(ann, from);
      const before = await historyOf(ann, issue);
      const response = await move(issue, { status: to }).expect(200);
      const moved = issueIn(response);
      expect(moved).toMatchObject({ status: to, allowed_transitions: allowed[to], version: issue.version });
      expect(await getIssue(ann, issue)).toEqual(moved);
      expect((await historyOf(ann, issue)).slice(before.length)).toEqual([
        {
          kind: 'status_changed',
          field: 'status',
          old: from,
          new: to,
          actor: { id: ann.id, username: ann.username },
        },
      ]);
      expect(response.headers.etag).toBe((await ann.get(issuePath(issue))).headers.etag);
    },
  );

  it.each(pairs.filter(([from, to]) => from !== to && !allowed[from].includes(to)))(
    'returns 409 for a change from %s to %s and lists the allowed ones',
    async (from, to) => {
      const issue = await createIssueThatIs(ann, from);
      const response = await move(issue, { status: to, comment: 'x' });
      expectProblem(response, 409, 'illegal_transition');
      expect(response.body).toMatchObject({ current_status: from, allowed_transitions: allowed[from] });
      expect(await getIssue(ann, issue)).toEqual(issue);
    },
  );

  it.each(issueStatuses)('returns 200 when the status is already %s and writes nothing', async (status) => {
    const issue = await createIssueThatIs(ann, status);
    const before = await historyOf(ann, issue);
    expect(issueIn(await move(issue, { status, comment: 'sent again' }).expect(200))).toEqual(issue);
    expect(await historyOf(ann, issue)).toEqual(before);
  });

  it('sets resolved_at and closed_at and clears them when the issue is reopened', async () => {
    const issue = await createIssue(ann);
    const to = async (status: IssueStatus) => issueIn(await move(issue, { status }).expect(200));
    const resolved = await to('RESOLVED');
    expect(resolved).toMatchObject({ resolved_at: resolved.updated_at, closed_at: null });
    const closed = await to('CLOSED');
    expect(closed).toMatchObject({ resolved_at: resolved.resolved_at, closed_at: closed.updated_at });
    expect(await to('REOPENED')).toMatchObject({ resolved_at: null, closed_at: null });
    expect(await to('CLOSED')).toMatchObject({ resolved_at: null, closed_at: expect.any(String) });
  });

  it('adds the comment together with the change', async () => {
    const issue = await createIssue(ann);
    await ann.post(issuePath(issue, 'comments/'), { body: 'first' }).expect(201);
    const moved = issueIn(await move(issue, { status: 'RESOLVED', comment: 'New toner.' }).expect(200));
    expect(moved.comments_count).toBe(2);
    expect(moved.comments.map(({ body }) => body)).toEqual(['first', 'New toner.']);
    expect(moved.comments[1]?.author).toEqual({ id: ann.id, username: ann.username });
    expect(await getIssue(ann, issue)).toEqual(moved);
    expect((await historyOf(ann, issue)).slice(2)).toMatchObject([
      { kind: 'status_changed' },
      { kind: 'comment_added', new: { comment_id: moved.comments[1]?.id } },
    ]);
  });

  it.each<[string, object]>([
    ['status', {}],
    ['status', { status: 'DONE' }],
    ['status', { status: 'closed' }],
    ['status', { status: null }],
    ['status', { status: ['CLOSED'] }],
    ['comment', { status: 'CLOSED', comment: '  ' }],
    ['comment', { status: 'CLOSED', comment: 'nul\u0000' }],
    ['comment', { status: 'CLOSED', comment: 'x'.repeat(65_001) }],
    ['version', { status: 'CLOSED', version: 'x' }],
  ])('returns 422 for an invalid %s (%#)', async (field, body) => {
    const issue = await createIssue(ann);
    expectInvalidFields(await move(issue, body), [field]);
    expect(await getIssue(ann, issue)).toEqual(issue);
  });

  it('lists the statuses in the error of an unknown one', async () => {
    const { body } = await move(await createIssue(ann), { status: 'DONE' });
    expect(body.errors[0].message).toBe('must be one of OPEN, IN_PROGRESS, RESOLVED, CLOSED, REOPENED');
  });

  it('rejects an outdated version or If-Match and writes nothing', async () => {
    const issue = await createIssue(ann);
    const outdated = await etagOf(ann, issue);
    await ann.put(issuePath(issue), { title: 'changed' }).expect(200);
    const stale = await move(issue, { status: 'CLOSED', version: 1, comment: 'x' });
    expectProblem(stale, 409, 'version_conflict');
    expect(stale.body.issue).toMatchObject({ id: issue.id, version: 2, status: 'OPEN' });
    expectProblem(
      await move(issue, { status: 'CLOSED' }).set('If-Match', outdated),
      412,
      'precondition_failed',
    );
    expect(await getIssue(ann, issue)).toMatchObject({ status: 'OPEN', comments_count: 0 });
    await move(issue, { status: 'CLOSED', version: 2 })
      .set('If-Match', await etagOf(ann, issue))
      .expect(200);
  });

  it('is allowed to reporter, assignee, staff and superusers only', async () => {
    const [assignee, staff, root, stranger] = await Promise.all([
      aPerson(app),
      aPerson(app, { is_staff: true }),
      aPerson(app, { is_superuser: true }),
      aPerson(app),
    ]);
    const issue = await createIssue(ann, { assignee_id: assignee.id });
    const steps: [TestPerson, IssueStatus][] = [
      [assignee, 'IN_PROGRESS'],
      [staff, 'RESOLVED'],
      [root, 'CLOSED'],
      [ann, 'REOPENED'],
    ];
    for (const [person, status] of steps) {
      expectProblem(await move(issue, { status }, stranger), 403, 'forbidden');
      await move(issue, { status }, person).expect(200);
    }
  });
});

describe('concurrent status changes', () => {
  it('applies one of ten identical changes and return the same response to all', async () => {
    const issue = await createIssue(ann);
    const answers = await Promise.all(
      Array.from({ length: 10 }, () => move(issue, { status: 'RESOLVED', comment: 'x' })),
    );
    expect(answers.map((answer) => answer.status)).toEqual(Array(10).fill(200));
    for (const answer of answers) expect(answer.body).toEqual(answers[0]?.body);
    expect(await historyOf(ann, issue)).toHaveLength(3);
    expect((await getIssue(ann, issue)).comments_count).toBe(1);
  });

  it('applies conflicting changes one after the other, within the workflow', async () => {
    const issue = await createIssueThatIs(ann, 'RESOLVED');
    const before = (await historyOf(ann, issue)).length;
    const answers = await Promise.all(
      Array.from({ length: 12 }, (_, index) =>
        move(issue, { status: index % 2 === 0 ? 'CLOSED' : 'REOPENED' }),
      ),
    );
    for (const answer of answers) expect([200, 409]).toContain(answer.status);
    const steps = (await historyOf(ann, issue)).slice(before);
    let status: IssueStatus = 'RESOLVED';
    for (const step of steps) {
      expect(step.old).toBe(status);
      expect(allowed[status]).toContain(step.new);
      status = step.new;
    }
    expect((await getIssue(ann, issue)).status).toBe(status);
  });

  it('applies exactly one of two changes that exclude each other', async () => {
    const issue = await createIssueThatIs(ann, 'CLOSED');
    await move(issue, { status: 'REOPENED' }).expect(200);
    const before = (await historyOf(ann, issue)).length;
    const targets: IssueStatus[] = ['IN_PROGRESS', 'OPEN', 'OPEN', 'OPEN'];
    const answers = await Promise.all(targets.map((status) => move(issue, { status })));
    // OPEN may follow IN_PROGRESS but not REOPENED, so each response fits one order of events.
    const steps = (await historyOf(ann, issue)).slice(before);
    expect(steps.length).toBeLessThanOrEqual(2);
    expect(answers[0]?.status).toBe(200);
    for (const answer of answers.slice(1)) expect([200, 409]).toContain(answer.status);
  });

  it('applies exactly one change with the same If-Match', async () => {
    const issue = await createIssue(ann);
    const targets: IssueStatus[] = ['IN_PROGRESS', 'RESOLVED', 'CLOSED', 'IN_PROGRESS', 'RESOLVED', 'CLOSED'];
    const etag = await etagOf(ann, issue);
    const answers = await Promise.all(targets.map((status) => move(issue, { status }).set('If-Match', etag)));
    expect(answers.map((answer) => answer.status).sort()).toEqual([200, 412, 412, 412, 412, 412]);
    expect(await historyOf(ann, issue)).toHaveLength(2);
  });
});
