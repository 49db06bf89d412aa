import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createIssueSchema } from '@tessera/contracts';
import { expectInvalidFields, expectProblem } from '@tessera/testing/problems';
import { z } from 'zod';
import { describeMembers } from '../src/issues/issue-metadata.ts';
import { createIssue, etagOf, getIssue, issueIn, issuePath, issuesPath } from './support/issues.ts';
import { pathOf } from './support/pages.ts';
import { aPerson, type TestPerson } from './support/people.ts';
import { startTestApp, type TestApp } from './support/test-app.ts';

let app: TestApp;
let ann: TestPerson;
beforeAll(async () => {
  app = await startTestApp();
  ann = await aPerson(app);
});
afterAll(() => app.close());

describe('GET /api/v1/issues/{id}/', () => {
  it('returns the issue by id, key and number, in any case, to any active user', async () => {
    const issue = await createIssue(ann);
    const stranger = await aPerson(app);
    const names = [
      issue.id,
      issue.id.toUpperCase(),
      issue.key,
      issue.key.toLowerCase(),
      String(issue.number),
    ];
    for (const name of names) {
      for (const path of [`${issuesPath}${name}/`, `${issuesPath}${name}`]) {
        expect(issueIn(await stranger.get(path).expect(200))).toEqual(issue);
      }
    }
  });

  it.each([
    '01980c5e-0000-7000-8000-000000000000',
    'ISS-999999',
    'ABC-1',
    '999999',
    '2147483648',
    '9223372036854775807',
    '9999999999999999999',
  ])('returns 404 for %s to every method', async (name) => {
    const path = `${issuesPath}${name}/`;
    const answers = [
      await ann.get(path),
      await ann.put(path, { title: 'x' }),
      await ann.patch(path, { title: 'x' }),
      await ann.post(`${path}status/`, { status: 'CLOSED' }),
      await ann.post(`${path}comments/`, { body: 'x' }),
      await ann.get(`${path}comments/`),
      await ann.get(`${path}activity/`),
      await ann.post(`${path}links/`, { type: 'invoice', ref: '1' }),
      await ann.delete(`${path}links/01980c5e-0000-7000-8000-000000000000/`),
      await ann.post(`${path}sync/`),
    ];
    for (const answer of answers) expectProblem(answer, 404, 'issue_not_found');
  });

  it.each([
    'x',
    'ISS-',
    'ISS-0',
    'ISS-042',
    'ISS-4-2',
    'ABCDEFGHIJK-42',
    '0',
    '-1',
    '4.2',
    '1e3',
    '42 ',
    '٤٢',
    'ıss-42',
    '01980c5e00007000800000000000000',
    '{01980c5e-0000-7000-8000-000000000000}',
    '01980c5e-0000-7000-8000-00000000000\u0000',
    "1'; DROP TABLE issues",
    '9'.repeat(2000),
  ])('returns 422 for the id %j', async (name) => {
    const path = `${issuesPath}${encodeURIComponent(name)}/`;
    const answers = [
      await ann.get(path),
      await ann.put(path, { title: 'x' }),
      await ann.post(`${path}status/`, { status: 'CLOSED' }),
      await ann.post(`${path}comments/`, { body: 'x' }),
      await ann.get(`${path}activity/`),
      await ann.post(`${path}links/`, { type: 'invoice', ref: '1' }),
      await ann.post(`${path}sync/`),
    ];
    for (const answer of answers) expectInvalidFields(answer, ['id']);
  });

  it.each(['%', '%zz', '%E0%A4%A', '%ff'])(
    'returns 400 for the invalid percent-encoding %s',
    async (name) => {
      expectProblem(await ann.get(`${issuesPath}${name}/`), 400, 'malformed_path');
    },
  );

  it('returns 304 for the current ETag and the issue after a change', async () => {
    const issue = await createIssue(ann);
    const { headers } = await ann.get(issuePath(issue)).expect(200);
    expect(headers['cache-control']).toBe('private, no-cache');
    for (const known of [headers.etag ?? '', `"x", W/${headers.etag}`, '*']) {
      const answer = await ann.get(issuePath(issue)).set('If-None-Match', known).expect(304);
      expect(answer.text).toBe('');
      expect(answer.headers.etag).toBe(headers.etag);
    }
    for (const malformed of [`${headers.etag}x`, `${headers.etag} "x"`])
      await ann.get(issuePath(issue)).set('If-None-Match', malformed).expect(200);
    await ann.post(issuePath(issue, 'comments/'), { body: 'x' }).expect(201);
    const answer = await ann
      .get(issuePath(issue))
      .set('If-None-Match', headers.etag ?? '')
      .expect(200);
    expect(answer.headers.etag).not.toBe(headers.etag);
  });

  it.each(['gzip', 'br'])(
    'is compressed by %s, with an ETag that If-Match and If-None-Match accept',
    async (coding) => {
      const issue = await createIssue(ann, { description: 'Since Monday. '.repeat(1_000) });
      const get = () => ann.get(issuePath(issue)).set('Accept-Encoding', coding);
      const plain = await etagOf(ann, issue);
      const { headers, body } = await get().expect(200);
      expect(body).toEqual(await getIssue(ann, issue));
      expect(headers).toMatchObject({
        'content-encoding': coding,
        vary: expect.stringMatching(/\bAccept-Encoding$/),
      });
      expect(Number(headers['content-length'])).toBeLessThan(2_000);
      const { etag = '' } = headers;
      expect(etag).toBe(plain.replace(/"$/, `+${coding}"`));
      expect((await get().set('If-None-Match', etag).expect(304)).headers.etag).toBe(etag);
      expect((await get().set('If-None-Match', plain).expect(304)).headers.etag).toBe(plain);
      await ann.put(issuePath(issue), { title: 'Second' }).set('If-Match', etag).expect(200);
      await ann.put(issuePath(issue), { title: 'Third' }).set('If-Match', etag).expect(412);
      await get().set('If-None-Match', etag).expect(200);
    },
  );

  it('returns the headers of GET without a body to HEAD', async () => {
    const issue = await createIssue(ann);
    const head = await ann.head(issuePath(issue)).expect(200);
    expect(head.headers.etag).toBe(await etagOf(ann, issue));
    expect(head.text).toBeFalsy();
  });

  it('embeds the newest 50 comments, oldest first, and links to all comments', async () => {
    const issue = await createIssue(ann);
    expect(issue).toMatchObject({ comments_truncated: false, comments_count: 0 });
    await app.sql(
      `INSERT INTO comments (id, issue_id, body, author_id, created_at)
       SELECT gen_random_uuid(), $1, 'comment ' || n, $2, now() + n * interval '1 second' FROM generate_series(1, 80) n`,
      [issue.id, ann.id],
    );
    await app.sql('UPDATE issues SET comments_count = 80 WHERE id = $1', [issue.id]);
    const { comments, comments_truncated, comments_count, comments_url } = await getIssue(ann, issue);
    expect(comments.map((comment) => comment.body)).toEqual(
      Array.from({ length: 50 }, (_, index) => `comment ${index + 31}`),
    );
    expect(comments[0]?.author).toEqual({ id: ann.id, username: ann.username });
    expect({ comments_truncated, comments_count }).toEqual({ comments_truncated: true, comments_count: 80 });
    const { body } = await ann.get(pathOf(comments_url)).expect(200);
    expect(body).toHaveLength(80);
  });

  it.each([
    { what: 'four bytes a character', body: '🖨'.repeat(32_000), embedded: 2 },
    { what: 'one comment that fits', body: '🖨'.repeat(65_000), embedded: 1 },
    { what: 'characters that JSON escapes', body: '\u0001'.repeat(15_000), embedded: 2 },
    { what: 'ASCII', body: 'a'.repeat(60_000), embedded: 4 },
  ])('embeds comments of at most 256 KiB: $what', async ({ body, embedded }) => {
    const issue = await createIssue(ann);
    for (let n = 0; n < 6; n += 1) await ann.post(issuePath(issue, 'comments/'), { body }).expect(201);
    const { body: last } = await ann.post(issuePath(issue, 'comments/'), { body: 'x' }).expect(201);
    const { comments, comments_truncated } = await getIssue(ann, issue);
    expect(comments.at(-1)?.id).toBe(last.id);
    expect(comments).toHaveLength(embedded + 1);
    expect(comments_truncated).toBe(true);
    expect(Buffer.byteLength(JSON.stringify(comments))).toBeLessThanOrEqual(256 * 1024);
  });

  it('shows current usernames, and null for a person missing from the mirror', async () => {
    const issue = await createIssue(ann);
    await app.sql(`UPDATE identity_mirror SET username = 'ann the second' WHERE id = $1`, [ann.id]);
    expect((await getIssue(ann, issue)).reporter).toEqual({ id: ann.id, username: 'ann the second' });
    await app.sql('DELETE FROM identity_mirror WHERE id = $1', [ann.id]);
    expect((await getIssue(ann, issue)).reporter).toEqual({ id: ann.id, username: null });
  });

  it('returns 401 without a token', async () => {
    expectProblem(await app.http.get(issuesPath), 401, 'unauthorized');
  });
});

describe('unsupported methods', () => {
  it.each([
    ['DELETE', '01980c5e-0000-7000-8000-000000000000/', 'GET, HEAD, OPTIONS, PATCH, PUT'],
    ['POST', '01980c5e-0000-7000-8000-000000000000/', 'GET, HEAD, OPTIONS, PATCH, PUT'],
    ['DELETE', '', 'GET, HEAD, OPTIONS, POST'],
    ['PUT', '', 'GET, HEAD, OPTIONS, POST'],
    ['GET', '1/status/', 'OPTIONS, POST'],
    ['PUT', '1/sync', 'GET, HEAD, OPTIONS, POST'],
    ['PUT', '1/comments/', 'GET, HEAD, OPTIONS, POST'],
    ['GET', '1/links/', 'OPTIONS, POST'],
  ] as const)('returns 405 with Allow to %s %j', async (method, path, allow) => {
    const verb = method.toLowerCase() as 'get' | 'put' | 'post' | 'delete';
    const answer = await ann[verb](`${issuesPath}${path}`);
    expectProblem(answer, 405, 'method_not_allowed');
    expect(answer.headers.allow).toBe(allow);
  });
});

describe('OPTIONS /api/v1/issues/', () => {
  it('describes each writable member, and a new text by its schema', async () => {
    const { body } = await ann.options(issuesPath).expect(200);
    const { status: _status, ...writable } = createIssueSchema.shape;
    expect(Object.keys(body.actions.POST)).toEqual(Object.keys(writable));
    expect(describeMembers({ release_note: z.string().max(80).nullish() })).toEqual({
      release_note: {
        type: 'string',
        required: false,
        read_only: false,
        label: 'Release note',
        max_length: 80,
      },
    });
  });

  it('describes the fields of a new issue', async () => {
    const { body, headers } = await ann.options(issuesPath).expect(200);
    expect(headers.allow).toBe('GET, HEAD, OPTIONS, POST');
    expect(body.actions.POST.title).toMatchObject({ type: 'string', required: true, max_length: 255 });
    expect(body.actions.POST.priority.choices).toContainEqual({ value: 'URGENT', display_name: 'Urgent' });
    expect(body.actions.POST.links.child.children.type.choices).toContainEqual({
      value: 'helpdesk_ticket',
      display_name: 'Helpdesk ticket',
    });
  });
});
