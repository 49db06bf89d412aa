import { randomBytes, randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Comment, Issue } from '@tessera/contracts';
import type { Response } from 'supertest';
import { filePath, sendFile } from './support/files.ts';
import { createIssue, issuePath, issuesPath } from './support/issues.ts';
import { aPerson, type TestPerson } from './support/people.ts';
import { startTestApp, type TestApp } from './support/test-app.ts';

const writesPerMinute = 300;
/** The limit in docs/security/costs-issues.md. */
const bytesPerMinuteMax = 25_000_000;

let app: TestApp;
let ann: TestPerson;
/** An issue with the maximum number of words in the search index. */
let wordy: Issue;
/** An issue whose texts are changed. */
let changed: Issue;
/** A comment whose text is changed. */
let comment: Comment;
beforeAll(async () => {
  app = await startTestApp({ RATE_LIMIT_WRITES_PER_MINUTE: '1000000' });
  ann = await aPerson(app);
  wordy = await createIssue(ann, { description: words(60_000) });
  changed = await createIssue(ann);
  comment = (await ann.post(issuePath(wordy, 'comments/'), { body: 'x' }).expect(201)).body;
  await app.sql(
    `INSERT INTO identity_mirror (id, username, email, as_of, source)
     SELECT gen_random_uuid(), 'p' || n, n || '@example.com', now(), 'lookup' FROM generate_series(1, 20) n`,
  );
});
afterAll(() => app.close());

/** Returns the shortest distinct words: the text with the largest search index. */
function words(length: number): string {
  const text = randomBytes(length).toString('base64url');
  return (text.match(/.{5}/g) ?? []).join(' ').slice(0, length);
}

const viewsPath = '/api/v1/views/';

/** Returns characters of four bytes each that PostgreSQL cannot compress. */
function noise(length: number): string {
  return String.fromCodePoint(
    ...[...randomBytes(length * 2)].flatMap((_, at, bytes) =>
      at % 2 === 0 ? [0x1f000 + ((bytes[at] ?? 0) << 2) + ((bytes[at + 1] ?? 0) & 3)] : [],
    ),
  );
}

/** Mentions of as many people as a text can mention. */
const mentions = Array.from({ length: 20 }, (_, index) => `@p${index + 1}`).join(' ');

const link = (ref: string) => ({
  type: 'invoice',
  ref: `${ref}-${words(200)}`,
  title: words(250),
  url: `https://example.com/${words(2_000).replaceAll(' ', '')}`,
  metadata: { a: words(4_000) },
});

// A body just below the size that counts as a further request, and the largest body. The number of writes is so large that
// a single page of 8 KiB does not change the result by more than 0.1 MB.
const sizes = [
  ['4 KiB of words', () => words(4_000), 24],
  ['65,000 characters of four bytes', () => noise(65_000), 6],
] as const;

interface Write {
  operation: string;
  send: (text: string, count: number) => PromiseLike<Response>;
}

const writes: Write[] = [
  { operation: 'createIssue', send: (description) => ann.post(issuesPath, { title: 'x', description }) },
  {
    operation: 'createIssue with 20 mentions',
    send: (description) =>
      ann.post(issuesPath, { title: 'x', description: `${mentions} ${description.slice(200)}` }),
  },
  { operation: 'patchIssue', send: (description) => ann.patch(issuePath(changed), { description }) },
  {
    operation: 'changeIssueStatus',
    send: (comment, count) =>
      ann.post(issuePath(wordy, 'status/'), { status: count % 2 === 0 ? 'IN_PROGRESS' : 'OPEN', comment }),
  },
  {
    operation: 'changeIssues',
    send: (_, count) =>
      ann
        .post(`${issuesPath}bulk/`, {
          ids: [wordy.id, changed.id],
          priority: count % 2 === 0 ? 'LOW' : 'HIGH',
        })
        .set('Idempotency-Key', randomUUID()),
  },
  { operation: 'addComment', send: (body) => ann.post(issuePath(wordy, 'comments/'), { body }) },
  {
    operation: 'updateComment',
    send: (body) => ann.patch(issuePath(wordy, `comments/${comment.id}/`), { body }),
  },
  {
    operation: 'deleteComment',
    send: async (body) => {
      const added = await ann.post(issuePath(wordy, 'comments/'), { body }).expect(201);
      return ann.delete(issuePath(wordy, `comments/${added.body.id}/`));
    },
  },
  {
    operation: 'startWatching and stopWatching',
    send: (_, count) =>
      count % 2 === 0 ? ann.put(issuePath(changed, 'watch/')) : ann.delete(issuePath(changed, 'watch/')),
  },
  {
    operation: 'putRelation and deleteRelation',
    send: async (_, count) => {
      const path = issuePath(wordy, 'relations/');
      if (count % 2 === 0) return ann.post(path, { kind: 'blocks', issue: changed.id });
      const { body } = await ann.get(path).expect(200);
      return ann.delete(`${path}${body[0].id}/`);
    },
  },
  {
    operation: 'createView and deleteView',
    send: async () => {
      const query = Array(6)
        .fill(`label=${encodeURIComponent('🏷'.repeat(25))}`)
        .join('&');
      const { body } = await ann.post(viewsPath, { name: '🏷'.repeat(50), query }).expect(201);
      return ann.delete(`${viewsPath}${body.id}/`);
    },
  },
  { operation: 'putLink', send: (_, count) => ann.post(issuePath(wordy, 'links/'), link(String(count))) },
  {
    operation: 'patchIssue with links',
    send: (description, count) =>
      ann.patch(issuePath(changed), {
        description,
        links: Array.from({ length: description.length > 4_000 ? 50 : 0 }, (_, place) =>
          link(`${count}-${place}`),
        ),
      }),
  },
  {
    // The bytes have quotas of their own.
    operation: 'uploadAttachment and deleteAttachment',
    send: async (_, count) => {
      if (count % 2 === 0) return sendFile(ann, Buffer.alloc(1), noise(255), `&issue=${changed.id}`);
      const { body } = await ann.get(issuePath(changed, 'attachments/')).expect(200);
      return ann.delete(filePath(body[0]));
    },
  },
];

/** The size of tables and indexes, without the maps that autovacuum adds at any time. */
async function storedBytes(): Promise<number> {
  const [row] = await app.sql(
    `SELECT sum(pg_relation_size(oid))::float8 AS bytes FROM pg_class
      WHERE relkind IN ('r', 'i', 't') AND relnamespace IN ('public'::regnamespace, 'pg_toast'::regnamespace)`,
  );
  return row?.bytes;
}

describe('an identity that writes at its limit for a minute', () => {
  it.each(writes.flatMap((write) => sizes.map(([name, text, count]) => ({ ...write, name, text, count }))))(
    'stores at most 25 MB by $operation with $name',
    async ({ send, text, count }) => {
      const quota = ({ headers }: Response) => Number(/;r=(\d+);/.exec(headers.ratelimit ?? '')?.[1]);
      const first = await send(text(), 0);
      const [bytes, left] = [await storedBytes(), quota(first)];
      let last = first;
      for (let place = 1; place <= count; place += 1) last = await send(text(), place);
      expect([200, 201, 204]).toContain(last.status);
      const perMinute = ((await storedBytes()) - bytes) * (writesPerMinute / (left - quota(last)));
      expect(perMinute).toBeLessThanOrEqual(bytesPerMinuteMax);
    },
  );
});
