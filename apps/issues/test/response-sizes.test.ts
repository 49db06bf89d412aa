import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { issueEvents, issuesApi, notedMembers, type Operation, relationsMax } from '@tessera/contracts';
import { untilDeliverable } from '@tessera/testing/event-horizon';
import { rememberSecret } from '@tessera/testing/leaks';
import type { Response } from 'supertest';
import { type FakeTestTracker, startFakeTracker } from './support/fake-tracker.ts';
import { filePath, sendFile, uploadFile } from './support/files.ts';
import { IdentityService } from './support/identity-service.ts';
import { createIssue, issuePath, issuesPath } from './support/issues.ts';
import { nextOf } from './support/pages.ts';
import { anEmail, aPerson, password, type TestPerson } from './support/people.ts';
import { startTestApp, type TestApp } from './support/test-app.ts';
import { trackerEnvironment } from './support/tracker-environment.ts';

const mebibyte = 1024 * 1024;
const webhookSecret = rememberSecret('a-webhook-secret-of-the-sizes');
const anotherPassword = rememberSecret('another password of the sizes');
const username = '€'.repeat(150);
// The character with the longest escape in JSON.
const description = '\u0001'.repeat(65_000);
// Short enough that an issue embeds the comment together with the longest description and links.
const shortComment = '\u0001'.repeat(26_000);
// 2,048 bytes.
const url = `https://example.com/${'a'.repeat(2_028)}`;
const text255 = '€'.repeat(255);
// 4,096 bytes as JSON.
const metadata = { a: '€'.repeat(1_360), b: '' };

let identity: IdentityService;
let tracker: FakeTestTracker;
let app: TestApp;
let staff: TestPerson;
/** An issue with every field and every collection at its maximum. */
let worst: { id: string };
/** An issue of the same size with only as many comments as an issue embeds, so that a sync is short. */
let synced: { id: string };
let small: { id: string };
let commentId: string;

beforeAll(async () => {
  identity = await IdentityService.start();
  tracker = await startFakeTracker('gitea');
  app = await startTestApp(
    trackerEnvironment(tracker, { TRACKER_WEBHOOK_SECRET: webhookSecret, TRACKER_DEADLINE_MS: '30000' }),
    { identity },
  );
  const email = `${'e'.repeat(64)}@${'e'.repeat(63)}.${'e'.repeat(63)}.${'e'.repeat(32)}.example`;
  const sso = { sso_provider: '€'.repeat(64), sso_id: '€'.repeat(1024) };
  staff = await aPerson(app, {
    email,
    username,
    display_name: username,
    is_staff: true,
    is_superuser: true,
    ...sso,
  });
  expect(Buffer.byteLength(JSON.stringify(metadata))).toBeGreaterThan(4_090);
  await fillLabels();
  const [first, second] = [await createLargestIssue(), await createLargestIssue()];
  [worst, synced] = [first, second];
  small = (await staff.post(issuesPath, { title: 'Small' }).expect(201)).body;
  await addFiles(worst.id);
  await addFiles(synced.id);
  await addComments(worst.id, 200);
  await addComments(synced.id, 1);
  await addHistory(worst.id);
  await addConflicts(worst.id);
  await fillList();
  await fillUsers();
  const [comment] = await app.sql('SELECT id FROM comments WHERE issue_id = $1', [worst.id]);
  commentId = comment?.id;
});
afterAll(async () => {
  await app.close();
  await identity.stop();
  await tracker.close();
});

const labelName = (number: number) => `${String(number).padStart(3, '0')}${'🏷'.repeat(47)}`;

// One less than there may be.
async function fillLabels(): Promise<void> {
  const names = Array.from({ length: 499 }, (_, index) => labelName(index + 1));
  await app.sql(
    `INSERT INTO labels (id, name, key, color)
     SELECT gen_random_uuid(), name, name, '#000000' FROM unnest($1::text[]) name`,
    [names],
  );
}

async function addFiles(issueId: string): Promise<void> {
  await app.sql(
    `WITH filled AS (UPDATE issues SET attachments_count = 200 WHERE id = $1)
     INSERT INTO attachments (id, key, store, uploader_id, name, size, state, sha256, issue_id, created_at)
     SELECT gen_random_uuid(), gen_random_uuid(), 's3', $2, repeat('€', 255), 25000000, 'stored', sha256('a'), $1, now() - interval '2 days'
       FROM generate_series(1, 200)`,
    [issueId, staff.id],
  );
}

