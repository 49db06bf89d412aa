import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { issueEvents, type WebhookWithSecret, webhooksMax } from '@tessera/contracts';
import { expectInvalidFields, expectProblem } from '@tessera/testing/problems';
import { nextOf } from './support/pages.ts';
import { aPerson, type TestPerson } from './support/people.ts';
import './support/response-guard.ts';
import { startTestApp, type TestApp } from './support/test-app.ts';

let app: TestApp;
let ann: TestPerson;
let staff: TestPerson;
beforeAll(async () => {
  app = await startTestApp({ RATE_LIMIT_WRITES_PER_MINUTE: '0' });
  ann = await aPerson(app);
  staff = await aPerson(app, { is_staff: true });
});
afterAll(() => app.close());
beforeEach(() => app.sql('DELETE FROM webhook_endpoints'));

const webhooksPath = '/api/v1/webhooks/';
const webhookPath = ({ id }: { id: string }, rest = '') => `${webhooksPath}${id}/${rest}`;
const unknown = { id: '01980c5e-0000-7000-8000-000000000000' };
// No name resolves in the reserved domain, so that nothing is sent.
const url = 'https://receiver.invalid/hooks';

async function createWebhook(body: object = {}): Promise<WebhookWithSecret> {
  const response = await staff.post(webhooksPath, { url, ...body }).expect(201);
  return response.body;
}

/** Inserts a delivery of an event with one attempt. It is not due before tomorrow. */
async function addDelivery({ id }: { id: string }, state = 'failed'): Promise<number> {
  const [row] = await app.sql(
    `WITH delivery AS (
       INSERT INTO webhook_deliveries (endpoint_id, event_id, type, subject_id, data, event_at, state, attempts,
                                       next_attempt_at, ended_at)
       SELECT $1, nextval('webhook_deliveries_id_seq'), 'comment.deleted', $1,
              jsonb_build_object('number', 7, 'version', 3, 'actor_id', null, 'origin', 'local', 'comment_id', $1::uuid),
              now(), $2, 1, CASE $2 WHEN 'pending' THEN now() + interval '1 day' END,
              CASE WHEN $2 <> 'pending' THEN now() END
       RETURNING id
     )
     INSERT INTO webhook_attempts (delivery_id, number, started_at, duration_ms, status, error, answer)
     SELECT id, 1, now(), 12, 500, 'http_error', 'Internal error' FROM delivery RETURNING delivery_id::int AS id`,
    [id, state],
  );
  return row?.id;
}

