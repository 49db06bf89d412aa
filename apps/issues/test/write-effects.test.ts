// The effects of each write on others, beside what it counts in the quota. An operation that has no request here fails.
import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, expect, it } from '@jest/globals';
import type { Issue } from '@tessera/contracts';
import { readApiDocument } from '@tessera/service-kit';
import { eventually } from '@tessera/stack/eventually';
import { ApiSurface } from '@tessera/testing/fuzz';
import type { Response } from 'supertest';
import { type FakeTestTracker, startFakeTracker } from './support/fake-tracker.ts';
import { filePath, sendFile, uploadFile } from './support/files.ts';
import { IdentityService } from './support/identity-service.ts';
import { createIssue, issuePath, issuesPath } from './support/issues.ts';
import { notificationsPath, untilNotified } from './support/notifications.ts';
import { anEmail, aPerson, password, type TestPerson } from './support/people.ts';
import { startTestApp, type TestApp } from './support/test-app.ts';
import { trackerEnvironment } from './support/tracker-environment.ts';

const watchers = 30;
const quota = 1_000_000;
/** One for the change, and one for a comment or the first of the links with it. */
const eventsPerWrite = 2;

let identity: IdentityService;
let tracker: FakeTestTracker;
let app: TestApp;
let ann: TestPerson;
let staff: TestPerson;
let other: { id: string; email: string };
let webhook: string;
let issue: Issue;
let related: Issue;
let commentId: string;
let file: { id: string };
beforeAll(async () => {
  identity = await IdentityService.start();
  tracker = await startFakeTracker('gitea');
  const limits = { RATE_LIMIT_WRITES_PER_MINUTE: String(quota), RATE_LIMIT_SYNCS_PER_MINUTE: String(quota) };
  app = await startTestApp(trackerEnvironment(tracker, limits), { identity });
  [ann, staff] = [await aPerson(app), await aPerson(app, { is_staff: true, is_superuser: true })];
  await app.sql(
    `INSERT INTO identity_mirror (id, username, email, as_of, source)
     SELECT gen_random_uuid(), 'watcher' || n, n || '@example.com', now(), 'lookup' FROM generate_series(1, $1::int) n`,
    [watchers],
  );
});
afterAll(async () => {
  await app.close();
  await tracker.close();
  await identity.stop();
});

/** An issue with watchers, links and a comment, and an endpoint to which nothing can be sent. */
beforeEach(async () => {
  await app.sql('DELETE FROM webhook_endpoints');
  ({
    body: { id: webhook },
  } = await staff.post('/api/v1/webhooks/', { url: 'https://receiver.invalid/' }).expect(201));
  other = await identity.create({ email: anEmail(), password });
  issue = await createIssue(ann, { links: links(50) });
  const added = await ann.post(issuePath(issue, 'comments/'), { body: 'Seen.' }).expect(201);
  commentId = added.body.id;
  await app.sql(
    `INSERT INTO issue_watchers (issue_id, user_id) SELECT $1, id FROM identity_mirror WHERE username LIKE 'watcher%'`,
    [issue.id],
  );
  await untilNotified(app);
});

const links = (count: number) =>
  Array.from({ length: count }, () => ({ type: 'invoice', ref: randomUUID() }));
const mentions = Array.from({ length: watchers }, (_, index) => `@watcher${index + 1}`).join(' ');
const edit = () => ({
  title: 'New',
  description: mentions,
  priority: 'HIGH',
  due_on: '2026-12-31',
  assignee_id: staff.id,
  links: links(50),
});
const label = async () => (await staff.post('/api/v1/labels/', { name: randomUUID() }).expect(201)).body.id;
const projectsPath = '/api/v1/projects/';
const viewsPath = '/api/v1/views/';
const view = async () =>
  `${viewsPath}${(await staff.post(viewsPath, { name: 'x', query: '' }).expect(201)).body.id}/`;
const synced = async () => {
  await ann.post(issuePath(issue, 'sync/')).expect(200);
};
const commentPath = () => issuePath(issue, `comments/${commentId}/`);
const webhookPath = (part = '') => `/api/v1/webhooks/${webhook}/${part}`;
const userPath = () => `/api/v1/users/${other.id}/`;