const aFile = () => uploadFile(staff, Buffer.alloc(1), '€'.repeat(255), `&issue=${small.id}`);

async function oneLabel(): Promise<string> {
  const [row] = await app.sql('SELECT id FROM labels WHERE name = $1', [labelName(499)]);
  return `/api/v1/labels/${row?.id}/`;
}

const projectsPath = '/api/v1/projects/';
const projectName = '🏷'.repeat(100);

/** As many projects as possible, with the longest names. */
async function fillProjects(): Promise<void> {
  await app.sql(
    `INSERT INTO projects (id, key, name) SELECT gen_random_uuid(), 'P' || n, $1 FROM generate_series(1, 499) n`,
    [projectName],
  );
  await app.sql(
    'INSERT INTO project_keys (key, project_id) SELECT key, id FROM projects WHERE key IS NOT NULL',
  );
}

const view = (name: string) => ({
  name: name + '🏷'.repeat(49),
  query: Array(6)
    .fill(`label=${encodeURIComponent('🏷'.repeat(25))}`)
    .join('&'),
});

// As many as a person has, and as many of others as a list has.
async function fillViews(): Promise<void> {
  await app.sql(
    `INSERT INTO views (id, owner_id, name, query, is_shared)
     SELECT gen_random_uuid(), CASE WHEN n <= 100 THEN $1 ELSE gen_random_uuid() END, repeat('🏷', 100), repeat('x', 2000), n > 100
       FROM generate_series(1, 200) n`,
    [staff.id],
  );
}

async function oneView(): Promise<string> {
  const [row] = await app.sql('SELECT id FROM views WHERE owner_id = $1 LIMIT 1', [staff.id]);
  return `/api/v1/views/${row?.id}/`;
}

async function createLargestIssue(): Promise<{ id: string }> {
  const title = '🖨'.repeat(255);
  const labels = Array.from({ length: 20 }, (_, index) => labelName(index + 1));
  const { body } = await staff.post(issuesPath, { title, assignee_id: staff.id, labels }).expect(201);
  await staff.put(issuePath(body), { description }).expect(200);
  for (let index = 0; index < 49; index += 1) {
    const ref = `${index}${'€'.repeat(250)}`;
    const link = { type: 'helpdesk_ticket', relation: 'relates_to', ref, title: text255, url, metadata };
    await staff.post(issuePath(body, 'links/'), link).expect(201);
  }
  return body;
}

async function addComments(issue: string, count: number): Promise<void> {
  await app.sql(
    `INSERT INTO comments (id, issue_id, body, author_id, created_at)
     SELECT gen_random_uuid(), $1, CASE n WHEN $3 THEN repeat(chr(1), 26000) ELSE repeat('🖨', 65000) END, $2,
            now() + n * interval '1 millisecond'
       FROM generate_series(1, $3) n`,
    [issue, staff.id, count],
  );
  await app.sql('UPDATE issues SET comments_count = $2 WHERE id = $1', [issue, count]);
}

async function addHistory(issue: string): Promise<void> {
  await app.sql(
    `INSERT INTO activity (issue_id, actor_id, kind, field, old_value, new_value, request_id)
     SELECT $1, $2, 'updated', 'description', to_jsonb(repeat(chr(1), 65000)), to_jsonb(repeat(chr(1), 65000)), repeat('r', 64)
       FROM generate_series(1, 20) n`,
    [issue, staff.id],
  );
}

// Adds as many new conflicts as an issue embeds, and one old conflict of the maximum size.
async function addConflicts(issue: string): Promise<void> {
  const conflicts = ['🖨'.repeat(65_000), ...Array<string>(5).fill('🖨'.repeat(1_020))].map((text) => ({
    id: randomUUID(),
    field: 'description',
    reason: 'both_changed',
    local: text,
    remote: text,
    base: text,
    kept: 'local',
    at: new Date().toISOString(),
  }));
  await app.sql(
    `INSERT INTO tracker_links (issue_id, provider, project, requested_by, remote_id, remote_key, remote_url,
       remote_state, last_synced_at, moved_to, conflicts)
     VALUES ($1, 'gitea', $2, $3, '9999', '#9999', $4, 'open', now(), $4, $5)`,
    [issue, tracker.project, staff.id, url, JSON.stringify(conflicts)],
  );
}

