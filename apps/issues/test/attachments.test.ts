import { randomBytes, randomUUID } from 'node:crypto';
import { connect } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { IssuesClient } from '@tessera/client/issues';
import { type Attachment, attachmentBytesMax, attachmentSchema, commentSchema } from '@tessera/contracts';
import { eventually } from '@tessera/stack/eventually';
import { expectInvalidFields, expectProblem } from '@tessera/testing/problems';
import { publicBaseUrl } from './support/environment.ts';
import {
  aPng,
  attachmentsPath,
  filePath,
  readFileOf,
  sendFile,
  sha256,
  storedFaults,
  uploadFile,
} from './support/files.ts';
import { createIssue, getIssue, historyOf, issueIn, issuePath } from './support/issues.ts';
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
afterEach(async () => expect(await storedFaults(app)).toEqual([]));

const nameIn = (file: Attachment) => `attachment:${file.id}`;
const comment = (issue: { id: string }, body: string, person = ann) =>
  person.post(issuePath(issue, 'comments/'), { body });
const rowOf = async (file: { id: string }) =>
  (await app.sql('SELECT * FROM attachments WHERE id = $1', [file.id]))[0];

describe('POST /api/v1/attachments/', () => {
  it('stores the bytes and returns what is known of the file, with the text that shows it', async () => {
    const png = aPng(640, 480);
    const response = await sendFile(ann, png, 'screen [1] @ann.png').expect(201);
    const file = attachmentSchema.parse(response.body);
    expect(file).toEqual({
      id: expect.any(String),
      issue_id: null,
      name: 'screen [1] @ann.png',
      size: png.length,
      sha256: sha256(png).toString('hex'),
      media_type: 'image/png',
      width: 640,
      height: 480,
      state: 'stored',
      url: `${publicBaseUrl}${filePath(file, 'content/')}`,
      markdown: `![screen \\[1\\] \\@ann.png](attachment:${file.id})`,
      uploader: { id: ann.id, username: ann.username },
      created_at: expect.any(String),
      expires_at: expect.any(String),
    });
    const days = (Date.parse(file.expires_at ?? '') - Date.parse(file.created_at)) / 86_400_000;
    expect(Math.round(days)).toBe(7);
    expect(response.headers.location).toBe(`${publicBaseUrl}${filePath(file)}`);
    expect((await ann.get(filePath(file)).expect(200)).body).toEqual(file);
    expect((await readFileOf(ann, file).expect(200)).body.equals(png)).toBe(true);
  });

  it.each([0, 1, 262_143, 262_144, 262_145, 1_000_000])('reads back %i bytes', async (size) => {
    const bytes = randomBytes(size);
    const file = await uploadFile(ann, bytes, 'log.txt');
    expect(file).toMatchObject({ size, media_type: 'application/octet-stream', width: null, height: null });
    expect(file.markdown).toBe(`[log.txt](attachment:${file.id})`);
    expect((await readFileOf(ann, file).expect(200)).body.equals(bytes)).toBe(true);
  });

  it('takes 25 MiB and refuses more before the bytes are sent', async () => {
    const file = await uploadFile(ann, Buffer.alloc(attachmentBytesMax, 'x'), 'large.bin');
    await ann.delete(filePath(file)).expect(204);
    const response = await ann
      .post(`${attachmentsPath}?name=a`)
      .set('Content-Length', String(attachmentBytesMax + 1))
      .catch((error: { response?: unknown }) => error.response);
    expect(response).toMatchObject({ status: 413, body: { code: 'attachment_too_large' } });
  });

  it('refuses a body without a length, a name that is missing, long or not one line, and an unknown issue', async () => {
    const url = `${app.url}${attachmentsPath}?name=a`;
    const chunked = await fetch(url, {
      method: 'POST',
      headers: { Authorization: `Bearer ${ann.token}` },
      body: new Blob(['a']).stream(),
      duplex: 'half',
    } as RequestInit);
    expect([chunked.status, await chunked.json()]).toMatchObject([411, { code: 'length_required' }]);
    for (const name of ['', 'a'.repeat(256), 'a\nb', 'a\u202eb'])
      expectInvalidFields(await sendFile(ann, Buffer.from('a'), name), ['name']);
    expectProblem(await sendFile(ann, Buffer.from('a'), 'a', '&issue=ISS-999999'), 404, 'issue_not_found');
  });

  it('counts in the metrics of the store', async () => {
    const bytes = async () =>
      Number(/^issues_attachment_bytes\{.*store="database".*\} (\d+)$/m.exec(await scrape())?.[1]);
    const scrape = () => app.dependencies.metrics.registry.metrics();
    const before = await bytes();
    await uploadFile(ann, Buffer.alloc(1));
    expect((await bytes()) - before).toBe(64 * 1024);
    expect(await scrape()).toMatch(/^issues_attachment_store_up(?:\{.*\})? 1$/m);
  });

  it('refuses bytes with another hash than Repr-Digest, and keeps none of them', async () => {
    const bytes = randomBytes(300_000);
    const digest = (hash: Buffer) => `md5=:AAAA:, sha-256=:${hash.toString('base64')}:`;
    await sendFile(ann, bytes)
      .set('Repr-Digest', digest(sha256(bytes)))
      .expect(201);
    const refused = await sendFile(ann, bytes).set('Repr-Digest', digest(randomBytes(32)));
    expectProblem(refused, 422, 'digest_mismatch');
    const [row] = await app.sql(
      'SELECT id, state FROM attachments ORDER BY created_at DESC, id DESC LIMIT 1',
    );
    expect(row).toMatchObject({ state: 'deleted' });
    const other = randomBytes(32).toString('base64');
    for (const value of [
      'sha-256=:AAAA:',
      `sha-256=${other}`,
      `sha-256=:${other.slice(0, -1)}:`,
      `SHA-256=:${other}:`,
      `sha-256=:!${other}:`,
      'sha-256',
    ])
      expectInvalidFields(await sendFile(ann, bytes).set('Repr-Digest', value), ['Repr-Digest']);
    // The last one of a name counts.
    const both = `${digest(sha256(bytes))}, ${digest(randomBytes(32))}`;
    expectProblem(await sendFile(ann, bytes).set('Repr-Digest', both), 422, 'digest_mismatch');
  });

  it('stores one file for requests with the same Idempotency-Key, and reads the bytes of a repetition no more', async () => {
    const bytes = randomBytes(2_000);
    const key = randomUUID();
    const first = await sendFile(ann, bytes).set('Idempotency-Key', key).expect(201);
    const again = await sendFile(ann, bytes).set('Idempotency-Key', key).expect(201);
    expect(again.headers['idempotency-replayed']).toBe('true');
    expect([again.body, again.headers.location]).toEqual([first.body, first.headers.location]);
    const other = await sendFile(ann, bytes, 'other.png').set('Idempotency-Key', key);
    expectProblem(other, 422, 'idempotency_key_reused');
    await ann.delete(filePath(first.body)).expect(204);
    const late = await sendFile(ann, bytes).set('Idempotency-Key', key);
    expectProblem(late, 404, 'attachment_not_found');
  });

  it('adds the file to an issue at once, with its history and its event', async () => {
    const issue = await createIssue(ann);
    const file = await uploadFile(bob, aPng(), 'a.png', `&issue=${issue.key}`);
    expect(file).toMatchObject({ issue_id: issue.id, expires_at: null });
    expect(await getIssue(ann, issue)).toMatchObject({
      attachments_count: 1,
      attachments: [{ id: file.id }],
    });
    expect((await historyOf(ann, issue)).at(-1)).toMatchObject({
      kind: 'attachment_added',
      new: { attachment_id: file.id, name: 'a.png', size: file.size },
      actor: { id: bob.id },
    });
    const [event] = await app.sql(
      'SELECT type, data FROM events WHERE subject_id = $1 ORDER BY tx DESC LIMIT 1',
      [issue.id],
    );
    expect(event).toMatchObject({ type: 'issue.updated', data: { changed: ['attachments'] } });
  });

  it('refuses what exceeds the quota of a person, of a day and of the store', async () => {
    const carl = await aPerson(app);
    const add = (count: number, size: number, issue: string | null, at = 'now()') =>
      app.sql(
        `INSERT INTO attachments (id, key, store, uploader_id, name, size, state, sha256, issue_id, created_at)
         SELECT gen_random_uuid(), gen_random_uuid(), 's3', $1, 'x', $2, 'stored', '', $3, ${at} FROM generate_series(1, $4::int)`,
        [carl.id, size, issue, count],
      );
    const clear = () => app.sql('DELETE FROM attachments WHERE uploader_id = $1', [carl.id]);
    const usage = (store: string, bytes: string) =>
      app.sql('UPDATE attachment_usage SET bytes = bytes + $2::bigint WHERE store = $1', [store, bytes]);
    const small = () => sendFile(carl, Buffer.from('a'), 'a');
    try {
      // A small file counts as 64 KiB.
      await add(1_600, 1, null);
      expectProblem(await small(), 409, 'quota_exceeded');
      const issue = await createIssue(carl);
      const bound = await uploadFile(carl, Buffer.from('a'), 'a', `&issue=${issue.key}`);
      await carl.delete(filePath(bound)).expect(204);
      await clear();
      await add(41, 25 * 1024 * 1024, issue.id);
      expectProblem(await small(), 409, 'quota_exceeded');
      await clear();
      await add(41, 25 * 1024 * 1024, issue.id, `now() - interval '25 hours'`);
      await clear();
      await usage('database', String(10 * 1024 ** 3));
      expectProblem(await small(), 409, 'quota_exceeded');
      await usage('database', String(-10 * 1024 ** 3));
      expect((await small()).status).toBe(201);
    } finally {
      await clear();
      await app.sql(`UPDATE attachment_usage SET bytes = (SELECT coalesce(sum(greatest(size, 65536)), 0) FROM attachments a
        WHERE a.store = attachment_usage.store AND state = 'stored') + (SELECT coalesce(sum(charge), 0) FROM blob_deletions d WHERE d.store = attachment_usage.store)`);
      await app.sql(
        'DELETE FROM attachment_chunks WHERE key NOT IN (SELECT key FROM attachments) AND key NOT IN (SELECT key FROM blob_deletions)',
      );
    }
  });
});