type Send = () => PromiseLike<Response>;
/** The largest request of each operation, with what is prepared before it. */
const requests: Record<string, { prepare?: () => Promise<unknown>; send: Send; isRefused?: true }> = {
  createIssue: { send: () => ann.post(issuesPath, edit()) },
  updateIssue: { send: () => ann.put(issuePath(issue), edit()) },
  patchIssue: { send: () => ann.patch(issuePath(issue), edit()) },
  'patchIssue without links': { send: () => ann.patch(issuePath(issue), { links: [] }) },
  changeIssueStatus: {
    send: () => ann.post(issuePath(issue, 'status/'), { status: 'IN_PROGRESS', comment: mentions }),
  },
  changeIssues: {
    send: () => staff.post(`${issuesPath}bulk/`, { ids: [issue.id], priority: 'LOW' }),
  },
  addComment: { send: () => ann.post(issuePath(issue, 'comments/'), { body: mentions }) },
  updateComment: { send: () => ann.patch(commentPath(), { body: mentions }) },
  deleteComment: { send: () => ann.delete(commentPath()) },
  putLink: {
    prepare: () => ann.patch(issuePath(issue), { links: [] }),
    send: () => ann.post(issuePath(issue, 'links/'), links(1)[0] ?? {}),
  },
  deleteLink: { send: () => ann.delete(issuePath(issue, `links/${issue.links[0]?.id}/`)) },
  putRelation: {
    prepare: async () => {
      related = await createIssue(ann);
    },
    send: () => ann.post(issuePath(issue, 'relations/'), { kind: 'blocks', issue: related.key }),
  },
  deleteRelation: {
    prepare: async () => {
      related = await createIssue(ann);
      await ann.post(issuePath(issue, 'relations/'), { kind: 'blocks', issue: related.key }).expect(201);
    },
    send: async () => {
      const { body } = await ann.get(issuePath(related, 'relations/')).expect(200);
      return ann.delete(issuePath(issue, `relations/${body[0].id}/`));
    },
  },
  uploadAttachment: { send: () => sendFile(ann, Buffer.alloc(1), 'a', `&issue=${issue.id}`) },
  deleteAttachment: {
    prepare: async () => {
      file = await uploadFile(ann, Buffer.alloc(1), 'a', `&issue=${issue.id}`);
    },
    send: () => ann.delete(filePath(file)),
  },
  startWatching: { send: () => staff.put(issuePath(issue, 'watch/')) },
  stopWatching: { send: () => ann.delete(issuePath(issue, 'watch/')) },
  markNotificationsRead: { send: () => ann.post(`${notificationsPath}read/`, { up_to: 1 }) },
  markNotificationsUnread: { send: () => ann.post(`${notificationsPath}unread/`, { ids: [1] }) },
  markNotificationsDone: { send: () => ann.post(`${notificationsPath}done/`, { ids: [1] }) },
  restoreNotifications: { send: () => ann.post(`${notificationsPath}restore/`, { ids: [1] }) },
  snoozeNotifications: {
    send: () => ann.post(`${notificationsPath}snooze/`, { ids: [1], until: '2026-11-30T08:00:00Z' }),
  },
  createLabel: { send: () => staff.post('/api/v1/labels/', { name: randomUUID() }) },
  updateLabel: { send: async () => staff.patch(`/api/v1/labels/${await label()}/`, { name: randomUUID() }) },
  deleteLabel: { send: async () => staff.delete(`/api/v1/labels/${await label()}/`) },
  createProject: {
    send: () => staff.post(projectsPath, { key: 'APP', name: 'Apps', visibility: 'everyone' }),
  },
  updateProject: { send: () => staff.patch(`${projectsPath}APP/`, { key: 'APPS', name: 'All apps' }) },
  putProjectMember: { send: () => staff.put(`${projectsPath}APPS/members/${ann.id}/`, { role: 'member' }) },
  deleteProjectMember: { send: () => staff.delete(`${projectsPath}APPS/members/${ann.id}/`) },
  moveIssue: { send: () => staff.post(issuePath(issue, 'move/'), { project: 'APPS' }) },
  createView: { send: () => staff.post(viewsPath, { name: 'x', query: '' }) },
  updateView: { send: async () => staff.patch(await view(), { is_shared: true }) },
  deleteView: { send: async () => staff.delete(await view()) },
  createWebhook: { send: () => staff.post('/api/v1/webhooks/', { url: 'https://second.invalid/' }) },
  updateWebhook: { send: () => staff.patch(webhookPath(), { description: 'x' }) },
  deleteWebhook: { send: () => staff.delete(webhookPath()) },
  rotateWebhookSecret: { send: () => staff.post(webhookPath('rotate-secret/')) },
  testWebhook: { send: () => staff.post(webhookPath('test/')) },
  redeliverWebhook: {
    send: async () => {
      const [row] = await app.sql('SELECT max(id)::text AS id FROM webhook_deliveries');
      await app.sql("UPDATE webhook_deliveries SET state = 'failed', claim_id = NULL");
      return staff.post(webhookPath(`deliveries/${row?.id}/redeliver/`));
    },
  },
  syncIssue: { send: () => ann.post(issuePath(issue, 'sync/')) },
  resolveSyncConflict: {
    send: () => ann.post(issuePath(issue, `sync/conflicts/${randomUUID()}/`), { keep: 'local' }),
    isRefused: true,
  },
  attachExternalIssue: {
    send: () =>
      staff.put(issuePath(issue, 'external/'), { id: String(tracker.fake.createIssue({ title: 'There' })) }),
  },
  detachExternalIssue: { prepare: synced, send: () => staff.delete(issuePath(issue, 'external/')) },
  retrySyncs: { send: () => staff.post('/api/v1/sync/retry/', { sync: 'failed' }) },
  importIssues: { send: () => staff.post('/api/v1/sync/import/', {}) },
  backfillSyncs: { send: () => staff.post('/api/v1/sync/backfill/', {}) },
  takeWebhook: { send: () => app.http.post('/api/v1/integrations/gitea/webhook/').send({}), isRefused: true },
  createUser: { send: () => staff.post('/api/v1/users/', { email: anEmail(), password }) },
  updateMe: { send: () => ann.patch('/api/v1/users/me/', { name: 'Ann' }) },
  changeMyPassword: {
    send: () =>
      ann.post('/api/v1/users/me/password/', {
        current_password: 'not the password',
        new_password: password,
      }),
    isRefused: true,
  },
  updateUser: { send: () => staff.put(userPath(), { email: other.email }) },
  patchUser: { send: () => staff.patch(userPath(), { username: `o-${randomUUID().slice(0, 8)}` }) },
  deactivateUser: { send: () => staff.delete(userPath()) },
};