// Fills the first page of the maximum size with issues like `worst`.
async function fillList(): Promise<void> {
  await app.sql(
    `WITH i AS (
       INSERT INTO issues (id, title, description, priority, reporter_id, assignee_id, label_ids)
       SELECT gen_random_uuid(), title, description, priority, reporter_id, assignee_id, label_ids
         FROM issues, generate_series(1, 250) n WHERE id = $1
       RETURNING id
     )
     INSERT INTO issue_links (id, issue_id, type, ref, title, url, metadata, created_by)
     SELECT gen_random_uuid(), i.id, l.type, l.ref, l.title, l.url, l.metadata, l.created_by
       FROM i, (SELECT * FROM issue_links WHERE issue_id = $1 LIMIT 12) l`,
    [worst.id],
  );
}

async function fillUsers(): Promise<void> {
  await app.sql(
    `INSERT INTO identity_mirror (id, username, display_name, email, sso_provider, sso_id, as_of, source)
     SELECT gen_random_uuid(), $1, $1, n || $2, $3, n || $4, now(), 'lookup' FROM generate_series(1, 250) n`,
    [username, staff.email.slice(4), '€'.repeat(64), '€'.repeat(1020)],
  );
  await app.sql(
    `INSERT INTO issues (id, title, description, priority, reporter_id, assignee_id, created_at)
     SELECT gen_random_uuid(), 'Small', '', 'LOW', id, id, '2000-01-01' FROM identity_mirror`,
  );
}

const webhooksPath = '/api/v1/webhooks/';
const webhookUrl = `https://receiver.invalid/${'"'.repeat(2_023)}`;

/** Inserts disabled endpoints, and 200 deliveries of one of them, the last with 50 attempts. */
async function fillWebhooks(): Promise<void> {
  await app.sql(
    `INSERT INTO webhook_endpoints (id, url, description, types, is_enabled, secret, created_by)
     SELECT gen_random_uuid(), $1, repeat('🖨', 200), $2, false, 'x', $3 FROM generate_series(1, 50)`,
    [webhookUrl, Object.keys(issueEvents), staff.id],
  );
  await app.sql(
    `WITH deliveries AS (
       INSERT INTO webhook_deliveries (endpoint_id, event_id, type, subject_id, data, event_at, state, attempts, ended_at)
       SELECT e.id, 1000000000 + n, 'issue.status_changed', e.id, jsonb_build_object('number', 1, 'version', 1,
              'actor_id', null, 'origin', 'local', 'from', 'OPEN', 'to', 'CLOSED'), now(), 'failed', 50, now()
         FROM (SELECT id FROM webhook_endpoints ORDER BY id LIMIT 1) e, generate_series(1, 200) n
       RETURNING id
     )
     INSERT INTO webhook_attempts (delivery_id, number, started_at, duration_ms, status, error, answer)
     SELECT d.id, n, now(), 15000, 500, 'incomplete_response', repeat(chr(1), 2048)
       FROM deliveries d, generate_series(1, 50) n WHERE n = 50 OR d.id = (SELECT max(id) FROM deliveries)`,
  );
}

async function oneWebhook(): Promise<string> {
  const [row] = await app.sql('SELECT id FROM webhook_endpoints ORDER BY id LIMIT 1');
  return `${webhooksPath}${row?.id}/`;
}

interface LargestResponse {
  send: () => PromiseLike<Response>;
  status: number;
  /** The minimum size for a meaningful test, in bytes. */
  atLeast?: number;
}

const newUser = () => ({ email: anEmail(), password, username });

