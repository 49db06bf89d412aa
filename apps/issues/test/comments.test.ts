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
let staff: TestPerson;
beforeAll(async () => {
  app = await startTestApp();
  ann = await aPerson(app);
  bob = await aPerson(app);
  staff = await aPerson(app, { is_staff: true });
});
afterAll(() => app.close());

const comment = (issue: { id: string }, body: object, person = ann) =>
  person.post(issuePath(issue, 'comments/'), body);

/** Adds a comment to a new issue. Returns both and the path of the comment. */
async function aComment(body = 'Before', person = bob) {
  const issue = await createIssue(ann);
  const added = commentSchema.parse((await comment(issue, { body }, person).expect(201)).body);
  return { issue, comment: added, path: issuePath(issue, `comments/${added.id}/`) };
}

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
      mentions: [],
      attachments: [],
      attachments_count: 0,
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
    ['body', { body: 'x\ufffe' }],
    ['body', { body: '\u200b\n\u200d' }],
    ['body', { body: 'left \u202eand right' }],
    ['body', { body: '\u2800' }],
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

  it('returns 304 for the current ETag, until the text or the name of the author changes', async () => {
    const { path } = await aComment();
    const changes = [
      () => bob.patch(path, { body: 'After' }).expect(200),
      () => app.sql(`UPDATE identity_mirror SET username = 'renamed' WHERE id = $1`, [bob.id]),
    ];
    for (const change of changes) {
      const { headers } = await ann.get(path).expect(200);
      const read = () => ann.get(path).set('If-None-Match', headers.etag ?? '');
      await read().expect(304);
      await change();
      await read().expect(200);
    }
  });
});

describe('PATCH /api/v1/issues/{id}/comments/{comment_id}/', () => {
  it('changes the text in all places, and the history has both texts', async () => {
    const { issue, comment: before, path } = await aComment();
    const { body: changed, headers } = await bob.patch(path, { body: ' After\n' }).expect(200);
    expect(changed).toEqual({ ...before, body: ' After\n', updated_at: expect.any(String) });
    expect(changed.updated_at > before.updated_at).toBe(true);
    const read = await ann.get(path).expect(200);
    expect([read.body, read.headers.etag]).toEqual([changed, headers.etag]);
    expect((await ann.get(issuePath(issue, 'comments/')).expect(200)).body).toEqual([changed]);
    expect(await getIssue(ann, issue)).toMatchObject({
      comments: [changed],
      comments_count: 1,
      updated_at: changed.updated_at,
      version: 1,
    });
    const line = { field: null, actor: before.author };
    expect((await historyOf(ann, issue)).slice(1)).toEqual([
      { ...line, kind: 'comment_added', old: null, new: { comment_id: before.id } },
      {
        ...line,
        kind: 'comment_changed',
        old: { comment_id: before.id, body: 'Before' },
        new: { comment_id: before.id, body: ' After\n' },
      },
    ]);
  });

  it('changes nothing for an equal text, so that a retry has no effect', async () => {
    const { issue, comment: before, path } = await aComment();
    const unchanged = await getIssue(ann, issue);
    expect((await bob.patch(path, { body: 'Before' }).expect(200)).body).toEqual(before);
    expect(await getIssue(ann, issue)).toEqual(unchanged);
    expect(await historyOf(ann, issue)).toHaveLength(2);
  });

  it('is for the author only', async () => {
    const { issue, path } = await aComment();
    const unchanged = await getIssue(ann, issue);
    for (const person of [ann, staff]) {
      expectProblem(await person.patch(path, { body: 'Not mine' }), 403, 'forbidden');
    }
    expect(await getIssue(ann, issue)).toEqual(unchanged);
  });

  it('requires a current ETag in If-Match, which stays current when the author is renamed', async () => {
    const { path } = await aComment();
    const { headers } = await bob.get(path).expect(200);
    const change = (ifMatch: string, body: string) => bob.patch(path, { body }).set('If-Match', ifMatch);
    await app.sql(`UPDATE identity_mirror SET username = 'bobby' WHERE id = $1`, [bob.id]);
    await change(headers.etag ?? '', 'After').expect(200);
    expectProblem(await change(headers.etag ?? '', 'Later'), 412, 'precondition_failed');
    expectProblem(await change(`W/${headers.etag}`, 'Later'), 412, 'precondition_failed');
    expectProblem(await change('x', 'Later'), 400, 'malformed_if_match');
    await change('*', 'Later').expect(200);
  });

  it.each([{}, { body: null }, { body: ' ' }, { body: '\ud800' }, { body: 'x'.repeat(65_001) }])(
    'returns 422 for an invalid body (%#)',
    async (body) => {
      const { path } = await aComment();
      expectInvalidFields(await bob.patch(path).type('json').send(JSON.stringify(body)), ['body']);
      expect((await bob.get(path).expect(200)).body.body).toBe('Before');
    },
  );

  it('returns 404 for an unknown or deleted comment and for a comment of another issue', async () => {
    const { issue, comment: added, path } = await aComment();
    const other = await createIssue(ann);
    await bob.delete(path).expect(204);
    for (const unknown of [
      path,
      issuePath(issue, `comments/${issue.id}/`),
      issuePath(other, `comments/${added.id}/`),
      issuePath({ id: '2147483647' }, `comments/${added.id}/`),
    ]) {
      expectProblem(await bob.patch(unknown, { body: 'x' }), 404, 'comment_not_found');
    }
  });

  it('records each of several concurrent changes with the text that it replaced', async () => {
    const { issue, path } = await aComment('0');
    await Promise.all(Array.from({ length: 10 }, (_, index) => bob.patch(path, { body: `${index + 1}` })));
    const changes = (await historyOf(ann, issue)).slice(2);
    expect(changes).toHaveLength(10);
    const texts = ['0', ...changes.map((line: { new: { body: string } }) => line.new.body)];
    expect(changes.map((line: { old: { body: string } }) => line.old.body)).toEqual(texts.slice(0, -1));
    expect((await getIssue(ann, issue)).comments[0]?.body).toBe(texts.at(-1));
  });
});