describe('a text that names a file', () => {
  it('binds it to the issue in one statement with the creation', async () => {
    const [first, second] = [await uploadFile(ann, aPng(2, 1), 'a.png'), await uploadFile(ann)];
    const description = `Look: ![a](${nameIn(first)}) and [b](${nameIn(second).toUpperCase()}?a=1)`;
    const created = await ann.post('/api/v1/issues/', { title: 'a', description }).expect(201);
    const issue = issueIn(created);
    const shown = {
      id: first.id,
      name: 'a.png',
      size: first.size,
      media_type: 'image/png',
      width: 2,
      height: 1,
      url: first.url,
    };
    expect(issue.attachments).toEqual([shown, expect.objectContaining({ id: second.id })]);
    expect(issue.attachments_count).toBe(2);
    expect(await getIssue(bob, issue)).toEqual(issue);
    expect((await ann.get(filePath(first)).expect(200)).body).toMatchObject({
      issue_id: issue.id,
      expires_at: null,
    });
    expect((await readFileOf(bob, first).expect(200)).body.length).toBe(first.size);
    const listed = await bob.get(issuePath(issue, 'attachments/')).expect(200);
    expect(listed.body.map(({ id }: Attachment) => id)).toEqual([first.id, second.id]);
    const links = [{ type: 'invoice', ref: '1' }];
    const third = await uploadFile(ann);
    const linked = await createIssue(ann, { description: nameIn(third), links });
    expect(linked.attachments).toMatchObject([{ id: third.id }]);
  });

  it('binds it with a comment, a change of a comment, of the description and of the status', async () => {
    const issue = await createIssue(ann);
    const files = await Promise.all([1, 2, 3, 4].map(() => uploadFile(ann)));
    const [one, two, three, four] = files as [Attachment, Attachment, Attachment, Attachment];
    const added = commentSchema.parse((await comment(issue, `see ${nameIn(one)}`).expect(201)).body);
    expect([added.attachments?.map(({ id }) => id), added.attachments_count]).toEqual([[one.id], 1]);
    const path = issuePath(issue, `comments/${added.id}/`);
    const changed = await ann.patch(path, { body: `${nameIn(two)} ${nameIn(one)}` }).expect(200);
    expect(changed.body.attachments.map(({ id }: Attachment) => id)).toEqual([two.id, one.id]);
    expect((await bob.get(path).expect(200)).body).toEqual(changed.body);
    const described = issueIn(await ann.patch(issuePath(issue), { description: nameIn(three) }).expect(200));
    expect(described.attachments_count).toBe(3);
    const status = { status: 'CLOSED', comment: nameIn(four) };
    const closed = issueIn(await ann.post(issuePath(issue, 'status/'), status).expect(200));
    expect(closed.attachments_count).toBe(4);
    expect(closed.comments.at(-1)?.attachments).toMatchObject([{ id: four.id }]);
    expect(await getIssue(bob, issue)).toEqual(closed);
    // The history still shows a file that no text names any more.
    await ann.patch(path, { body: 'nothing' }).expect(200);
    expect((await getIssue(ann, issue)).attachments_count).toBe(4);
  });

  it('leaves a file of another person, of another issue and one that does not exist as it is', async () => {
    const [issue, other] = [await createIssue(ann), await createIssue(ann)];
    const [ofBob, ofOther] = [await uploadFile(bob), await uploadFile(ann)];
    await comment(other, nameIn(ofOther)).expect(201);
    const text = `${nameIn(ofBob)} ${nameIn(ofOther)} attachment:${randomUUID()} attachment:x`;
    const added = await comment(issue, text).expect(201);
    expect([added.body.attachments, added.body.attachments_count]).toEqual([[], 0]);
    expect((await getIssue(ann, issue)).attachments_count).toBe(0);
    expect(await rowOf(ofBob)).toMatchObject({ issue_id: null });
    expectProblem(await ann.get(filePath(ofBob)), 404, 'attachment_not_found');
  });

  it('is refused with more than 20 files, and by an issue with 200', async () => {
    const issue = await createIssue(ann);
    const many = Array.from({ length: 21 }, () => `attachment:${randomUUID()}`).join(' ');
    expectProblem(await comment(issue, many), 409, 'too_many_attachments');
    expectProblem(
      await ann.post('/api/v1/issues/', { title: 'a', description: many }),
      409,
      'too_many_attachments',
    );
    await app.sql(
      `WITH full_issue AS (UPDATE issues SET attachments_count = 200 WHERE id = $1)
       INSERT INTO attachments (id, key, store, uploader_id, name, size, state, sha256, issue_id)
       SELECT gen_random_uuid(), gen_random_uuid(), 's3', $2, 'x', 1, 'stored', '', $1 FROM generate_series(1, 200)`,
      [issue.id, bob.id],
    );
    const file = await uploadFile(ann);
    expectProblem(await comment(issue, nameIn(file)), 409, 'too_many_attachments');
    expectProblem(
      await ann.patch(issuePath(issue), { description: nameIn(file) }),
      409,
      'too_many_attachments',
    );
    expectProblem(
      await sendFile(ann, Buffer.from('a'), 'a', `&issue=${issue.id}`),
      409,
      'too_many_attachments',
    );
    expect(await rowOf(file)).toMatchObject({ issue_id: null, state: 'stored' });
    await comment(issue, 'no file').expect(201);
    expect((await getIssue(ann, issue)).attachments).toHaveLength(20);
    expect((await ann.get(issuePath(issue, 'attachments/')).expect(200)).body).toHaveLength(200);
    await app.sql('DELETE FROM attachments WHERE issue_id = $1', [issue.id]);
    await app.sql('UPDATE issues SET attachments_count = 0 WHERE id = $1', [issue.id]);
    await app.sql(
      `UPDATE attachment_usage SET bytes = (SELECT coalesce(sum(charge), 0) FROM blob_deletions d WHERE d.store = 's3') WHERE store = 's3'`,
    );
  });

  it('binds a file once, also if many texts name it at the same time', async () => {
    const issues = await Promise.all(Array.from({ length: 6 }, () => createIssue(ann)));
    const file = await uploadFile(ann);
    const answers = await Promise.all(issues.map((issue) => comment(issue, nameIn(file))));
    expect(answers.map(({ status }) => status)).toEqual(Array(6).fill(201));
    const counts = await Promise.all(
      issues.map(async (issue) => (await getIssue(ann, issue)).attachments_count ?? 0),
    );
    expect(counts.reduce((sum, count) => sum + count, 0)).toBe(1);
  });
});