describe('/api/v1/webhooks/', () => {
  it('creates, reads, lists, changes and deletes endpoints', async () => {
    const types = ['issue.created', 'comment.deleted'];
    const draft = { url, description: ' Chat bot ', types };
    const { body: created, headers } = await staff.post(webhooksPath, draft).expect(201);
    const { secret, ...webhook } = created;
    expect(webhook).toMatchObject({
      url,
      description: 'Chat bot',
      types,
      enabled: true,
      disabled_reason: null,
      created_by: { id: staff.id },
    });
    expect(headers.location).toContain(webhookPath(webhook));
    expect(headers['cache-control']).toBe('no-store');
    expect((await staff.get(webhookPath(webhook)).expect(200)).body).toEqual(webhook);
    expect((await staff.get(webhooksPath).expect(200)).body).toEqual([webhook]);

    const changed = await staff.patch(webhookPath(webhook), { types: [], enabled: false }).expect(200);
    const { updated_at: _, ...same } = { ...webhook, types: [], enabled: false };
    expect(changed.body).toMatchObject(same);
    await staff.delete(webhookPath(webhook)).expect(204);
    expectProblem(await staff.get(webhookPath(webhook)), 404, 'webhook_not_found');
  });

  it('is for staff', async () => {
    const webhook = await createWebhook();
    const id = await addDelivery(webhook);
    for (const response of [
      await ann.get(webhooksPath),
      await ann.post(webhooksPath, { url }),
      await ann.get(webhookPath(webhook)),
      await ann.patch(webhookPath(webhook), { enabled: false }),
      await ann.delete(webhookPath(webhook)),
      await ann.post(webhookPath(webhook, 'rotate-secret/')),
      await ann.post(webhookPath(webhook, 'test/')),
      await ann.get(webhookPath(webhook, 'deliveries/')),
      await ann.get(webhookPath(webhook, `deliveries/${id}/`)),
      await ann.post(webhookPath(webhook, `deliveries/${id}/redeliver/`)),
    ])
      expectProblem(response, 403, 'forbidden');
    expect((await staff.get(webhooksPath).expect(200)).body).toHaveLength(1);
  });

  it.each([
    ['url', undefined],
    ['url', 'ftp://example.com/'],
    ['url', 'https://'],
    ['url', 'https://a:b@example.com/'],
    ['url', 'https://:@example.com/'],
    ['url', 'https://example.com:0/'],
    ['url', `https://${'a'.repeat(64)}.example/`],
    ['url', 'https://example.com/#a'],
    ['url', 'https://exam ple.com/'],
    ['url', `https://example.com/${'a'.repeat(2_029)}`],
    ['url', 'http://127.0.0.1/'],
    ['url', 'http://[::ffff:10.0.0.1]/'],
    ['url', 'http://2852039166/latest/meta-data/'],
    ['url', 'http://localhost:8080/'],
    ['description', 'a\nb'],
    ['description', 'a'.repeat(201)],
    ['types', 'issue.created'],
    ['types.0', ['issue.burned']],
    ['types', ['issue.created', 'issue.created']],
    ['types', Array(11).fill('issue.created')],
    ['enabled', 'yes'],
  ])('refuses an invalid %s: %p', async (field, value) => {
    const [name = ''] = field.split('.');
    expectInvalidFields(await staff.post(webhooksPath, { url, [name]: value }), [field]);
    if (value === undefined) return;
    const webhook = await createWebhook();
    expectInvalidFields(await staff.patch(webhookPath(webhook), { [name]: value }), [field]);
  });

  it('accepts the longest values and all types', async () => {
    const draft = {
      url: `https://example.com/${'a'.repeat(2_028)}`,
      description: '🖨'.repeat(200),
      types: Object.keys(issueEvents),
    };
    expect(await createWebhook(draft)).toMatchObject(draft);
  });

  it('creates no more than the maximum number at the same time', async () => {
    await app.sql(
      `INSERT INTO webhook_endpoints (id, url, secret, created_by)
       SELECT gen_random_uuid(), $1, 'x', $2 FROM generate_series(1, $3)`,
      [url, staff.id, webhooksMax - 1],
    );
    const responses = await Promise.all(Array.from({ length: 4 }, () => staff.post(webhooksPath, { url })));
    const refused = responses.filter(({ status }) => status !== 201);
    expect(refused).toHaveLength(3);
    for (const response of refused) expectProblem(response, 409, 'too_many_webhooks');
    expect((await staff.get(webhooksPath).expect(200)).body).toHaveLength(webhooksMax);
  });

  it('clears the reason of a disabled endpoint that is enabled, and failures with another URL', async () => {
    const webhook = await createWebhook();
    const fail = (isEnabled: boolean) =>
      app.sql(
        `UPDATE webhook_endpoints SET is_enabled = $2, failing_since = now(),
           disabled_reason = CASE WHEN NOT $2 THEN 'failing' END, disabled_at = CASE WHEN NOT $2 THEN now() END
          WHERE id = $1`,
        [webhook.id, isEnabled],
      );
    await fail(false);
    const disabled = { enabled: false, disabled_reason: 'failing', failing_since: expect.any(String) };
    const kept = await staff.patch(webhookPath(webhook), { description: 'x' }).expect(200);
    expect(kept.body).toMatchObject(disabled);
    const enabled = await staff.patch(webhookPath(webhook), { enabled: true }).expect(200);
    expect(enabled.body).toMatchObject({
      enabled: true,
      disabled_reason: null,
      disabled_at: null,
      failing_since: null,
    });
    await fail(true);
    const sameUrl = await staff.patch(webhookPath(webhook), { url, enabled: true }).expect(200);
    expect(sameUrl.body).toMatchObject({ failing_since: expect.any(String) });
    const moved = await staff.patch(webhookPath(webhook), { url: `${url}/2` }).expect(200);
    expect(moved.body).toMatchObject({ failing_since: null });
  });

  it('shows a secret once, and signs with the previous one for a day after a rotation', async () => {
    const webhook = await createWebhook();
    expect(webhook.secret).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/);
    const before = Date.now();
    const rotated = await staff.post(webhookPath(webhook, 'rotate-secret/')).expect(200);
    expect(rotated.body.secret).not.toBe(webhook.secret);
    const hours = (Date.parse(rotated.body.previous_secret_until) - before) / 3_600_000;
    expect(Math.abs(hours - 24)).toBeLessThan(0.1);
    const [row] = await app.sql('SELECT secret, previous_secret FROM webhook_endpoints');
    expect(row).toEqual({ secret: rotated.body.secret, previous_secret: webhook.secret });
    for (const response of [
      await staff.get(webhooksPath),
      await staff.get(webhookPath(webhook)),
      await staff.patch(webhookPath(webhook), { description: 'x' }),
    ])
      expect(response.text).not.toMatch(/whsec_/);
    expect(app.log.join()).not.toContain('whsec_');
    const expired = `UPDATE webhook_endpoints SET previous_secret_until = now() - interval '1 second'`;
    await app.sql(expired);
    expect((await staff.get(webhookPath(webhook))).body.previous_secret_until).toBeNull();
  });

  it('logs each change with the person', async () => {
    const webhook = await createWebhook();
    const id = await addDelivery(webhook);
    await staff.patch(webhookPath(webhook), { description: 'x' }).expect(200);
    await staff.post(webhookPath(webhook, 'rotate-secret/')).expect(200);
    await staff.post(webhookPath(webhook, `deliveries/${id}/redeliver/`)).expect(202);
    await staff.delete(webhookPath(webhook)).expect(204);
    const logged = app.log.flatMap((line) => {
      const { endpointId, actorId, msg } = JSON.parse(line);
      return endpointId === webhook.id ? [[actorId, msg]] : [];
    });
    expect(logged).toEqual(
      ['created', 'changed', 'secret rotated', 'redelivery requested', 'deleted'].map((what) => [
        staff.id,
        `webhook ${what}`,
      ]),
    );
  });
});

