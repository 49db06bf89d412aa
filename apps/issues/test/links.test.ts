import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { guestLinksMax, guestLinksOfOneMax, linkSchema, linkTypes } from '@tessera/contracts';
import { expectInvalidFields, expectProblem } from '@tessera/testing/problems';
import { createIssue, etagOf, getIssue, historyOf, issuePath } from './support/issues.ts';
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

const link = (issue: { id: string }, body: object, person = ann) =>
  person.post(issuePath(issue, 'links/'), body);

describe('POST /api/v1/issues/{id}/links/', () => {
  it.each(linkTypes)('adds a link of type %s and shows it in the issue with a new ETag', async (type) => {
    const issue = await createIssue(ann);
    const ref = type === 'user' ? bob.id : 'X-1';
    const response = await link(
      issue,
      { type, ref, url: 'HTTPS://example.com/x?y#z', metadata: { a: 1 } },
      staff,
    ).expect(201);
    const added = linkSchema.parse(response.body);
    expect(added).toMatchObject({ type, ref, url: 'HTTPS://example.com/x?y#z', created_by: staff.id });
    const after = await ann.get(issuePath(issue)).expect(200);
    expect(after.body).toMatchObject({ links: [added], version: 1 });
    expect(after.headers.etag).toBe(response.headers.etag);
    expect((await historyOf(ann, issue)).slice(1)).toMatchObject([
      { kind: 'link_added', new: { type, ref } },
    ]);
  });

  it('updates an existing link and returns 200', async () => {
    const issue = await createIssue(ann);
    const { body: first } = await link(issue, { type: 'invoice', ref: '1', title: 'first' }).expect(201);
    const { body: second } = await link(issue, { type: 'invoice', ref: '1', relation: 'blocks' }).expect(200);
    expect(second).toEqual({ ...first, title: null, relation: 'blocks' });
    expect((await getIssue(ann, issue)).links).toEqual([second]);
    await link(issue, { type: 'invoice', ref: '1', relation: 'blocks' }).expect(200);
    expect((await historyOf(ann, issue)).slice(1)).toMatchObject([
      { kind: 'link_added' },
      {
        kind: 'link_changed',
        old: { title: 'first', relation: 'relates_to' },
        new: { title: null, relation: 'blocks' },
      },
    ]);
  });

  it('creates one link for ten concurrent requests with the same target', async () => {
    const issue = await createIssue(ann);
    const answers = await Promise.all(
      Array.from({ length: 10 }, () => link(issue, { type: 'entity', ref: 'acme' })),
    );
    expect(answers.map((answer) => answer.status).sort()).toEqual([...Array(9).fill(200), 201]);
    expect((await getIssue(ann, issue)).links).toHaveLength(1);
  });

  it('limits an issue to fifty links, also for concurrent requests', async () => {
    const links = Array.from({ length: 45 }, (_, index) => ({ type: 'invoice', ref: `${index}` }));
    const issue = await createIssue(ann, { links });
    const answers = await Promise.all(
      Array.from({ length: 10 }, (_, index) => link(issue, { type: 'entity', ref: `${index}` })),
    );
    expect(answers.map((answer) => answer.status).sort()).toEqual([
      ...Array(5).fill(201),
      ...Array(5).fill(422),
    ]);
    expect((await getIssue(ann, issue)).links).toHaveLength(50);
    await link(issue, { type: 'invoice', ref: '7', title: 'updated' }).expect(200);
  });

  it.each<[string, object]>([
    ['type', {}],
    ['type', { type: 'page', ref: '1' }],
    ['ref', { type: 'invoice' }],
    ['ref', { type: 'user', ref: 'bob' }],
    ['ref', { type: 'user', ref: 'nobody@example.com' }],
    ['type', { type: 'external_issue', ref: 'redmine:17' }],
    ['url', { type: 'invoice', ref: '1', url: 'ftp://example.com' }],
    ['title', { type: 'invoice', ref: '1', title: 'two\nlines' }],
    ['title', { type: 'invoice', ref: '1', title: 'left \u202eand right' }],
    ['ref', { type: 'invoice', ref: 'left \u202eand right' }],
  ])('returns 422 for an invalid %s (%j)', async (field, body) => {
    const issue = await createIssue(ann);
    const response = await link(issue, body);
    expect(response.status).toBe(422);
    expect(response.body.errors.map((error: { field: string }) => error.field)).toContain(field);
    expect(await getIssue(ann, issue)).toEqual(issue);
  });

  it('lets others link tickets, entities and invoices, of which they change only their own', async () => {
    const issue = await createIssue(ann, { links: [{ type: 'invoice', ref: '1' }] });
    for (const body of [
      { type: 'user', ref: ann.id },
      { type: 'external_issue', ref: 'redmine:1' },
      { type: 'invoice', ref: '1', title: 'mine' },
    ])
      expectProblem(await link(issue, body, bob), 403, 'forbidden');
    const own: string[] = [];
    for (const type of ['helpdesk_ticket', 'entity', 'invoice'])
      own.push((await link(issue, { type, ref: '2' }, bob).expect(201)).body.id);
    await link(issue, { type: 'entity', ref: '2', title: 'changed' }, bob).expect(200);
    await bob.delete(issuePath(issue, `links/${own[0]}/`)).expect(204);
    expectProblem(await bob.delete(issuePath(issue, `links/${issue.links[0]?.id}/`)), 403, 'forbidden');
    expectProblem(await bob.patch(issuePath(issue), { links: [] }), 403, 'forbidden');
    expect((await getIssue(ann, issue)).links).toMatchObject([
      { ref: '1', title: null, created_by: ann.id },
      { type: 'entity', title: 'changed', created_by: bob.id },
      { type: 'invoice', ref: '2', created_by: bob.id },
    ]);
  });

  it('leaves room for those who may change the issue', async () => {
    const issue = await createIssue(ann);
    const refs = Array.from({ length: 12 }, (_, index) => String(index));
    const added = await Promise.all(refs.map((ref) => link(issue, { type: 'entity', ref }, bob)));
    expect(added.filter(({ status }) => status === 201)).toHaveLength(guestLinksOfOneMax);
    for (const refused of added.filter(({ status }) => status !== 201))
      expectInvalidFields(refused, ['links']);
    for (let count = guestLinksOfOneMax; count < guestLinksMax; count += 1)
      await link(issue, { type: 'entity', ref: `a${count}` }).expect(201);
    const other = await aPerson(app);
    expectInvalidFields(await link(issue, { type: 'entity', ref: 'b' }, other), ['links']);
    await link(issue, { type: 'entity', ref: 'b' }).expect(201);
  });

  it('checks If-Match', async () => {
    const issue = await createIssue(ann);
    expectProblem(
      await link(issue, { type: 'invoice', ref: '1' }).set('If-Match', '"9.9"'),
      412,
      'precondition_failed',
    );
    expect(await getIssue(ann, issue)).toEqual(issue);
    await link(issue, { type: 'invoice', ref: '1' })
      .set('If-Match', await etagOf(ann, issue))
      .expect(201);
  });
});