describe('GET /api/v1/attachments/{id}/content/', () => {
  let file: Attachment;
  const bytes = randomBytes(600_000);
  beforeAll(async () => {
    file = await uploadFile(ann, bytes, `r\u00e9sum\u00e9 "100%" 'a'.pdf`);
  });
  const part = (range: string) => readFileOf(ann, file).set('Range', range);

  it('has a strong ETag, headers that let nothing run, and a name that old programs read, too', async () => {
    const { headers } = await readFileOf(ann, file).expect(200);
    expect(headers).toMatchObject({
      'content-type': 'application/octet-stream',
      'content-length': String(bytes.length),
      'content-disposition': `attachment; filename="r_sum_ _100__ 'a'.pdf"; filename*=UTF-8''r%C3%A9sum%C3%A9%20%22100%25%22%20%27a%27.pdf`,
      'accept-ranges': 'bytes',
      'cache-control': 'private, no-cache',
      'content-security-policy': "sandbox; default-src 'none'",
      'cross-origin-resource-policy': 'same-origin',
      'x-content-type-options': 'nosniff',
      etag: `"${sha256(bytes).toString('base64url')}"`,
    });
    const head = await ann.head(filePath(file, 'content/')).expect(200);
    expect([head.headers['content-length'], head.headers.etag]).toEqual([String(bytes.length), headers.etag]);
    const known = await ann
      .get(filePath(file, 'content/'))
      .set('If-None-Match', headers.etag ?? '')
      .expect(304);
    expect(known.headers.etag).toBe(headers.etag);
    const picture = await uploadFile(ann, aPng(), 'a.png');
    expect((await readFileOf(ann, picture).expect(200)).headers).toMatchObject({
      'content-type': 'image/png',
      'content-disposition': `inline; filename="a.png"; filename*=UTF-8''a.png`,
    });
  });

  it('sends one range', async () => {
    for (const [range, start, end] of [
      ['bytes=0-0', 0, 1],
      ['bytes=262143-262144', 262_143, 262_145],
      ['bytes=100000-', 100_000, 600_000],
      ['bytes=-5', 599_995, 600_000],
      ['bytes=-9999999', 0, 600_000],
      ['bytes=0-99999999999999999999999', 0, 600_000],
      ['bytes=131072-500000', 131_072, 500_001],
    ] as const) {
      const { body, headers } = await part(range).expect(206);
      expect([range, headers['content-range']]).toEqual([range, `bytes ${start}-${end - 1}/600000`]);
      expect(body.equals(bytes.subarray(start, end))).toBe(true);
    }
    for (const range of ['bytes=0-1,4-5', 'bytes=5-1', 'bytes=-', 'lines=1-2', 'bytes=x'])
      expect((await part(range).expect(200)).body).toHaveLength(bytes.length);
    for (const range of ['bytes=600000-', 'bytes=99999999999999999999999-', 'bytes=-0']) {
      const refused = await ann.get(filePath(file, 'content/')).set('Range', range);
      expectProblem(refused, 416, 'range_not_satisfiable');
      expect(refused.headers['content-range']).toBe('bytes */600000');
    }
    const etag = `"${sha256(bytes).toString('base64url')}"`;
    await part('bytes=0-1').set('If-Range', etag).expect(206);
    await part('bytes=0-1').set('If-Range', '"other"').expect(200);
  });

  it('serves 40 downloads of one person, who waits for some of them', async () => {
    // A request waits for five seconds, in which a busy machine serves fewer.
    const download = async () => {
      for (;;) {
        const response = await readFileOf(ann, file);
        if (response.status !== 429) return response;
        await pause(Number(response.headers['retry-after']) * 1000);
      }
    };
    const others = await Promise.all(Array.from({ length: 40 }, download));
    expect(others.map(({ status, body }) => [status, body.length])).toEqual(
      Array(40).fill([200, bytes.length]),
    );
  });

  it('is a 503 if the bytes are not there', async () => {
    const lost = await uploadFile(ann, randomBytes(300_000));
    await app.sql(
      'DELETE FROM attachment_chunks WHERE key = (SELECT key FROM attachments WHERE id = $1) AND place = 0',
      [lost.id],
    );
    expectProblem(await ann.get(filePath(lost, 'content/')), 503, 'storage_unavailable');
    await ann.delete(filePath(lost)).expect(204);
  });

  it('is not for others while no issue has the file, not even for staff', async () => {
    for (const person of [bob, staff])
      for (const path of [filePath(file), filePath(file, 'content/')])
        expectProblem(await person.get(path), 404, 'attachment_not_found');
    expectProblem(await app.http.get(filePath(file, 'content/')), 401, 'unauthorized');
  });
});

