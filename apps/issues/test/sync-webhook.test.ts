import { createHmac } from 'node:crypto';
import { once } from 'node:events';
import { connect } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Issue } from '@tessera/contracts';
import { eventually } from '@tessera/stack/eventually';
import { rememberSecret } from '@tessera/testing/leaks';
import { expectProblem } from '@tessera/testing/problems';
import { type FakeTestTracker, startFakeTracker } from './support/fake-tracker.ts';
import { aPerson, type TestPerson } from './support/people.ts';
import { startTestApp, type TestApp } from './support/test-app.ts';
import { trackerEnvironment } from './support/tracker-environment.ts';

const secret = rememberSecret('a-webhook-secret-of-the-tests');
const github = (body: string) => `sha256=${createHmac('sha256', secret).update(body).digest('hex')}`;

type Provider = 'github' | 'gitlab' | 'gitea';

const senders: Record<Provider, (body: string, delivery: string) => Record<string, string>> = {
  github: (body, delivery) => ({ 'X-Hub-Signature-256': github(body), 'X-GitHub-Delivery': delivery }),
  gitea: (body, delivery) => ({
    'X-Gitea-Signature': createHmac('sha256', secret).update(body).digest('hex'),
    'X-Gitea-Delivery': delivery,
  }),
  gitlab: (_body, delivery) => ({ 'X-Gitlab-Token': secret, 'X-Gitlab-Event-UUID': delivery }),
};

function payload(provider: Provider, number: number, project = 'acme/website'): string {
  return JSON.stringify(
    provider === 'gitlab'
      ? {
          object_kind: 'issue',
          project: { id: 7, path_with_namespace: project },
          object_attributes: { id: 301, iid: number, action: 'update' },
        }
      : { action: 'edited', issue: { number, title: 'ignored' }, repository: { full_name: project } },
  );
}