/** For each operation, the request with the largest response. */
const largest: Record<string, LargestResponse> = {
  listIssues: { send: () => staff.get(`${issuesPath}?limit=200`), status: 200, atLeast: 450_000 },
  listIssuePages: {
    send: () => staff.get('/api/v1/issue-pages/?page_size=200'),
    status: 200,
    atLeast: 450_000,
  },
  countIssues: {
    send: () => staff.get(`${issuesPath}counts/?by=assignee`),
    status: 200,
    atLeast: 90_000,
  },
  describeIssues: { send: () => staff.options(issuesPath), status: 200 },
  createIssue: {
    send: () => staff.post(issuesPath, { title: '🖨'.repeat(255), description }),
    status: 201,
    atLeast: 390_000,
  },
  getIssue: { send: () => staff.get(issuePath(worst)), status: 200, atLeast: 1_000_000 },
  updateIssue: {
    send: () => staff.put(issuePath(worst), { priority: 'LOW' }),
    status: 200,
    atLeast: 880_000,
  },
  patchIssue: {
    send: () => staff.patch(issuePath(worst), { title: 'x', version: 99 }),
    status: 409,
    atLeast: 880_000,
  },
  changeIssueStatus: {
    send: () => staff.post(issuePath(worst, 'status/'), { status: 'RESOLVED', comment: shortComment }),
    status: 200,
    atLeast: 880_000,
  },
  changeIssues: {
    send: async () => {
      const rows = await app.sql('SELECT id FROM issues WHERE id <> $1 LIMIT 100', [worst.id]);
      return staff.post(`${issuesPath}bulk/`, { ids: rows.map(({ id }) => id), priority: 'LOW' });
    },
    status: 200,
    atLeast: 6_000,
  },
  listComments: {
    send: () => staff.get(issuePath(worst, 'comments/?limit=200')),
    status: 200,
    atLeast: 510_000,
  },
  addComment: {
    send: () => staff.post(issuePath(small, 'comments/'), { body: description }),
    status: 201,
    atLeast: 390_000,
  },
  getComment: {
    send: () => staff.get(issuePath(worst, `comments/${commentId}/`)),
    status: 200,
    atLeast: 260_000,
  },
  updateComment: {
    send: async () => {
      const { body } = await staff.post(issuePath(small, 'comments/'), { body: 'x' }).expect(201);
      return staff.patch(issuePath(small, `comments/${body.id}/`), { body: description });
    },
    status: 200,
    atLeast: 390_000,
  },
  deleteComment: {
    send: () => staff.delete(issuePath(worst, `comments/${randomUUID()}/`)),
    status: 404,
  },
  putLink: {
    send: () =>
      staff.post(issuePath(worst, 'links/'), {
        ...{ type: 'invoice', ref: text255, title: text255, url, metadata },
      }),
    status: 201,
    atLeast: 7_000,
  },
  deleteLink: { send: () => staff.delete(issuePath(worst, `links/${randomUUID()}/`)), status: 404 },
  listRelations: {
    send: async () => {
      await app.sql(
        `INSERT INTO issue_relations (id, source_id, target_id, kind, created_by)
         SELECT gen_random_uuid(), $1, id, 'blocks', reporter_id FROM issues
          WHERE id <> $1 AND title = (SELECT title FROM issues WHERE id = $1) LIMIT ${relationsMax - 1}`,
        [worst.id],
      );
      return staff.get(issuePath(worst, 'relations/'));
    },
    status: 200,
    atLeast: 80_000,
  },
  putRelation: {
    send: () => staff.post(issuePath(small, 'relations/'), { kind: 'relates', issue: worst.id }),
    status: 201,
  },
  deleteRelation: {
    send: () => staff.delete(issuePath(worst, `relations/${randomUUID()}/`)),
    status: 404,
  },
  listActivity: {
    send: async () => {
      let path = issuePath(worst, 'activity/?limit=200');
      for (;;) {
        const response = await staff.get(path).expect(200);
        if (response.body[0].request_id === 'r'.repeat(64)) return response;
        path = nextOf(response) ?? '';
      }
    },
    status: 200,
    atLeast: 510_000,
  },
  listEvents: {
    send: async () => {
      const links = (part: string) =>
        Array.from({ length: 50 }, (_, ref) => ({ type: 'invoice', ref: `${part}${ref}`.padEnd(255, '€') }));
      const issue = await createIssue(staff);
      for (const part of ['a', 'b', 'c'])
        await staff.patch(issuePath(issue), { links: links(part) }).expect(200);
      await untilDeliverable(app);
      const { body } = await staff.get('/api/v1/events/?after=now').expect(200);
      for (const part of ['d', 'e', 'f'])
        await staff.patch(issuePath(issue), { links: links(part) }).expect(200);
      await untilDeliverable(app);
      return staff.get(`/api/v1/events/?after=${body.next}`);
    },
    status: 200,
    atLeast: 100_000,
  },
  // Without a body: the events of a stream are sent as they happen, and event-stream.test.ts bounds what waits for a client.
  streamEvents: { send: () => staff.head('/api/v1/events/stream/'), status: 200 },
  uploadAttachment: {
    send: async () => sendFile(staff, Buffer.alloc(25 * mebibyte), '€'.repeat(255), `&issue=${small.id}`),
    status: 201,
    atLeast: 2_000,
  },
  getAttachment: { send: async () => staff.get(filePath(await aFile())), status: 200, atLeast: 2_000 },
  // Its bytes are sent in parts, as the client reads them.
  getAttachmentContent: {
    send: async () => staff.head(filePath(await aFile(), 'content/')),
    status: 200,
  },
  listAttachments: {
    send: () => staff.get(issuePath(worst, 'attachments/')),
    status: 200,
    atLeast: 500_000,
  },
  deleteAttachment: { send: async () => staff.delete(filePath(await aFile())), status: 204 },
  getWatching: { send: () => staff.get(issuePath(worst, 'watch/')), status: 200 },
  startWatching: { send: () => staff.put(issuePath(worst, 'watch/')), status: 200 },
  stopWatching: { send: () => staff.delete(issuePath(small, 'watch/')), status: 204 },
  listWatching: {
    send: () => staff.get('/api/v1/users/me/watching/?limit=200'),
    status: 200,
    atLeast: 240_000,
  },
  listNotifications: {
    send: async () => {
      await app.sql(
        `INSERT INTO notifications (identity_id, place, event_id, reason, type, issue_id, actor_id, changes, created_at, expires_at)
         SELECT $1, 1000 + n, -n, 'mentioned', 'issue.status_changed', $2, $1, $3, now(), now() + interval '1 day'
           FROM generate_series(1, 200) n`,
        [
          staff.id,
          worst.id,
          JSON.stringify({ members: notedMembers, status: { from: 'IN_PROGRESS', to: 'IN_PROGRESS' } }),
        ],
      );
      return staff.get('/api/v1/notifications/?limit=200');
    },
    status: 200,
    atLeast: 370_000,
  },
  markNotificationsRead: {
    send: () => staff.post('/api/v1/notifications/read/', { ids: Array(100).fill(1) }),
    status: 200,
  },
  markNotificationsUnread: {
    send: () => staff.post('/api/v1/notifications/unread/', { ids: Array(100).fill(1) }),
    status: 200,
  },
  markNotificationsDone: {
    send: () => staff.post('/api/v1/notifications/done/', { ids: Array(100).fill(1) }),
    status: 200,
  },
  restoreNotifications: {
    send: () => staff.post('/api/v1/notifications/restore/', { ids: Array(100).fill(1) }),
    status: 200,
  },
  snoozeNotifications: {
    send: () =>
      staff.post('/api/v1/notifications/snooze/', { ids: Array(100).fill(1), until: '2026-11-30T08:00:00Z' }),
    status: 200,
  },
  listLabels: { send: () => staff.get('/api/v1/labels/'), status: 200, atLeast: 150_000 },
  createLabel: {
    send: () => staff.post('/api/v1/labels/', { name: labelName(500) }),
    status: 201,
    atLeast: 300,
  },
  getLabel: { send: async () => staff.get(await oneLabel()), status: 200, atLeast: 300 },
  updateLabel: {
    send: async () => staff.patch(await oneLabel(), { name: labelName(500) }),
    status: 409,
    atLeast: 400,
  },
  deleteLabel: { send: async () => staff.delete(await oneLabel()), status: 204 },
  listProjects: {
    send: async () => {
      await fillProjects();
      return staff.get(projectsPath);
    },
    status: 200,
    atLeast: 250_000,
  },
  createProject: { send: () => staff.post(projectsPath, { key: 'P1', name: 'a' }), status: 409 },
  getProject: { send: () => staff.get(`${projectsPath}P1/`), status: 200, atLeast: 500 },
  updateProject: {
    send: () => staff.patch(`${projectsPath}P1/`, { name: projectName, version: 2 }),
    status: 409,
    atLeast: 600,
  },
  listProjectMembers: {
    send: async () => {
      await app.sql(
        `WITH people AS (
           INSERT INTO identity_mirror (id, username, display_name, email, as_of, source)
           SELECT gen_random_uuid(), repeat('🏷', 150), repeat('🏷', 150), n || '@example.com', now(), 'token' FROM generate_series(1, 101) n RETURNING id
         ) INSERT INTO project_members (project_id, user_id, role)
           SELECT p.id, people.id, 'viewer' FROM people, projects p WHERE p.key = 'P1'`,
      );
      return staff.get(`${projectsPath}P1/members/`);
    },
    status: 200,
    atLeast: 10_000,
  },
  putProjectMember: {
    send: () => staff.put(`${projectsPath}P1/members/${staff.id}/`, { role: 'manager' }),
    status: 201,
    atLeast: 100,
  },
  deleteProjectMember: { send: () => staff.delete(`${projectsPath}P1/members/${staff.id}/`), status: 409 },
  listProjectActivity: { send: () => staff.get(`${projectsPath}P1/activity/`), status: 200, atLeast: 100 },
  moveIssue: {
    send: async () => staff.post(`${issuesPath}${(await createIssue(staff)).id}/move/`, { project: 'P1' }),
    status: 200,
    atLeast: 1_000,
  },
  listViews: {
    send: async () => {
      await fillViews();
      return staff.get('/api/v1/views/');
    },
    status: 200,
    atLeast: 500_000,
  },
  createView: { send: () => staff.post('/api/v1/views/', view('a')), status: 409 },
  getView: { send: async () => staff.get(await oneView()), status: 200, atLeast: 2_500 },
  updateView: { send: async () => staff.patch(await oneView(), view('b')), status: 200, atLeast: 2_500 },
  deleteView: { send: async () => staff.delete(await oneView()), status: 204 },
  listWebhooks: {
    send: async () => {
      await fillWebhooks();
      return staff.get(webhooksPath);
    },
    status: 200,
    atLeast: 150_000,
  },
  createWebhook: { send: () => staff.post(webhooksPath, { url: webhookUrl }), status: 409 },
  getWebhook: { send: async () => staff.get(await oneWebhook()), status: 200, atLeast: 3_000 },
  updateWebhook: {
    send: async () => staff.patch(await oneWebhook(), { types: Object.keys(issueEvents) }),
    status: 200,
    atLeast: 3_000,
  },
  rotateWebhookSecret: {
    send: async () => staff.post(`${await oneWebhook()}rotate-secret/`),
    status: 200,
    atLeast: 3_000,
  },
  testWebhook: { send: async () => staff.post(`${await oneWebhook()}test/`), status: 409 },
  listWebhookDeliveries: {
    send: async () => staff.get(`${await oneWebhook()}deliveries/?limit=200`),
    status: 200,
    atLeast: 75_000,
  },
  getWebhookDelivery: {
    send: async () => {
      const [{ id } = {}] = await app.sql('SELECT max(id) AS id FROM webhook_deliveries');
      return staff.get(`${await oneWebhook()}deliveries/${id}/`);
    },
    status: 200,
    atLeast: 600_000,
  },
  redeliverWebhook: {
    send: async () => {
      const [{ id } = {}] = await app.sql('SELECT max(id) AS id FROM webhook_deliveries');
      return staff.post(`${await oneWebhook()}deliveries/${id}/redeliver/`);
    },
    status: 409,
  },
  deleteWebhook: { send: async () => staff.delete(await oneWebhook()), status: 204 },
  getSyncState: { send: () => staff.get(issuePath(worst, 'sync/')), status: 200, atLeast: 840_000 },
  syncIssue: { send: () => staff.post(issuePath(synced, 'sync/')), status: 200, atLeast: 880_000 },
  attachExternalIssue: {
    send: () => staff.put(issuePath(synced, 'external/'), { id: '1' }),
    status: 200,
    atLeast: 880_000,
  },
  resolveSyncConflict: {
    send: async () => {
      const { body } = await staff.get(issuePath(worst, 'sync/')).expect(200);
      return staff.post(issuePath(worst, `sync/conflicts/${body.conflicts[0].id}/`), { keep: 'local' });
    },
    status: 200,
    atLeast: 880_000,
  },
  detachExternalIssue: {
    send: () => staff.delete(issuePath(synced, 'external/')),
    status: 200,
    atLeast: 800_000,
  },
  listIntegrations: { send: () => staff.get('/api/v1/integrations/'), status: 200 },
  retrySyncs: { send: () => staff.post('/api/v1/sync/retry/', { sync: 'conflict' }), status: 200 },
  importIssues: {
    send: () => {
      for (let number = 0; number < 50; number += 1) tracker.fake.createIssue({ title: '🖨'.repeat(255) });
      return staff.post('/api/v1/sync/import/?dry_run=true');
    },
    status: 200,
    atLeast: 50_000,
  },
  getImport: { send: () => staff.get('/api/v1/sync/import/'), status: 200 },
  backfillSyncs: {
    send: () => staff.post('/api/v1/sync/backfill/?dry_run=true'),
    status: 200,
    atLeast: 2_000,
  },
  takeWebhook: {
    send: () => app.http.post('/api/v1/integrations/gitea/webhook/').send({ action: 'x'.repeat(10_000) }),
    status: 401,
  },
  listUsers: { send: () => staff.get('/api/v1/users/?limit=200'), status: 200, atLeast: 390_000 },
  getMe: { send: () => staff.get('/api/v1/users/me/'), status: 200, atLeast: 800 },
  updateMe: {
    send: () => staff.patch('/api/v1/users/me/', { name: username }),
    status: 200,
    atLeast: 1_200,
  },
  changeMyPassword: {
    send: () =>
      staff.post('/api/v1/users/me/password/', { current_password: anotherPassword, new_password: password }),
    status: 422,
  },
  getUser: { send: () => staff.get(`/api/v1/users/${staff.id}/`), status: 200, atLeast: 800 },
  createUser: { send: () => staff.post('/api/v1/users/', newUser()), status: 201 },
  updateUser: { send: () => staff.put(`/api/v1/users/${staff.id}/`, { username }), status: 200 },
  patchUser: { send: () => staff.patch(`/api/v1/users/${staff.id}/`, { username }), status: 200 },
  deactivateUser: { send: () => staff.delete(`/api/v1/users/${randomUUID()}/`), status: 404 },
  getLiveness: { send: () => app.http.get('/healthz'), status: 200 },
  getReadiness: { send: () => app.http.get('/readyz'), status: 200 },
};

