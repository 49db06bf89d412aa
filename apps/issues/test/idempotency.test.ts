import { randomBytes, randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { ProblemError } from '@tessera/service-kit';
import { expectInvalidFields, expectProblem } from '@tessera/testing/problems';
import type { Response } from 'supertest';
import { createIssue, getIssue, historyOf, issuePath, issuesPath } from './support/issues.ts';
import { aPerson, type TestPerson } from './support/people.ts';
import { startTestApp, type TestApp } from './support/test-app.ts';

let app: TestApp;
let ann: TestPerson;
beforeAll(async () => {
  app = await startTestApp();
  ann = await aPerson(app);
});
afterAll(() => app.close());

const send = (path: string, body: object, key: string, person = ann) =>
  person.post(path, body).set('Idempotency-Key', key);
const countIssues = async () => Number((await app.sql('SELECT count(*) FROM issues'))[0]?.count);

function expectReplayOf(first: Response, second: Response): void {
  expect(second.status).toBe(first.status);
  expect(second.text).toBe(first.text);
  for (const name of ['location', 'etag', 'content-type', 'retry-after']) {
    expect(second.headers[name]).toBe(first.headers[name]);
  }
  expect(second.headers['idempotency-replayed']).toBe('true');
  expect(first.headers['idempotency-replayed']).toBeUndefined();
}

describe('Idempotency-Key', () => {
  it('creates one issue and replays its response byte for byte, and after a change with the current state', async () => {
    const key = randomUUID();
    const before = await countIssues();
    const first = await send(
      issuesPath,
      { title: 'ünï "quoted" 🖨', links: [{ type: 'invoice', ref: '1' }] },
      key,
    ).expect(201);
    const again = () =>
      send(issuesPath, { title: 'ünï "quoted" 🖨', links: [{ type: 'invoice', ref: '1' }] }, key);
    expectReplayOf(first, await again());
    await ann.put(issuePath(first.body), { title: 'changed since' }).expect(200);
    const present = await ann.get(issuePath(first.body)).expect(200);
    const later = await again();
    expect(later.status).toBe(201);
    expect(later.text).toBe(present.text);
    expect(later.headers).toMatchObject({
      location: first.headers.location,
      etag: present.headers.etag,
      'idempotency-replayed': 'true',
    });
    expect(await countIssues()).toBe(before + 1);
  });

  it('takes effect once for the id and the number of the issue in the path', async () => {
    const issue = await createIssue(ann);
    const { id, key: name, number } = issue;
    const key = randomUUID();
    const responses: Response[] = [];
    for (const spelling of [name, name.toLowerCase(), number, id, id.toUpperCase()]) {
      for (const end of ['comments/', 'Comments']) {
        responses.push(await send(`${issuesPath}${spelling}/${end}`, { body: 'once' }, key).expect(201));
      }
    }
    expect(new Set(responses.map(({ text }) => text)).size).toBe(1);
    expect((await getIssue(ann, issue)).comments_count).toBe(1);
    await send(`${issuesPath}999999/comments/`, { body: 'once' }, key).expect(404);
  });

  it('applies a comment and a status change once', async () => {
    const issue = await createIssue(ann);
    for (const [part, body] of [
      ['comments/', { body: 'once' }],
      ['status/', { status: 'RESOLVED', comment: 'twice' }],
    ] as const) {
      const key = randomUUID();
      const first = await send(issuePath(issue, part), body, key);
      expect(first.status).toBeLessThan(300);
      expectReplayOf(first, await send(issuePath(issue, part), body, key));
    }
    expect((await getIssue(ann, issue)).comments.map(({ body }) => body)).toEqual(['once', 'twice']);
  });

  it('replays a rejection', async () => {
    const issue = await createIssue(ann);
    await ann.post(issuePath(issue, 'status/'), { status: 'CLOSED' }).expect(200);
    for (const [part, body, code] of [
      ['status/', { status: 'OPEN' }, 'illegal_transition'],
      ['sync/', {}, 'tracker_not_configured'],
    ] as const) {
      const key = randomUUID();
      const first = await send(issuePath(issue, part), body, key);
      expectProblem(first, 409, code);
      expectReplayOf(first, await send(issuePath(issue, part), body, key));
    }
  });

  it('replays a version conflict with the current issue', async () => {
    const issue = await createIssue(ann);
    await ann.put(issuePath(issue), { title: 'second version' }).expect(200);
    const key = randomUUID();
    const body = { status: 'CLOSED', version: 1 };
    const first = await send(issuePath(issue, 'status/'), body, key);
    expectProblem(first, 409, 'version_conflict');
    const second = await send(issuePath(issue, 'status/'), body, key);
    expect(second.body).toEqual(first.body);
    await ann.put(issuePath(issue), { title: 'third version' }).expect(200);
    const third = await send(issuePath(issue, 'status/'), body, key);
    expect(third.status).toBe(409);
    expect(third.body).toEqual({ ...first.body, issue: await getIssue(ann, issue) });
    expect(third.headers).not.toHaveProperty('etag');
  });

  it('stores at most 1 MB per minute of one user at the write limit for an issue of any size', async () => {
    // A fifth of the write limit of a minute.
    const writes = 60;
    const issue = await createIssue(ann, { description: '🖨'.repeat(60_000) });
    await ann.post(issuePath(issue, 'comments/'), { body: '🖨'.repeat(60_000) }).expect(201);
    const size = async () =>
      Number((await app.sql(`SELECT pg_total_relation_size('idempotency_keys') AS size`))[0]?.size);
    const key = (count: number) => `${count}-${randomBytes(200).toString('base64url')}`.slice(0, 255);
    for (const [body, status] of [
      [{ status: 'OPEN' }, 200],
      [{ status: 'OPEN', version: 7 }, 409],
      [{ status: 'REOPENED' }, 409],
    ] as const) {
      const before = await size();
      for (let count = 0; count < writes; count += 1)
        await send(issuePath(issue, 'status/'), body, key(count)).expect(status);
      const growth = (await size()) - before;
      expect(growth).toBeGreaterThan(0);
      expect(5 * growth).toBeLessThanOrEqual(1_000_000);
    }
  });

  it('stores a long error response without its additional members', async () => {
    const request = {
      userId: ann.id,
      method: 'POST',
      path: '/api/v1/issues',
      issue: undefined,
      key: randomUUID(),
      fingerprint: 'x',
    };
    const once = (detail: string) =>
      app.dependencies.idempotency.once(
        request,
        'request-1',
        () => async () => {
          const errors = Array.from({ length: 50 }, () => ({ field: 'external', message: 'x'.repeat(100) }));
          throw new ProblemError({ status: 422, code: 'tracker_rejected', detail, errors });
        },
        () => Promise.reject(new Error('there is no resource')),
      );
    await expect(once('x'.repeat(5000))).rejects.toMatchObject({ code: 'tracker_rejected' });
    const { status, body } = await once('x');
    expect(status).toBe(422);
    expect(JSON.parse(String(body))).toEqual({
      type: expect.stringMatching(/^https:.*\/tracker_rejected$/),
      title: 'Unprocessable Content',
      status: 422,
      detail: 'x'.repeat(200),
      code: 'tracker_rejected',
      request_id: 'request-1',
    });
  });

  it.each([
    ['create', 201, () => [issuesPath, { title: 'at once' }] as const],
    [
      'comment',
      201,
      (issue: { id: string }) => [issuePath(issue, 'comments/'), { body: 'at once' }] as const,
    ],
    [
      'status',
      200,
      (issue: { id: string }) => [issuePath(issue, 'status/'), { status: 'CLOSED', comment: 'x' }] as const,
    ],
  ])(
    'applies one of twenty concurrent requests (%s) and sends all of them the same response',
    async (_name, status, request) => {
      const issue = await createIssue(ann);
      const [path, body] = request(issue);
      const before = await countIssues();
      const key = randomUUID();
      const answers = await Promise.all(Array.from({ length: 20 }, () => send(path, body, key)));
      expect(answers.map((answer) => answer.status)).toEqual(Array(20).fill(status));
      const originals = answers.filter((answer) => answer.headers['idempotency-replayed'] === undefined);
      expect(originals).toHaveLength(1);
      for (const answer of answers) expect(answer.text).toBe(originals[0]?.text);
      expect(await countIssues()).toBe(path === issuesPath ? before + 1 : before);
      expect((await historyOf(ann, issue)).length).toBe({ create: 1, comment: 2, status: 3 }[_name]);
    },
  );

  it('returns 422 for the same key with another body and changes nothing', async () => {
    const key = randomUUID();
    await send(issuesPath, { title: 'one' }, key).expect(201);
    const before = await countIssues();
    expectProblem(await send(issuesPath, { title: 'another' }, key), 422, 'idempotency_key_reused');
    expect(await countIssues()).toBe(before);
  });

  it('scopes a key to the person, the method and the path', async () => {
    const key = randomUUID();
    const bob = await aPerson(app);
    const issue = await createIssue(ann);
    const answers = [
      await send(issuesPath, { title: 'x' }, key),
      await send(issuesPath, { title: 'x' }, key, bob),
      await send(issuePath(issue, 'comments/'), { body: 'x' }, key),
    ];
    for (const answer of answers) {
      expect(answer.status).toBe(201);
      expect(answer.headers['idempotency-replayed']).toBeUndefined();
    }
    expect((await send('/api/v1/issues', { title: 'x' }, key)).headers['idempotency-replayed']).toBe('true');
  });

  it('does not store a rejection by validation, so that the corrected request may use the same key', async () => {
    const key = randomUUID();
    expectInvalidFields(await send(issuesPath, { title: '' }, key), ['title']);
    const unknown = await send(issuesPath, { title: 'x', assignee_email: 'nobody@example.com' }, key);
    expectInvalidFields(unknown, ['assignee_email'], 'unknown_identity');
    await send(issuesPath, { title: 'x' }, key).expect(201);
  });

  it.each(['', 'two words', 'ü', 'x'.repeat(256)])('returns 422 for the key %j', async (key) => {
    const header = Buffer.from(key).toString('latin1');
    expectInvalidFields(await send(issuesPath, { title: 'x' }, header), ['Idempotency-Key']);
  });

  it('stores nothing when the change fails, so that the next attempt succeeds', async () => {
    const key = randomUUID();
    await app.sql(`ALTER TABLE activity ADD CONSTRAINT broken CHECK (kind <> 'created') NOT VALID`);
    const before = await countIssues();
    expect((await send(issuesPath, { title: 'x' }, key)).status).toBe(500);
    await app.sql('ALTER TABLE activity DROP CONSTRAINT broken');
    expect(await countIssues()).toBe(before);
    expect(await app.sql('SELECT * FROM idempotency_keys WHERE key = $1', [key])).toEqual([]);
    await send(issuesPath, { title: 'x' }, key).expect(201);
  });

  it('returns 409 with Retry-After while the first request runs and takes over after its lease has expired', async () => {
    const key = randomUUID();
    const issue = await createIssue(ann);
    const path = issuePath(issue, 'sync/');
    const first = await send(path, {}, key);
    await app.sql('UPDATE idempotency_keys SET status = NULL WHERE key = $1', [key]);
    const running = await send(path, {}, key);
    expectProblem(running, 409, 'request_in_progress');
    expect(running.headers['retry-after']).toBe('1');
    await app.sql(`UPDATE idempotency_keys SET claimed_at = now() - interval '61 seconds' WHERE key = $1`, [
      key,
    ]);
    expectProblem(await send(path, {}, key), 409, 'tracker_not_configured');
    expect((await send(path, {}, key)).text).not.toBe(first.text);
  });

  it('returns 409 instead of waiting for a long transaction with the same key', async () => {
    const key = randomUUID();
    await send(issuesPath, { title: 'x' }, key).expect(201);
    await app.sql('DELETE FROM idempotency_keys WHERE key = $1', [key]);
    const claim = app.database.$transaction(
      async (transaction) => {
        await transaction.$executeRaw`
          INSERT INTO idempotency_keys (user_id, method, path, key, fingerprint)
          VALUES (${ann.id}::uuid, 'POST', '/api/v1/issues', ${key}, 'x')`;
        const answer = await send(issuesPath, { title: 'x' }, key);
        expectProblem(answer, 409, 'request_in_progress');
        expect(answer.headers['retry-after']).toBe('1');
        throw new Error('undone');
      },
      { timeout: 10_000 },
    );
    await expect(claim).rejects.toThrow('undone');
    await send(issuesPath, { title: 'x' }, key).expect(201);
  });

  it('deletes a response after one day', async () => {
    const key = randomUUID();
    await send(issuesPath, { title: 'yesterday' }, key).expect(201);
    await send(issuesPath, { title: 'x' }, `${key}-other`).expect(201);
    await app.sql(`UPDATE idempotency_keys SET claimed_at = now() - interval '25 hours' WHERE key LIKE $1`, [
      `${key}%`,
    ]);
    const second = await send(issuesPath, { title: 'today' }, key).expect(201);
    expect(second.headers['idempotency-replayed']).toBeUndefined();
    expect(await app.sql('SELECT key FROM idempotency_keys WHERE key LIKE $1', [`${key}%`])).toEqual([
      { key },
    ]);
  });
});