describe('DELETE /api/v1/issues/{id}/comments/{comment_id}/', () => {
  it('removes the comment from all places; the history keeps the text', async () => {
    const { issue, comment: removed, path } = await aComment();
    const kept = (await comment(issue, { body: 'Kept' }).expect(201)).body;
    await bob.delete(path).expect(204);
    expectProblem(await ann.get(path), 404, 'comment_not_found');
    expect((await ann.get(issuePath(issue, 'comments/')).expect(200)).body).toEqual([kept]);
    const after = await getIssue(ann, issue);
    expect(after).toMatchObject({
      comments: [kept],
      comments_count: 1,
      comments_truncated: false,
      version: 1,
    });
    expect(after.updated_at > kept.created_at).toBe(true);
    expect((await historyOf(ann, issue)).at(-1)).toEqual({
      kind: 'comment_removed',
      field: null,
      old: { comment_id: removed.id, body: 'Before' },
      new: null,
      actor: removed.author,
    });
  });

  it('is for the author and for staff', async () => {
    const { issue, path } = await aComment();
    expectProblem(await ann.delete(path), 403, 'forbidden');
    await staff.delete(path).expect(204);
    expect((await historyOf(ann, issue)).at(-1)?.actor).toMatchObject({ id: staff.id });
    expectProblem(await ann.delete(path), 403, 'forbidden');
  });

  it('changes nothing when it is repeated, also concurrently and with the same If-Match', async () => {
    const { issue, path } = await aComment();
    const { headers } = await bob.get(path).expect(200);
    const remove = () => bob.delete(path).set('If-Match', headers.etag ?? '');
    const responses = await Promise.all(Array.from({ length: 10 }, remove));
    expect(responses.map(({ status }) => status)).toEqual(Array(10).fill(204));
    expect((await getIssue(ann, issue)).comments_count).toBe(0);
    expect(await historyOf(ann, issue)).toHaveLength(3);
  });

  it('requires a current ETag in If-Match', async () => {
    const { path } = await aComment();
    const { headers } = await bob.get(path).expect(200);
    await bob.patch(path, { body: 'After' }).expect(200);
    expectProblem(await bob.delete(path).set('If-Match', headers.etag ?? ''), 412, 'precondition_failed');
    expectProblem(
      await bob.delete(issuePath(await createIssue(ann), 'comments/1/')),
      422,
      'validation_failed',
    );
  });

  it('makes the replay of the request that added the comment a 404', async () => {
    const issue = await createIssue(ann);
    const add = () => comment(issue, { body: 'once' }).set('Idempotency-Key', 'comments-deleted');
    const first = await add().expect(201);
    const path = issuePath(issue, `comments/${first.body.id}/`);
    const changed = await ann.patch(path, { body: 'changed' }).expect(200);
    const replay = await add().expect(201);
    expect([replay.body, replay.headers.etag]).toEqual([changed.body, changed.headers.etag]);
    await ann.delete(path).expect(204);
    expectProblem(await add(), 404, 'comment_not_found');
    expect((await getIssue(ann, issue)).comments_count).toBe(0);
  });

  it('keeps pages of comments complete', async () => {
    const issue = await createIssue(ann);
    const added: Comment[] = [];
    for (let index = 0; index < 12; index += 1) added.push((await comment(issue, { body: `${index}` })).body);
    const removed = added.filter((_, index) => index % 3 !== 0);
    for (const { id } of removed.slice(1)) await ann.delete(issuePath(issue, `comments/${id}/`)).expect(204);
    const [first] = removed;
    const pages = await followLinks<Comment>(bob, issuePath(issue, 'comments/?limit=2'), async () => {
      await ann.delete(issuePath(issue, `comments/${first?.id}/`)).expect(204);
    });
    expect(pages.flat().filter(({ id }) => id !== first?.id)).toEqual(
      added.filter((_, index) => index % 3 === 0),
    );
    expect((await getIssue(ann, issue)).comments.map(({ body }) => body)).toEqual(['0', '3', '6', '9']);
  });

  it('counts the old text towards the quota', async () => {
    const limited = await startTestApp({ RATE_LIMIT_WRITES_PER_MINUTE: '30' }, app);
    const { path } = await aComment('x'.repeat(65_000));
    const person = bob.on(limited);
    const left = ({ headers }: { headers: Record<string, string> }) =>
      Number(/;r=(\d+);/.exec(headers.ratelimit ?? '')?.[1]);
    expect(left(await person.patch(path, { body: 'short' }).expect(200))).toBe(30 - 1 - 15);
    expect(left(await person.delete(path).expect(204))).toBe(30 - 1 - 15 - 1);
    const { path: other, issue } = await aComment('x'.repeat(65_000));
    expectProblem(await person.delete(other), 429, 'too_many_requests');
    expect((await getIssue(ann, issue)).comments_count).toBe(1);
    await limited.close();
  });
});