describe('the largest response of each operation', () => {
  it('is tested for all operations', () => {
    const operations: readonly Operation[] = issuesApi.operations;
    expect(Object.keys(largest).sort()).toEqual(operations.map(({ id }) => id).sort());
  });

  it.each(Object.entries(largest))('has at most 1 MiB: %s', async (_id, { send, status, atLeast = 0 }) => {
    const response = await send();
    const bytes = Buffer.byteLength(response.text ?? '');
    expect([response.status, bytes < atLeast ? bytes : 'large enough']).toEqual([status, 'large enough']);
    expect(bytes).toBeLessThanOrEqual(mebibyte);
  });

  it('has at most 1 MiB in the documentation', async () => {
    for (const path of ['/api/openapi.json', '/api/docs/', '/api/docs/swagger-ui-bundle.js']) {
      const { headers } = await app.http.head(path).expect(200);
      expect(Number(headers['content-length'])).toBeLessThanOrEqual(mebibyte);
    }
  });

  it('links to the rest of a history with large entries', async () => {
    const [{ count } = {}] = await app.sql('SELECT count(*)::int FROM activity WHERE issue_id = $1', [
      worst.id,
    ]);
    const ids: number[] = [];
    let path: string | undefined = issuePath(worst, 'activity/?limit=200');
    while (path !== undefined) {
      const response: Response = await staff.get(path).expect(200);
      ids.push(...response.body.map(({ id }: { id: number }) => id));
      path = nextOf(response);
    }
    expect(new Set(ids).size).toBe(count);
  });
});
