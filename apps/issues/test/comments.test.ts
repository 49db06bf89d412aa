import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type Comment, commentSchema } from '@tessera/contracts';
import { expectInvalidFields, expectProblem } from '@tessera/testing/problems';
import { publicBaseUrl } from './support/environment.ts';
import {
  createIssue,
  createIssueThatIs,
  getIssue,
  historyOf,
  issuePath,
  issuesPath,
} from './support/issues.ts';
import { followLinks, pathOf } from './support/pages.ts';
import { aPerson, type TestPerson } from './support/people.ts';
import { startTestApp, type TestApp } from './support/test-app.ts';

let app: TestApp;
let ann: TestPerson;
let bob: TestPerson;
beforeAll(async () => {
  app = await startTestApp();
  ann = await aPerson(app);
  bob = await aPerson(app);
});
afterAll(() => app.close());

const comment = (issue: { id: string }, body: object, person = ann) =>
  person.post(issuePath(issue, 'comments/'), body);

describe('POST /api/v1/issues/{id}/comments/', () => {
  it('returns 201 with the comment and its URL to any active user and shows it in the issue', async () => {
    const issue = await createIssue(ann);
    const response = await comment(issue, { body: ' Seen *here* too.\n' }, bob).expect(201);
    const added = commentSchema.parse(response.body);
    expect(added).toEqual({
      id: expect.any(String),
      issue_id: issue.id,
      body: ' Seen *here* too.\n',
      author: { id: bob.id, username: bob.username },
      origin: 'local',
      external: null,
      created_at: expect.any(String),
      updated_at: added.created_at,
    });
    expect(response.headers.location).toBe(
      `${publicBaseUrl}/api/v1/issues/${issue.id}/comments/${added.id}/`,
    );
    expect((await bob.get(pathOf(response.headers.location)).expect(200)).body).toEqual(added);
    const after = await getIssue(ann, issue);
    expect(after).toMatchObject({
      comments: [added],
      comments_count: 1,
      updated_at: added.created_at,
      version: 1,
    });
    expect((await historyOf(ann, issue)).slice(1)).toEqual([
      { kind: 'comment_added', field: null, old: null, new: { comment_id: added.id }, actor: added.author },
    ]);
  });

  it.each(['body', 'comment', 'text', 'content'])('accepts the text under the name %s', async (name) => {
    const issue = await createIssue(ann);
    expect((await comment(issue, { [name]: 'x', unknown: 1 }).expect(201)).body.body).toBe('x');
  });

  it('accepts a key or a number as the id and comments on a closed issue', async () => {
    const issue = await createIssueThatIs(ann, 'CLOSED');
    await comment({ id: issue.key }, { body: 'x' }).expect(201);
    await comment({ id: String(issue.number) }, { body: '🖨'.repeat(65_000) }).expect(201);
  });

  it.each<[string, unknown]>([
    ['body', {}],
    ['body', { unknown: 'x' }],
    ['body', { body: null }],
    ['body', { body: '' }],
    ['body', { body: ' \n' }],
    ['body', { body: 5 }],
    ['body', { body: 'nul\u0000' }],
    ['body', { body: '\ud800' }],
    ['body', { body: 'x'.repeat(65_001) }],
    ['comment', { body: 'x', comment: 'y' }],
    ['content', { text: 'x', content: 'x' }],
    ['text', { text: 5 }],
    ['body', []],
    ['body', 'x'],
  ])('returns 422 for an invalid %s (%#) and adds no comment', async (field, body) => {
    const issue = await createIssue(ann);
    expectInvalidFields(
      await ann.post(issuePath(issue, 'comments/')).type('json').send(JSON.stringify(body)),
      [field],
    );
    expect(await getIssue(ann, issue)).toEqual(issue);
  });

  it('counts all concurrent comments and orders them by time', async () => {
    const issue = await createIssue(ann);
    const answers = await Promise.all(
      Array.from({ length: 25 }, (_, index) => comment(issue, { body: `${index}` })),
    );
    expect(answers.map((answer) => answer.status)).toEqual(Array(25).fill(201));
    const after = await getIssue(ann, issue);
    expect(after.comments_count).toBe(25);
    expect(after.comments).toHaveLength(25);
    const order = (
      await app.sql('SELECT new_value AS value FROM activity WHERE issue_id = $1 ORDER BY id', [issue.id])
    )
      .slice(1)
      .map((row) => row.value.comment_id);
    expect(after.comments.map(({ id }) => id).sort()).toEqual([...order].sort());
    const times = after.comments.map(({ created_at }) => created_at);
    expect(times).toEqual([...times].sort());
  });
});

