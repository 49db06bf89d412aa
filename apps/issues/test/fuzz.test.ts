import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { readApiDocument } from '@tessera/service-kit';
import { ApiSurface, digestTables, Fuzzer, fuzzSettings } from '@tessera/testing/fuzz';
import { rememberSecret } from '@tessera/testing/leaks';
import pg from 'pg';
import { type FakeTestTracker, startFakeTracker } from './support/fake-tracker.ts';
import { uploadFile } from './support/files.ts';
import { IdentityService } from './support/identity-service.ts';
import { anEmail, aPerson, password, type TestPerson } from './support/people.ts';
import { startTestApp, type TestApp } from './support/test-app.ts';
import { trackerEnvironment } from './support/tracker-environment.ts';

const settings = fuzzSettings(process.env);
const document = readApiDocument('issues');
const operations = new ApiSurface(document).operations.map(({ operationId }) => operationId);

describe('every response matches the API document, and a rejected request writes nothing', () => {
  let identity: IdentityService;
  let identityDatabase: pg.Pool;
  let app: TestApp;
  let tracker: FakeTestTracker;
  let fuzzer: Fuzzer;
  let staff: TestPerson;
  let user: TestPerson;
  let target: { id: string; email: string };
  let issueId: string;
  let commentedId: string;
  const commentIds: string[] = [];
  const linkIds: string[] = [];
  const relationIds: string[] = [];
  const fileIds: string[] = [];
  const viewIds: string[] = [];
  const labelIds: string[] = [];
  const webhookIds: string[] = [];
  const deliveryIds: string[] = [];
  const disposable: string[] = [];
  const memberIds: string[] = [];

  beforeAll(async () => {
    identity = await IdentityService.start();
    identityDatabase = new pg.Pool({ connectionString: identity.databaseUrl, max: 1 });
    tracker = await startFakeTracker('gitea');
    const secret = { TRACKER_WEBHOOK_SECRET: rememberSecret('a-webhook-secret-of-the-fuzzer') };
    app = await startTestApp(trackerEnvironment(tracker, secret), { identity });
    staff = await aPerson(app, { is_staff: true, is_superuser: true });
    user = await aPerson(app);
    target = await identity.create({ email: anEmail(), password });
    for (let count = 0; count < 20; count += 1) {
      disposable.push((await identity.create({ email: anEmail(), password })).id);
    }
    for (let count = 0; count < 20; count += 1) {
      const { body } = await staff.post('/api/v1/labels/', { name: `label ${count}` }).expect(201);
      labelIds.push(body.id);
    }
    // No name resolves in the reserved domain, so that nothing is sent.
    const webhook = { url: 'https://receiver.invalid/' };
    for (let count = 0; count < 20; count += 1) {
      const { body } = await staff.post('/api/v1/webhooks/', webhook).expect(201);
      webhookIds.push(body.id);
    }
    const deliveries = await app.sql(
      `INSERT INTO webhook_deliveries (endpoint_id, event_id, type, subject_id, data, event_at, state)
       SELECT $1, n, 'issue.created', $1, '{}', now(), 'failed' FROM generate_series(1, 20) n RETURNING id`,
      [webhookIds[0]],
    );
    deliveryIds.push(...deliveries.map(({ id }) => String(id)));
    const page = await staff
      .get(`/api/v1/webhooks/${webhookIds[0]}/deliveries/?state=failed&limit=5`)
      .expect(200);
    const nextDeliveries = /cursor=([^>&]+)/.exec(page.headers.link ?? '')?.[1] ?? '';
    ({ id: commentedId } = await anIssue());
    for (let count = 0; count < 20; count += 1) {
      const { body } = await user.post(`/api/v1/issues/${commentedId}/comments/`, { body: 'a' }).expect(201);
      commentIds.push(body.id);
    }
    await staff.post('/api/v1/projects/', { key: 'APP', name: 'Apps', visibility: 'everyone' }).expect(201);
    const members = await app.sql<{ user_id: string }>(
      `INSERT INTO project_members (project_id, user_id, role)
       SELECT p.id, gen_random_uuid(), 'viewer' FROM projects p, generate_series(1, 20) WHERE p.key = 'APP' RETURNING user_id`,
    );
    memberIds.push(...members.map(({ user_id }) => user_id));
    fuzzer = new Fuzzer({
      document,
      listener: app.listener,
      logger: app.dependencies.logger,
      credentials: {
        accessToken: [
          ['Authorization', 'Bearer {{staffToken}}'],
          ['Authorization', 'Bearer {{userToken}}'],
        ],
      },
      known: {
        staffToken: () => staff.token,
        userToken: () => user.token,
        id: () => issueId,
        'getComment.id': () => commentedId,
        'updateComment.id': () => commentedId,
        'deleteComment.id': () => commentedId,
        comment_id: () => commentIds[0] ?? issueId,
        'changeIssues.ids': () => issueId,
        'deleteComment.comment_id': () => commentIds.pop() ?? issueId,
        attachment_id: () => fileIds[0] ?? issueId,
        'deleteAttachment.attachment_id': () => fileIds.pop() ?? issueId,
        'uploadAttachment.issue': () => issueId,
        link_id: () => linkIds.shift() ?? issueId,
        relation_id: () => relationIds.shift() ?? issueId,
        'putRelation.issue': () => commentedId,
        'putRelation.kind': () => 'relates',
        'getView.id': () => viewIds[0] ?? issueId,
        'updateView.id': () => viewIds[0] ?? issueId,
        'deleteView.id': () => viewIds.pop() ?? issueId,
        'createView.query': () => 'status=OPEN',
        'updateView.query': () => 'status=OPEN',
        'updateIssue.status': () => 'OPEN',
        'patchIssue.status': () => 'OPEN',
        'getLabel.id': () => labelIds[0] ?? issueId,
        'updateLabel.id': () => labelIds[0] ?? issueId,
        'deleteLabel.id': () => labelIds.pop() ?? issueId,
        'getProject.key': () => 'APP',
        'updateProject.key': () => 'APP',
        'listProjectMembers.key': () => 'APP',
        'putProjectMember.key': () => 'APP',
        'putProjectMember.user_id': () => target.id,
        'deleteProjectMember.key': () => 'APP',
        'deleteProjectMember.user_id': () => memberIds.pop() ?? target.id,
        'listProjectActivity.key': () => 'APP',
        'createWebhook.projects': () => 'APP',
        'updateWebhook.projects': () => 'APP',
        'moveIssue.project': () => 'ISS',
        'createIssue.project': () => 'ISS',
        'createWebhook.url': () => webhook.url,
        'getWebhook.id': () => webhookIds[0] ?? issueId,
        'updateWebhook.id': () => webhookIds[1] ?? issueId,
        'updateWebhook.url': () => webhook.url,
        'deleteWebhook.id': () => (webhookIds.length > 2 ? webhookIds.pop() : undefined) ?? issueId,
        'rotateWebhookSecret.id': () => webhookIds[0] ?? issueId,
        'testWebhook.id': () => webhookIds[0] ?? issueId,
        'listWebhookDeliveries.id': () => webhookIds[0] ?? issueId,
        'listWebhookDeliveries.state': () => 'failed',
        'listWebhookDeliveries.limit': () => '5',
        'listWebhookDeliveries.cursor': () => nextDeliveries,
        'getWebhookDelivery.id': () => webhookIds[0] ?? issueId,
        'redeliverWebhook.id': () => webhookIds[0] ?? issueId,
        delivery_id: () => deliveryIds[0] ?? '1',
        'redeliverWebhook.delivery_id': () => (deliveryIds.length > 1 ? deliveryIds.pop() : undefined) ?? '1',
        assignee_id: () => user.id,
        assignee_email: () => user.email,
        'getUser.id': () => target.id,
        'updateUser.id': () => target.id,
        'patchUser.id': () => target.id,
        'deactivateUser.id': () => disposable.shift() ?? issueId,
        current_password: () => password,
        new_password: () => password,
        'createUser.password': () => 'a password of its own',
      },
      state,
      // A failed sync stores its state in the issue.
      writtenByRefusals: {
        syncIssue: ['issues'],
        attachExternalIssue: ['issues'],
        resolveSyncConflict: ['issues'],
      },
      learn: (operationId, body) => {
        if (operationId === 'createIssue') issueId = (body as { id: string }).id;
      },
    });
    await fuzzer.start();
  });
  beforeEach(async () => {
    ({ id: issueId } = await anIssue());
  });
  afterAll(async () => {
    await fuzzer?.stop();
    await app?.close();
    await tracker?.close();
    await identityDatabase.end();
    await identity.stop();
  });

  async function anIssue(): Promise<{ id: string }> {
    const links = Array.from({ length: 20 }, (_, index) => ({ type: 'invoice', ref: `invoice ${index}` }));
    const { body } = await user.post('/api/v1/issues/', { title: 'An issue', links }).expect(201);
    linkIds.splice(0, linkIds.length, ...body.links.map((link: { id: string }) => link.id));
    const related = await app.sql<{ id: string }>(
      `WITH i AS (
         INSERT INTO issues (id, title, description, priority, reporter_id)
         SELECT gen_random_uuid(), 'Related', '', 'LOW', $2 FROM generate_series(1, 20) RETURNING id
       ) INSERT INTO issue_relations (id, source_id, target_id, kind, created_by)
         SELECT gen_random_uuid(), $1, id, 'blocks', $2 FROM i RETURNING id`,
      [body.id, user.id],
    );
    relationIds.splice(0, relationIds.length, ...related.map(({ id }) => id));
    const files = await Promise.all(Array.from({ length: 3 }, () => uploadFile(user)));
    fileIds.splice(0, fileIds.length, ...files.map(({ id }) => id));
    await app.sql('DELETE FROM views');
    const views = await app.sql<{ id: string }>(
      `INSERT INTO views (id, owner_id, name, query, layout, is_shared)
       SELECT gen_random_uuid(), $1, 'A view', 'status=OPEN', 'list', true FROM generate_series(1, 10) RETURNING id`,
      [user.id],
    );
    viewIds.splice(0, viewIds.length, ...views.map(({ id }) => id));
    return body;
  }

  // Excludes the mirror, which is a cache, and the idempotency keys, which store rejections.
  async function state() {
    const [ours, theirs] = await Promise.all([
      digestTables(app.sql, [
        'issues',
        'comments',
        'issue_links',
        'issue_relations',
        'issue_watchers',
        'activity',
        'labels',
      ]),
      digestTables(async (text) => (await identityDatabase.query(text)).rows, ['identities']),
    ]);
    return { ...ours, ...theirs };
  }

  it.each(operations)('%s', async (operationId) => fuzzer.run(operationId, settings), 600_000);

  it('every operation has both succeeded and rejected requests', () => {
    // These operations need a conflict, an unlinked issue in the tracker, or a signature.
    const hard = ['resolveSyncConflict', 'attachExternalIssue', 'takeWebhook'].map(
      (one) => `${one}: success`,
    );
    expect(fuzzer.findUntried().filter((outcome) => !hard.includes(outcome))).toEqual([]);
  });
});
