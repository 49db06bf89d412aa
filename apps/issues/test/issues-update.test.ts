import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Issue } from '@tessera/contracts';
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
let bob: TestPerson;
let staff: TestPerson;
beforeAll(async () => {
  app = await startTestApp();
  ann = await aPerson(app);
  bob = await aPerson(app);
  staff = await aPerson(app, { is_staff: true });
});
afterAll(() => app.close());

const put = async (person: TestPerson, issue: { id: string }, body: object) =>
  issueIn(await person.put(issuePath(issue), body).expect(200));

// Every change updates `updated_at`.
const without = ({ updated_at: _, ...rest }: Issue) => rest;

describe('PUT and PATCH /api/v1/issues/{id}/', () => {
  it.each(['put', 'patch'] as const)('%s changes only the supplied fields', async (method) => {
    const issue = await createIssue(ann, { description: 'before', priority: 'LOW' });
    const response = await ann[method](issuePath(issue), { title: ' after ' }).expect(200);
    expect(without(issueIn(response))).toEqual({ ...without(issue), title: 'after', version: 2 });
    expect(response.headers.etag).toBe(await etagOf(ann, issue));
    expect(await getIssue(ann, issue)).toEqual(response.body);
  });

  it('changes several fields at once and writes each old value to the history', async () => {
    const description = 'a long story '.repeat(1000);
    const issue = await createIssue(ann, { title: 'old', description });
    const changed = await put(ann, issue, {
      title: 'new',
      description: null,
      priority: 'urgent',
      assignee_id: bob.id,
      due_on: '2026-12-31',
      links: [{ type: 'invoice', ref: '1' }],
    });
    expect(changed).toMatchObject({
      title: 'new',
      description: '',
      priority: 'URGENT',
      due_on: '2026-12-31',
      version: 2,
    });
    expect(changed.assignee).toEqual({ id: bob.id, username: bob.username });
    const line = (kind: string, field: string | null, old: unknown, value: unknown) => ({
      kind,
      field,
      old,
      new: value,
      actor: { id: ann.id, username: ann.username },
    });
    expect((await historyOf(ann, issue)).slice(1)).toEqual([
      line('updated', 'title', 'old', 'new'),
      line('updated', 'description', description, ''),
      line('updated', 'priority', 'MEDIUM', 'URGENT'),
      line('updated', 'assignee', null, { id: bob.id, username: bob.username }),
      line('updated', 'due_on', null, '2026-12-31'),
      line('link_added', null, null, expect.objectContaining({ type: 'invoice', ref: '1' })),
    ]);
  });

  it('accepts its own response as the body and changes nothing', async () => {
    const links = [
      { type: 'user', ref: bob.id },
      { type: 'entity', ref: 'acme', metadata: { a: [1] } },
    ];
    const issue = await createIssue(ann, { description: 'x', links, assignee_id: bob.id });
    await app.sql('UPDATE identity_mirror SET is_active = false WHERE id = $1', [bob.id]);
    expect(await put(ann, issue, { ...issue, assignee_id: issue.assignee?.id })).toEqual(issue);
    expect(await historyOf(ann, issue)).toHaveLength(1);
    await app.sql('UPDATE identity_mirror SET is_active = true WHERE id = $1', [bob.id]);
  });

  it('unassigns with null and assigns by e-mail', async () => {
    const issue = await createIssue(ann);
    const staff = await aPerson(app, { is_staff: true });
    expect(await put(staff, issue, { assignee_email: bob.email })).toMatchObject({
      assignee: { id: bob.id },
    });
    expect(await put(ann, issue, { assignee_id: null })).toMatchObject({ assignee: null });
  });

  it('replaces the list of links and keeps the ids of unchanged targets', async () => {
    const issue = await createIssue(ann, {
      links: [
        { type: 'invoice', ref: '1' },
        { type: 'invoice', ref: '2' },
      ],
    });
    const links = [
      { type: 'invoice', ref: '2', title: 'second' },
      { type: 'invoice', ref: '3' },
    ];
    const changed = await put(ann, issue, { links });
    expect(changed.links).toMatchObject([
      { id: issue.links[1]?.id, ref: '2', title: 'second' },
      { ref: '3' },
    ]);
    expect(changed.version).toBe(1);
    expect((await historyOf(ann, issue)).slice(1)).toMatchObject([
      { kind: 'link_changed', old: { ref: '2', title: null }, new: { ref: '2', title: 'second' } },
      { kind: 'link_added', new: { ref: '3' } },
      { kind: 'link_removed', old: { ref: '1' } },
    ]);
    expect((await put(ann, issue, { links: [] })).links).toEqual([]);
  });

  it('lets only staff change links to a tracker', async () => {
    const tracker = { type: 'external_issue', ref: 'redmine:17', title: 'Printer' };
    const issue = await createIssue(ann);
    await put(staff, issue, { links: [tracker] });
    const seen = await getIssue(ann, issue);
    expect(
      (await put(ann, issue, { links: [...seen.links, { type: 'invoice', ref: '1' }] })).links,
    ).toHaveLength(2);
    expect((await put(ann, issue, { links: [] })).links).toMatchObject([tracker]);
    for (const link of [
      { ...tracker, title: 'x' },
      { type: 'external_issue', ref: 'redmine:18' },
    ]) {
      expectInvalidFields(await ann.put(issuePath(issue), { links: [link] }), ['links.0.type']);
    }
    expect((await put(staff, issue, { links: [] })).links).toEqual([]);
  });

  it('changes a closed issue', async () => {
    const issue = await createIssueThatIs(ann, 'CLOSED');
    expect(await put(ann, issue, { title: 'after the fact' })).toMatchObject({ status: 'CLOSED' });
  });

  it('accepts the current status and returns 422 for another one, naming the status endpoint', async () => {
    const issue = await createIssue(ann);
    expect(await put(ann, issue, { status: 'OPEN' })).toEqual(issue);
    const response = await ann.put(issuePath(issue), { status: 'CLOSED', title: 'changed' });
    expectProblem(response, 422, 'status_not_writable');
    expect(response.body.detail).toContain('POST /api/v1/issues/{id}/status/');
    expect(await getIssue(ann, issue)).toEqual(issue);
  });

  it.each<[string, object]>([
    ['body', {}],
    ['body', { colour: 'red' }],
    ['body', { version: 1 }],
    ['body', { id: 'x', key: 'y', created_at: 'z' }],
    ['title', { title: null }],
    ['title', { title: ' ' }],
    ['title', { title: 'x'.repeat(256) }],
    ['description', { description: 'x'.repeat(65_001) }],
    ['priority', { priority: null }],
    ['priority', { priority: 'MAJOR' }],
    ['status', { status: 'DONE' }],
    ['assignee_id', { assignee_id: 'bob' }],
    ['assignee_email', { assignee_email: 'bob@example.com', assignee_id: null }],
    ['links', { links: null }],
    ['version', { title: 'x', version: 0 }],
    ['version', { title: 'x', version: '1' }],
    ['version', { title: 'x', version: 1.5 }],
  ])('returns 422 for an invalid %s (%j) and changes nothing', async (field, body) => {
    const issue = await createIssue(ann);
    expectInvalidFields(await ann.put(issuePath(issue), { ...body }), [field]);
    expect(await getIssue(ann, issue)).toEqual(issue);
  });

  it('returns 422 for an unknown assignee and changes nothing', async () => {
    const issue = await createIssue(ann);
    const response = await ann.put(issuePath(issue), { assignee_id: '01980c5e-0000-7000-8000-000000000000' });
    expectInvalidFields(response, ['assignee_id'], 'unknown_identity');
    expect(await getIssue(ann, issue)).toEqual(issue);
  });

  it('returns 403 to users who are neither reporter nor assignee and changes nothing', async () => {
    const issue = await createIssue(ann, { links: [{ type: 'invoice', ref: '1' }] });
    for (const body of [
      { title: 'x' },
      { links: [] },
      { assignee_id: ann.id },
      { assignee_id: bob.id, title: 'x' },
      { status: 'OPEN' },
    ]) {
      expectProblem(await bob.put(issuePath(issue), body), 403, 'forbidden');
    }
    expect(await getIssue(ann, issue)).toEqual(issue);
  });

  it('lets any user take an unassigned issue once', async () => {
    const issue = await createIssue(ann);
    const carol = await aPerson(app);
    expect(await put(bob, issue, { assignee_id: bob.id })).toMatchObject({ assignee: { id: bob.id } });
    expectProblem(await carol.put(issuePath(issue), { assignee_id: carol.id }), 403, 'forbidden');
    expect(await put(bob, issue, { title: 'mine now' })).toMatchObject({ title: 'mine now' });
    expect(await put(staff, issue, { assignee_id: null })).toMatchObject({ assignee: null });
  });

  it('lets one of several concurrent users take an issue', async () => {
    const issue = await createIssue(ann);
    const crowd = await Promise.all(Array.from({ length: 8 }, () => aPerson(app)));
    const answers = await Promise.all(crowd.map((one) => one.put(issuePath(issue), { assignee_id: one.id })));
    expect(answers.map((answer) => answer.status).sort()).toEqual([200, ...Array(7).fill(403)]);
    expect(
      (await historyOf(ann, issue)).filter(({ field }: { field: string }) => field === 'assignee'),
    ).toHaveLength(1);
  });
});