describe('GET /api/v1/issues/{id}/comments/', () => {
  it('pages through all comments, oldest first, while others are added', async () => {
    const issue = await createIssue(ann);
    const added: Comment[] = [];
    for (let index = 0; index < 25; index += 1) added.push((await comment(issue, { body: `${index}` })).body);
    const pages = await followLinks<Comment>(bob, issuePath(issue, 'comments/?limit=10'), () =>
      comment(issue, { body: 'in between' }).then(() => undefined),
    );
    const read = pages.flat();
    expect(read.slice(0, 25)).toEqual(added);
    expect(read.slice(25).every(({ body }) => body === 'in between')).toBe(true);
    expect(new Set(read.map(({ id }) => id)).size).toBe(read.length);
  });

  it('pages through the comments that exist at the start, newest first, while others are added', async () => {
    const issue = await createIssue(ann);
    const added: Comment[] = [];
    for (let index = 0; index < 25; index += 1)
      added.unshift((await comment(issue, { body: `${index}` })).body);
    const path = issuePath(issue, 'comments/?limit=10&order=newest');
    const pages = await followLinks<Comment>(bob, path, () =>
      comment(issue, { body: 'in between' }).then(() => undefined),
    );
    expect(pages.map((page) => page.length)).toEqual([10, 10, 5]);
    expect(pages.flat()).toEqual(added);
  });

  it('ends a page before 512 KiB and links to the next page', async () => {
    const issue = await createIssue(ann);
    const bodies = [...Array(3).fill('🖨'.repeat(65_000)), ...Array(3).fill('\u0001'.repeat(43_000)), 'short'];
    for (const body of bodies) await comment(issue, { body }).expect(201);
    const pages = await followLinks<Comment>(bob, issuePath(issue, 'comments/?limit=200'));
    expect(pages.map((page) => page.length)).toEqual([2, 2, 3]);
    expect(pages.flat().map(({ body }) => body)).toEqual(bodies);
    const newest = await followLinks<Comment>(bob, issuePath(issue, 'comments/?order=newest'));
    expect(newest.flat().map(({ body }) => body)).toEqual(bodies.toReversed());
    for (const page of [...pages, ...newest])
      expect(Buffer.byteLength(JSON.stringify(page))).toBeLessThan(512 * 1024);
  });

  it('accepts a cursor with every spelling of the key', async () => {
    const issue = await createIssue(ann);
    for (const body of ['1', '2']) await comment(issue, { body });
    const { headers } = await ann.get(`${issuesPath}${issue.key}/comments/?limit=1`).expect(200);
    const cursor = new URL(headers.link?.slice(1).split('>')[0] ?? '').searchParams.get('cursor');
    for (const key of [issue.key, issue.key.toLowerCase(), issue.number]) {
      const { body } = await ann.get(`${issuesPath}${key}/comments?cursor=${cursor}`).expect(200);
      expect(body).toMatchObject([{ body: '2' }]);
    }
  });

  it('returns an empty array when there are no comments', async () => {
    const response = await ann.get(issuePath(await createIssue(ann), 'comments/')).expect(200);
    expect(response.body).toEqual([]);
    expect(response.headers.link).toBeUndefined();
  });

  it('returns 422 for unknown parameters, invalid sizes and the cursor of another list', async () => {
    const [issue, other] = [await createIssue(ann), await createIssue(ann)];
    for (const body of ['1', '2']) await comment(issue, { body });
    const { headers } = await ann.get(issuePath(issue, 'comments/?limit=1')).expect(200);
    const cursor = new URL(headers.link?.slice(1).split('>')[0] ?? '').searchParams.get('cursor');
    expectInvalidFields(await ann.get(issuePath(other, `comments/?cursor=${cursor}`)), ['cursor']);
    expectInvalidFields(await ann.get(issuePath(issue, `activity/?cursor=${cursor}`)), ['cursor']);
    expectInvalidFields(await ann.get(issuePath(issue, `comments/?order=newest&cursor=${cursor}`)), [
      'cursor',
    ]);
    await ann.get(issuePath(issue, `comments/?order=oldest&cursor=${cursor}`)).expect(200);
    for (const [query, field] of [
      ['limit=0', 'limit'],
      ['limit=201', 'limit'],
      ['limit=x', 'limit'],
      ['page=2', 'page'],
      ['order=', 'order'],
      ['order=newest&order=newest', 'order'],
      ['order=created_at', 'order'],
      ['cursor=x', 'cursor'],
      ['cursor=', 'cursor'],
    ] as const) {
      expectInvalidFields(await ann.get(issuePath(issue, `comments/?${query}`)), [field]);
    }
  });
});

describe('GET /api/v1/issues/{id}/comments/{comment_id}/', () => {
  it('returns 404 for a comment of another issue and 422 for an invalid id', async () => {
    const [issue, other] = [await createIssue(ann), await createIssue(ann)];
    const { body: added } = await comment(issue, { body: 'x' }).expect(201);
    expectProblem(await ann.get(issuePath(other, `comments/${added.id}/`)), 404, 'comment_not_found');
    expectInvalidFields(await ann.get(issuePath(issue, 'comments/1/')), ['comment_id']);
  });
});