describe.each(Object.keys(senders) as Provider[])('POST /api/v1/integrations/%s/webhook/', (provider) => {
  let tracker: FakeTestTracker;
  let app: TestApp;
  let issue: Issue;
  let ann: TestPerson;
  beforeAll(async () => {
    tracker = await startFakeTracker(provider);
    const workers = { SYNC_WORKERS: '2', SYNC_POLL_MS: '100' };
    app = await startTestApp(trackerEnvironment(tracker, { ...workers, TRACKER_WEBHOOK_SECRET: secret }));
    ann = await aPerson(app);
    const { body } = await ann.post('/api/v1/issues/', { title: 'Hooked' }).expect(201);
    issue = (await ann.post(`/api/v1/issues/${body.id}/sync/`).expect(200)).body;
  });
  afterAll(async () => {
    await app.close();
    await tracker.close();
  });

  const deliver = (body: string, headers: Record<string, string>) =>
    app.http
      .post(`/api/v1/integrations/${provider}/webhook/`)
      .set({ 'Content-Type': 'application/json', ...headers })
      .send(body);
  const titleBecomes = async (title: string) => {
    const look = async () => (await ann.get(`/api/v1/issues/${issue.id}/`).expect(200)).body;
    return eventually(look, (seen) => seen.title === title && seen.sync.state === 'synced');
  };
  const number = () => Number(issue.external?.id);

  it('syncs the issue with the data of the tracker, not of the delivery', async () => {
    await tracker.edit(issue.external?.id ?? '', { title: 'Changed there' });
    const body = payload(provider, number());
    const { body: answer } = await deliver(body, senders[provider](body, 'first')).expect(202);
    expect(answer).toEqual({ status: 'accepted' });
    expect((await titleBecomes('Changed there')).sync.state).toBe('synced');
  });

  it('syncs an issue again if a running sync read it before the delivery', async () => {
    const comments = { path: /\/(comments|notes)$/ };
    tracker.fake.fail({ kind: 'latency', ms: 1_000, on: { method: 'GET', ...comments } });
    const running = ann.post(`/api/v1/issues/${issue.id}/sync/`);
    const [{ status }] = await Promise.all([
      running,
      new Promise((resolve) => setTimeout(resolve, 500)).then(async () => {
        await tracker.edit(issue.external?.id ?? '', { title: 'Changed meanwhile' });
        const body = payload(provider, number());
        await deliver(body, senders[provider](body, 'meanwhile')).expect(202);
      }),
    ]);
    expect(status).toBe(200);
    await titleBecomes('Changed meanwhile');
  });

  it('accepts each delivery once', async () => {
    const body = payload(provider, number());
    const send = () => deliver(body, senders[provider](body, 'twice'));
    const answers = await Promise.all([send(), send(), send(), send()]);
    expect(answers.map(({ status }) => status)).toEqual([202, 202, 202, 202]);
    expect(answers.map(({ body: { status } }) => status).sort()).toEqual([
      'accepted',
      'known',
      'known',
      'known',
    ]);
  });

  it('returns 401 for a missing or wrong signature and stores nothing', async () => {
    const body = payload(provider, number());
    const [[name = '', value = ''] = []] = Object.entries(senders[provider](body, 'x'));
    const { length } = await app.sql('SELECT FROM tracker_deliveries');
    for (const headers of [{}, { [name]: '' }, { [name]: `${value.slice(0, -1)}0` }, { [name]: 'sha256=' }]) {
      expectProblem(await deliver(body, headers), 401, 'invalid_signature');
    }
    if (provider !== 'gitlab') {
      expectProblem(await deliver(`${body} `, senders[provider](body, 'x')), 401, 'invalid_signature');
    }
    expect(await app.sql('SELECT FROM tracker_deliveries')).toHaveLength(length);
  });

  it('accepts a delivery for another event and schedules no sync', async () => {
    const due = () => app.sql('SELECT FROM tracker_links WHERE next_attempt_at IS NOT NULL');
    // Waits for the syncs that earlier deliveries scheduled.
    while ((await due()).length > 0) await new Promise((resolve) => setTimeout(resolve, 50));
    for (const [index, body] of [
      payload(provider, number(), 'acme/other'),
      payload(provider, 999_999),
      '{"zen":"Keep it logically awesome."}',
      'no JSON',
      '',
    ].entries()) {
      await deliver(body, senders[provider](body, `other-${index}`)).expect(202);
    }
    expect(await due()).toEqual([]);
  });

  it('is accepted while a hundred unknown senders do not end their bodies', async () => {
    const { port } = new URL(app.url);
    const head = `POST /api/v1/integrations/${provider}/webhook/ HTTP/1.1\r\nHost: a\r\nContent-Length: 1000\r\n\r\n`;
    const sockets = Array.from({ length: 100 }, () => connect(Number(port), '127.0.0.1'));
    for (const socket of sockets) socket.write(`${head}{`);
    for (const socket of sockets) if (socket.connecting) await once(socket, 'connect');
    const body = payload(provider, 999_999);
    for (let look = 0; look < 20; look += 1) {
      await deliver(body, senders[provider](body, `beside-${look}`)).expect(202);
    }
    for (const socket of sockets) socket.destroy();
  });

  it('accepts the name of the tracker in upper case, like the rest of the path', async () => {
    const body = payload(provider, number());
    await app.http
      .post(`/API/v1/integrations/${provider.toUpperCase()}/webhook/`)
      .set({ 'Content-Type': 'application/json', ...senders[provider](body, 'upper-case') })
      .send(body)
      .expect(202);
  });

  it('returns 413 for a body that is too large', async () => {
    const body = JSON.stringify({ text: 'x'.repeat(1024 * 1024) });
    expectProblem(await deliver(body, senders[provider](body, 'large')), 413, 'body_too_large');
  });
});

describe('a webhook of GitLab for a project that is configured by its number', () => {
  it('syncs the issues of that project only', async () => {
    const tracker = await startFakeTracker('gitlab');
    const configured = { ...tracker, project: '4711' };
    const app = await startTestApp(trackerEnvironment(configured, { TRACKER_WEBHOOK_SECRET: secret }));
    const ann = await aPerson(app);
    const { body: issue } = await ann.post('/api/v1/issues/', { title: 'Hooked' }).expect(201);
    const { body: synced } = await ann.post(`/api/v1/issues/${issue.id}/sync/`).expect(200);
    const deliver = async (id: number) => {
      const body = payload('gitlab', Number(synced.external.id)).replace('"id":7', `"id":${id}`);
      const headers = { 'Content-Type': 'application/json', ...senders.gitlab(body, `number-${id}`) };
      await app.http.post('/api/v1/integrations/gitlab/webhook/').set(headers).send(body).expect(202);
      return (await app.sql('SELECT FROM tracker_links WHERE next_attempt_at IS NOT NULL')).length;
    };
    expect(await deliver(4712)).toBe(0);
    expect(await deliver(4711)).toBe(1);
    await app.close();
    await tracker.close();
  });
});

describe('a webhook without a configured tracker', () => {
  it.each(['github', 'redmine', 'nonsense'])('returns 404 for %s', async (provider) => {
    const app = await startTestApp();
    const answer = await app.http.post(`/api/v1/integrations/${provider}/webhook/`).send({});
    expectProblem(answer, 404, 'webhook_not_configured');
    await app.close();
  });
});