describe('the client package', () => {
  it('uploads and downloads with progress', async () => {
    const client = new IssuesClient({ baseUrl: app.url, token: ann.token });
    const issue = await createIssue(ann);
    const bytes = randomBytes(3_000_000);
    const sent: number[] = [];
    const onProgress = (done: number, total: number) => {
      expect(total).toBe(bytes.length);
      sent.push(done);
    };
    const file = await client.upload('a.bin', bytes, { issue: issue.key, onProgress });
    expect([sent.length > 1, sent.at(-1)]).toEqual([true, bytes.length]);
    expect(await client.attachment(file.id)).toEqual(file);
    expect(await client.attachments(issue.key)).toEqual([file]);
    const received: number[] = [];
    const blob = await client.download(file.id, { onProgress: (done) => received.push(done) });
    expect(Buffer.from(await blob.arrayBuffer()).equals(bytes)).toBe(true);
    expect([blob.type, received.at(-1)]).toEqual(['application/octet-stream', bytes.length]);
    expect((await client.upload('b', new Blob(['b']))).size).toBe(1);
    await client.deleteAttachment(file.id);
    await expect(client.download(file.id)).rejects.toMatchObject({ code: 'attachment_not_found' });
  });
});

describe('a client that stops in the middle of an upload', () => {
  it('leaves nothing that is not deleted', async () => {
    const { hostname, port } = new URL(app.url);
    const socket = connect(Number(port), hostname);
    socket.write(
      `POST ${attachmentsPath}?name=half HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${ann.token}\r\nContent-Length: 600000\r\n\r\n`,
    );
    socket.write(Buffer.alloc(300_000));
    const state = async () => (await app.sql(`SELECT state FROM attachments WHERE name = 'half'`))[0]?.state;
    await eventually(state, (one) => one === 'uploading');
    socket.destroy();
    await eventually(state, (one) => one === 'deleted');
    const [row] = await app.sql(
      `SELECT due_at < now() + interval '11 minutes' AS soon FROM blob_deletions JOIN attachments USING (key) WHERE name = 'half'`,
    );
    expect(row).toEqual({ soon: true });
  });
});