describe('DELETE /api/v1/issues/{id}/links/{link_id}/', () => {
  it('returns 204, writes the link to the history, and returns 404 the second time', async () => {
    const issue = await createIssue(ann, { links: [{ type: 'invoice', ref: '1', title: 'x' }] });
    const path = issuePath(issue, `links/${issue.links[0]?.id}/`);
    expectProblem(await bob.delete(path), 403, 'forbidden');
    expect((await ann.delete(path).expect(204)).text).toBe('');
    expectProblem(await ann.delete(path), 404, 'link_not_found');
    expect((await getIssue(ann, issue)).links).toEqual([]);
    expect((await historyOf(ann, issue)).slice(1)).toMatchObject([
      { kind: 'link_removed', old: { type: 'invoice', ref: '1', title: 'x' } },
    ]);
  });

  it('returns 404 for a link of another issue and 422 for an invalid id', async () => {
    const [issue, other] = [
      await createIssue(ann),
      await createIssue(ann, { links: [{ type: 'invoice', ref: '1' }] }),
    ];
    expectProblem(await ann.delete(issuePath(issue, `links/${other.links[0]?.id}/`)), 404, 'link_not_found');
    expectInvalidFields(await ann.delete(issuePath(issue, 'links/1/')), ['link_id']);
  });

  it('lets only staff remove a link to a tracker', async () => {
    const issue = await createIssue(ann);
    const { body } = await link(issue, { type: 'external_issue', ref: 'redmine:17' }, staff).expect(201);
    expectInvalidFields(await ann.delete(issuePath(issue, `links/${body.id}/`)), ['link_id']);
    await staff.delete(issuePath(issue, `links/${body.id}/`)).expect(204);
  });
});