const writes = new ApiSurface(readApiDocument('issues')).operations
  .filter(({ method, operationId }) => method !== 'GET' && operationId !== 'describeIssues')
  .map(({ operationId }) => operationId);

/** Waits until the deliveries of all present events exist. */
const untilDelivered = () =>
  eventually(
    () =>
      app.sql(`SELECT FROM event_readers w JOIN event_readers n ON w.name = 'webhooks' AND n.name = 'notifications'
                WHERE (w.tx, w.event_id) >= (n.tx, n.event_id)`),
    (rows) => rows.length > 0,
  );

/** Counts what exists for others: events, deliveries to the one endpoint, and the most notifications of one person. */
async function effects() {
  const [row] = await app.sql<Record<'events' | 'notifications' | 'deliveries', number>>(
    `SELECT (SELECT count(*)::int FROM events) AS events,
            (SELECT coalesce(max(count), 0)::int FROM (SELECT count(*) FROM notifications GROUP BY identity_id) n) AS notifications,
            (SELECT count(*)::int FROM webhook_deliveries) AS deliveries`,
  );
  if (row === undefined) throw new Error('a count has a row');
  return row;
}

/** Returns the remaining quota that a response tells. */
const remaining = ({ headers }: Response) =>
  Number(/;r=(\d+);/.exec(headers.ratelimit ?? '')?.[1] ?? Number.NaN);

it.each([...new Set([...writes, ...Object.keys(requests)])].map((name) => [name]))(
  '%s causes no more than it counts',
  async (operationId) => {
    const request = requests[operationId];
    if (request === undefined) throw new Error(`${operationId} has no request in this test`);
    await request.prepare?.();
    await untilNotified(app);
    // The remaining quotas of both people.
    const marks = await Promise.all(
      [ann, staff].map((person) => person.post(`${notificationsPath}read/`, { up_to: 1 }).expect(200)),
    );
    await app.sql('DELETE FROM notifications');
    await untilDelivered();
    const before = await effects();
    const response = await request.send();
    const isRefused = response.status >= 400;
    expect([response.status, isRefused]).toEqual([response.status, request.isRefused === true]);
    await untilNotified(app);
    await untilDelivered();
    const after = await effects();
    // A request of another quota, or of no person, counts as one.
    const counts = marks.map((mark) => remaining(mark) - remaining(response)).filter((count) => count > 0);
    const counted = counts.length === 0 ? 1 : Math.min(...counts);
    const events = after.events - before.events;
    const bound = { events: eventsPerWrite * counted, notifications: 1, deliveries: Math.max(1, events) };
    const caused = {
      events,
      notifications: after.notifications - before.notifications,
      deliveries: after.deliveries - before.deliveries,
    };
    const exceeded = Object.entries(bound).filter(
      ([name, most]) => caused[name as keyof typeof caused] > most,
    );
    expect({ caused, bound, exceeded }).toEqual({ caused, bound, exceeded: [] });
  },
);