describe('DELETE /api/v1/attachments/{id}/', () => {
  const deletions = async (file: { id: string }) =>
    app.sql('SELECT d.store FROM blob_deletions d JOIN attachments a USING (key) WHERE a.id = $1', [file.id]);

  it('removes a file without an issue, for its uploader', async () => {
    const file = await uploadFile(ann);
    expectProblem(await bob.delete(filePath(file)), 404, 'attachment_not_found');
    await ann.delete(filePath(file)).expect(204);
    await ann.delete(filePath(file)).expect(204);
    expect((await ann.get(filePath(file)).expect(200)).body).toEqual({
      ...file,
      state: 'deleted',
      expires_at: expect.any(String),
    });
    for (const person of [bob, staff]) {
      expectProblem(await person.get(filePath(file)), 404, 'attachment_not_found');
      expectProblem(await person.delete(filePath(file)), 404, 'attachment_not_found');
    }
    expectProblem(await ann.get(filePath(file, 'content/')), 404, 'attachment_not_found');
    expect(await deletions(file)).toHaveLength(1);
  });

  it('removes a file of an issue, for its uploader and staff, with its history', async () => {
    const issue = await createIssue(ann);
    for (const person of [ann, staff]) {
      const file = await uploadFile(ann, randomBytes(10), 'secret.txt');
      const { body: added } = await comment(issue, nameIn(file)).expect(201);
      expectProblem(await bob.delete(filePath(file)), 403, 'forbidden');
      await person.delete(filePath(file)).expect(204);
      await person.delete(filePath(file)).expect(204);
      expect(await deletions(file)).toHaveLength(1);
      expect(await getIssue(ann, issue)).toMatchObject({ attachments: [], attachments_count: 0 });
      expect((await ann.get(issuePath(issue, `comments/${added.id}/`)).expect(200)).body.attachments).toEqual(
        [],
      );
      expectProblem(await ann.get(filePath(file, 'content/')), 404, 'attachment_not_found');
      expect((await bob.get(filePath(file)).expect(200)).body).toMatchObject({ state: 'deleted' });
      const removals = (await historyOf(ann, issue)).filter(
        ({ kind }: { kind: string }) => kind === 'attachment_removed',
      );
      expect(removals.at(-1)).toMatchObject({
        old: { name: 'secret.txt', size: 10 },
        actor: { id: person.id },
      });
    }
  });

  it('counts a file once that is deleted by many at the same time', async () => {
    const issue = await createIssue(ann);
    const [file, kept] = [await uploadFile(ann), await uploadFile(ann)];
    await comment(issue, `${nameIn(file)} ${nameIn(kept)}`).expect(201);
    const answers = await Promise.all(Array.from({ length: 6 }, () => ann.delete(filePath(file))));
    expect(answers.map(({ status }) => status)).toEqual(Array(6).fill(204));
    expect((await getIssue(ann, issue)).attachments_count).toBe(1);
  });
});