describe('concurrent changes', () => {
  it('keeps all changes to different fields', async () => {
    const issue = await createIssue(ann);
    const links = Array.from({ length: 10 }, (_, index) => ({ type: 'invoice', ref: `${index}` }));
    await Promise.all([
      ann.put(issuePath(issue), { title: 'new' }).expect(200),
      ann.put(issuePath(issue), { description: 'new' }).expect(200),
      ann.put(issuePath(issue), { priority: 'LOW' }).expect(200),
      ann.post(issuePath(issue, 'status/'), { status: 'RESOLVED' }).expect(200),
      ...links.map((link) => ann.post(issuePath(issue, 'links/'), link).expect(201)),
      ann.post(issuePath(issue, 'comments/'), { body: 'x' }).expect(201),
    ]);
    const after = await getIssue(ann, issue);
    expect(after).toMatchObject({
      title: 'new',
      description: 'new',
      priority: 'LOW',
      status: 'RESOLVED',
      comments_count: 1,
      version: 4,
    });
    expect(after.links).toHaveLength(10);
  });

  it('applies one change per version and returns the current issue with the 409 of the others', async () => {
    const issue = await createIssue(ann);
    const answers = await Promise.all(
      Array.from({ length: 10 }, (_, index) =>
        ann.put(issuePath(issue), { title: `title ${index}`, version: 1 }),
      ),
    );
    const [winner, ...more] = answers.filter((answer) => answer.status === 200);
    expect(more).toEqual([]);
    for (const loser of answers.filter((answer) => answer !== winner)) {
      expectProblem(loser, 409, 'version_conflict');
      expect(loser.body.issue).toEqual(winner?.body);
    }
    expect(await getIssue(ann, issue)).toEqual(winner?.body);
    expect(await historyOf(ann, issue)).toHaveLength(2);
  });

  it('does not count comments, links and status changes as a new version', async () => {
    const issue = await createIssue(ann);
    await ann.post(issuePath(issue, 'comments/'), { body: 'x' }).expect(201);
    await ann.post(issuePath(issue, 'links/'), { type: 'invoice', ref: '1' }).expect(201);
    await ann.post(issuePath(issue, 'status/'), { status: 'CLOSED' }).expect(200);
    expect(await put(ann, issue, { title: 'x', version: 1 })).toMatchObject({ version: 2 });
  });

  it('rejects an If-Match without a strong ETag of the current state', async () => {
    const issue = await createIssue(ann);
    const etag = await etagOf(ann, issue);
    const change = (header: string) =>
      ann.put(issuePath(issue), { title: `given ${header}` }).set('If-Match', header);
    for (const stale of ['"0.1"', `W/${etag}`, '"1"', '"1.x-y"', '"a" , , W/"b"']) {
      expectProblem(await change(stale), 412, 'precondition_failed');
    }
    await change(`"x", ${etag}`).expect(200);
    expectProblem(await change(etag), 412, 'precondition_failed');
    await change('*').expect(200);
  });

  it.each(['abc', '1', '', ',', '"a', 'a"', '"a" "b"', 'w/"a"', '"a", b', 'tag, "a"', '*, "a"', "'1.x-y'"])(
    'returns 400 for the malformed If-Match %j and changes nothing',
    async (header) => {
      const issue = await createIssue(ann);
      for (const change of [
        ann.put(issuePath(issue), { title: 'x' }),
        ann.patch(issuePath(issue)).send({ title: 'x' }),
        ann.post(issuePath(issue, 'status/'), { status: 'CLOSED' }),
        ann.post(issuePath(issue, 'links/'), { type: 'invoice', ref: '1' }),
      ]) {
        expectProblem(await change.set('If-Match', header), 400, 'malformed_if_match');
      }
      expect(await getIssue(ann, issue)).toEqual(issue);
    },
  );

  it.each<[string, (issue: Issue) => PromiseLike<unknown>]>([
    ['a title', (issue) => ann.put(issuePath(issue), { title: 'other' }).expect(200)],
    ['an assignee', (issue) => ann.put(issuePath(issue), { assignee_id: bob.id }).expect(200)],
    ['a status', (issue) => ann.post(issuePath(issue, 'status/'), { status: 'CLOSED' }).expect(200)],
    ['a link', (issue) => ann.post(issuePath(issue, 'links/'), { type: 'invoice', ref: '1' }).expect(201)],
    ['links', (issue) => ann.put(issuePath(issue), { links: [{ type: 'entity', ref: '1' }] }).expect(200)],
  ])('rejects an If-Match from before a change of %s', async (_, overwrite) => {
    const issue = await createIssue(ann);
    const etag = await etagOf(ann, issue);
    await overwrite(issue);
    for (const change of [
      ann.put(issuePath(issue), { title: 'mine' }),
      ann.post(issuePath(issue, 'status/'), { status: 'RESOLVED' }),
      ann.post(issuePath(issue, 'links/'), { type: 'invoice', ref: '2' }),
    ]) {
      expectProblem(await change.set('If-Match', etag), 412, 'precondition_failed');
    }
    await ann
      .put(issuePath(issue), { title: 'mine' })
      .set('If-Match', await etagOf(ann, issue))
      .expect(200);
  });

  it.each<[string, (issue: Issue) => PromiseLike<unknown>]>([
    ['a comment', (issue) => bob.post(issuePath(issue, 'comments/'), { body: 'x' }).expect(201)],
    ['a name', () => app.sql('UPDATE identity_mirror SET username = $1 WHERE id = $2', ['anna', ann.id])],
  ])('accepts an If-Match from before %s, which nothing overwrites', async (_, happen) => {
    const issue = await createIssue(ann);
    const etag = await etagOf(ann, issue);
    await happen(issue);
    expect(await etagOf(ann, issue)).not.toBe(etag);
    await ann.put(issuePath(issue), { title: 'mine' }).set('If-Match', etag).expect(200);
  });

  it('returns 403 before 412', async () => {
    const issue = await createIssue(ann);
    expectProblem(await bob.put(issuePath(issue), { title: 'x' }).set('If-Match', '"0.0"'), 403, 'forbidden');
  });

  it('returns 428 without a precondition when REQUIRE_PRECONDITION is on', async () => {
    const strict = await startTestApp({ REQUIRE_PRECONDITION: 'on' }, app);
    const annThere = ann.on(strict);
    const issue = await createIssue(annThere);
    const change = (body: object) => annThere.put(issuePath(issue), { title: 'x', ...body });
    const move = (body: object) => annThere.post(issuePath(issue, 'status/'), { status: 'CLOSED', ...body });
    expectProblem(await change({}), 428, 'precondition_required');
    expectProblem(await move({}), 428, 'precondition_required');
    await change({ version: 1 }).expect(200);
    await change({})
      .set('If-Match', await etagOf(annThere, issue))
      .expect(200);
    await move({ version: 2 }).expect(200);
    // A request for a comment or a link overwrites nothing but the one that it names.
    await annThere.post(issuePath(issue, 'comments/'), { body: 'x' }).expect(201);
    const link = await annThere.post(issuePath(issue, 'links/'), { type: 'invoice', ref: '1' }).expect(201);
    await annThere.delete(issuePath(issue, `links/${link.body.id}/`)).expect(204);
    await strict.close();
  });
});