describe('the deliveries of an endpoint', () => {
  it('has at most one pending test, which a repeated request makes due', async () => {
    const webhook = await createWebhook({ types: ['issue.created'] });
    const tests = await Promise.all(
      Array.from({ length: 3 }, () => staff.post(webhookPath(webhook, 'test/')).expect(202)),
    );
    const [first] = tests;
    expect(new Set(tests.map(({ body }) => body.id)).size).toBe(1);
    const { id } = first?.body ?? {};
    expect(first?.body).toMatchObject({
      message_id: expect.stringMatching(
        new RegExp(`^msg_${webhook.id.replaceAll('-', '')}_t${id}_[0-9a-z]+$`),
      ),
      event_id: null,
      type: 'webhook.test',
      state: 'pending',
    });
    const { body } = await staff.get(webhookPath(webhook, `deliveries/${id}/`)).expect(200);
    expect(body.payload).toEqual({
      type: 'webhook.test',
      timestamp: expect.any(String),
      data: { webhook_id: webhook.id },
    });
    await staff.patch(webhookPath(webhook), { enabled: false }).expect(200);
    expectProblem(await staff.post(webhookPath(webhook, 'test/')), 409, 'webhook_disabled');
  });

  it('are attempted at once when the endpoint is enabled again, and only then', async () => {
    const webhook = await createWebhook();
    const delivery = await addDelivery(webhook, 'pending');
    const attempts = async () => {
      const { body } = await staff.get(webhookPath(webhook, `deliveries/${delivery}/`)).expect(200);
      return body.attempts.length;
    };
    await staff.patch(webhookPath(webhook), { enabled: true }).expect(200);
    const [{ next } = { next: 0 }] = await app.sql<{ next: number }>(
      'SELECT extract(epoch FROM next_attempt_at - now())::int AS next FROM webhook_deliveries',
    );
    expect(next).toBeGreaterThan(80_000);
    for (const enabled of [false, true]) await staff.patch(webhookPath(webhook), { enabled }).expect(200);
    while ((await attempts()) === 1) await new Promise((resolve) => setTimeout(resolve, 50));
  });

  it('are listed, the newest first, on pages and by state', async () => {
    const webhook = await createWebhook();
    const ids: number[] = [];
    for (const state of ['failed', 'delivered', 'pending', 'failed'])
      ids.unshift(await addDelivery(webhook, state));
    await addDelivery(await createWebhook());
    const listed: number[] = [];
    let path: string | undefined = webhookPath(webhook, 'deliveries/?limit=3');
    let pages = 0;
    while (path !== undefined) {
      const response = await staff.get(path).expect(200);
      listed.push(...response.body.map(({ id }: { id: number }) => id));
      path = nextOf(response);
      pages += 1;
    }
    expect([listed, pages]).toEqual([ids, 2]);
    const failed = await staff.get(webhookPath(webhook, 'deliveries/?state=failed')).expect(200);
    expect(failed.body).toMatchObject([
      { id: ids[0], last_attempt: { number: 1, status: 500, duration_ms: 12, error: 'http_error' } },
      { id: ids[3] },
    ]);
    expect(failed.text).not.toContain('Internal error');
    expectInvalidFields(await staff.get(webhookPath(webhook, 'deliveries/?state=lost')), ['state']);
    const other = webhookPath(await createWebhook(), 'deliveries/');
    expect((await staff.get(other).expect(200)).body).toEqual([]);
    expectProblem(await staff.get(webhookPath(unknown, 'deliveries/')), 404, 'webhook_not_found');
  });

  it('show the payload and the attempts', async () => {
    const webhook = await createWebhook();
    const id = await addDelivery(webhook);
    const { body } = await staff.get(webhookPath(webhook, `deliveries/${id}/`)).expect(200);
    const eventId = body.event_id;
    expect(body).toMatchObject({
      id,
      message_id: `msg_${webhook.id.replaceAll('-', '')}_${eventId}`,
      state: 'failed',
      attempt_count: 1,
      payload: { id: eventId, type: 'comment.deleted', data: { issue_key: 'ISS-7', version: 3 } },
      attempts: [{ number: 1, status: 500, error: 'http_error', answer: 'Internal error' }],
    });
    const other = await createWebhook();
    expectProblem(await staff.get(webhookPath(other, `deliveries/${id}/`)), 404, 'delivery_not_found');
    expectProblem(await staff.get(webhookPath(unknown, `deliveries/${id}/`)), 404, 'webhook_not_found');
    for (const invalid of ['0', '-1', '1e3', '9'.repeat(16)])
      expectInvalidFields(await staff.get(webhookPath(webhook, `deliveries/${invalid}/`)), ['delivery_id']);
  });

  it.each(['failed', 'delivered'])('are sent again if they are %s', async (state) => {
    const webhook = await createWebhook();
    const id = await addDelivery(webhook, state);
    const path = webhookPath(webhook, `deliveries/${id}/redeliver/`);
    const { body } = await staff.post(path).expect(202);
    expect(body).toMatchObject({ id, attempt_count: 1, ended_at: null, next_attempt_at: expect.any(String) });
    const [row] = await app.sql('SELECT earlier_attempts FROM webhook_deliveries WHERE id = $1', [id]);
    expect(row).toEqual({ earlier_attempts: 1 });
  });

  it('are not sent again while they are pending or the endpoint is disabled', async () => {
    const webhook = await createWebhook();
    const redeliver = (id: number, of = webhook) =>
      staff.post(webhookPath(of, `deliveries/${id}/redeliver/`));
    const [pending, failed] = [await addDelivery(webhook, 'pending'), await addDelivery(webhook)];
    expectProblem(await redeliver(pending), 409, 'delivery_pending');
    expectProblem(await redeliver(failed, await createWebhook()), 404, 'delivery_not_found');
    await staff.patch(webhookPath(webhook), { enabled: false }).expect(200);
    for (const id of [pending, failed]) expectProblem(await redeliver(id), 409, 'webhook_disabled');
  });
});
