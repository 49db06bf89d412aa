import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { IdentityClient } from '@tessera/client/identity';
import { IssuesClient, ProblemError, Session } from '@tessera/client/issues';
import { eventually } from '@tessera/stack/eventually';
import { type Pair, Person, startPair } from './support/pair.ts';

const password = 'a password of the system test';
const mirrorFields = [
  'id',
  'username',
  'email',
  'sso_provider',
  'sso_id',
  'is_active',
  'is_verified',
  'is_staff',
  'is_superuser',
] as const;

// The built services and their databases over HTTP, without stubs. Each step depends on the previous ones.
describe.each([
  ['one process each', 1],
  ['two replicas of each behind one address', 2],
])('identity and issues together, %s', (_, count) => {
  let pair: Pair;
  let staff: Person;
  let ann: Person;
  let annId: string;
  let issueId: string;
  let stopReading: () => Promise<void> = async () => undefined;

  beforeAll(async () => {
    const replicas = { identity: count, issues: count };
    pair = await startPair({ replicas, behindOneAddress: count > 1 });
    const created = await pair.internal.post('/internal/identities', {
      email: 'staff@example.com',
      username: 'staff',
      password,
      is_staff: true,
    });
    expect(created.status).toBe(201);
    staff = await new Person(pair, 'staff@example.com', password).signIn();
  });
  afterAll(async () => {
    await stopReading();
    expect(new Set(await pair.stop())).toEqual(new Set([0]));
  });

  it('staff creates a user through issues, and the mirror matches identity', async () => {
    const created = await staff.issues.post('/users/', {
      email: 'Ann@Example.com',
      username: 'ann',
      password,
      is_verified: true,
    });
    expect(created.status).toBe(201);
    annId = created.data.id;
    const identity = await pair.internal.get(`/internal/identities/${annId}`);
    const { rows } = await pair.sql(
      'issues',
      `SELECT ${mirrorFields.join()} FROM identity_mirror WHERE id = $1`,
      [annId],
    );
    expect(rows).toEqual([Object.fromEntries(mirrorFields.map((field) => [field, identity.data[field]]))]);
  });

  it('the user signs in at identity, creates an issue and comments on it', async () => {
    ann = await new Person(pair, 'ann@example.com', password).signIn();
    const created = await ann.issues.post('/issues/', {
      title: 'Printer on fire',
      description: 'Since noon.',
      priority: 'HIGH',
    });
    expect(created.status).toBe(201);
    expect(created.data).toMatchObject({
      status: 'OPEN',
      priority: 'HIGH',
      reporter: { id: annId, username: 'ann' },
    });
    issueId = created.data.id;
    const comment = await ann.issues.post(`/issues/${issueId}/comments/`, { body: 'Still burning.' });
    expect(comment.status).toBe(201);
    const read = await staff.issues.get(`/issues/${created.data.key}/`);
    expect(read.data.comments).toMatchObject([{ body: 'Still burning.', author: { username: 'ann' } }]);
  });

  it('the user makes every allowed status transition', async () => {
    const path = [
      'IN_PROGRESS',
      'OPEN',
      'RESOLVED',
      'REOPENED',
      'IN_PROGRESS',
      'RESOLVED',
      'CLOSED',
      'REOPENED',
      'RESOLVED',
      'REOPENED',
      'CLOSED',
      'REOPENED',
      'IN_PROGRESS',
      'CLOSED',
    ];
    for (const status of path) {
      const moved = await ann.issues.post(`/issues/${issueId}/status/`, { status });
      expect([status, moved.status, moved.data.status]).toEqual([status, 200, status]);
    }
    const second = await ann.issues.post('/issues/', { title: 'Closed at once' });
    expect((await ann.issues.post(`/issues/${second.data.id}/status/`, { status: 'CLOSED' })).status).toBe(
      200,
    );
    expect((await ann.issues.post(`/issues/${second.data.id}/status/`, { status: 'OPEN' })).status).toBe(409);
  });

  it('a backend and a user work through the client package', async () => {
    const identity = new IdentityClient({ baseUrl: pair.identityUrl, serviceToken: pair.serviceToken });
    const email = 'client@example.com';
    const { id } = await identity.create({ email, password });
    expect(await identity.findByEmail(email)).toMatchObject({ id, email, is_staff: false });
    const session = await Session.signIn({ identityUrl: pair.identityUrl, email, password });
    expect(await identity.introspect(await session.accessToken())).toMatchObject({ active: true, sub: id });
    const issues = new IssuesClient({ baseUrl: pair.issuesUrl, token: session });
    const created = [];
    for (const title of ['first', 'second', 'third'])
      created.push(await issues.create({ title, assignee_id: id }));
    const listed = [];
    for await (const issue of issues.list({ assignee: 'me', ordering: ['number'], limit: 2 }))
      listed.push(issue);
    expect(listed.map(({ key }) => key)).toEqual(created.map(({ key }) => key));
    const [{ key, version }] = created as [(typeof created)[number]];
    const changed = await issues.update(key, { title: 'changed', version });
    const refused = await issues.update(key, { title: 'late', version }).catch((error: unknown) => error);
    expect(refused).toBeInstanceOf(ProblemError);
    expect(refused).toMatchObject({
      status: 409,
      code: 'version_conflict',
      body: { issue: { title: 'changed' } },
    });
    await issues.addComment(key, 'done');
    expect(await issues.changeStatus(key, { status: 'RESOLVED' })).toMatchObject({
      version: changed.version,
      comments_count: 1,
      status: 'RESOLVED',
    });
    const kinds = [];
    for await (const { kind } of issues.activity(key, { limit: 2 })) kinds.push(kind);
    expect(kinds).toEqual(['created', 'updated', 'comment_added', 'status_changed']);
    await session.signOut();
    await expect(session.accessToken()).rejects.toMatchObject({ status: 0, code: 'signed_out' });
    await identity.delete(id);
    await expect(identity.get(id)).rejects.toMatchObject({ status: 404 });
  });

  it('issues continues while identity is down, and returns 503 where it needs identity', async () => {
    await pair.identity.kill();
    expect((await ann.issues.get('/issues/')).status).toBe(200);
    expect((await ann.issues.get(`/issues/${issueId}/`)).status).toBe(200);
    expect((await ann.issues.post('/issues/', { title: 'Identity is down' })).status).toBe(201);
    expect((await ann.issues.post(`/issues/${issueId}/comments/`, { body: 'Meanwhile.' })).status).toBe(201);
    expect((await ann.issues.post(`/issues/${issueId}/status/`, { status: 'REOPENED' })).status).toBe(200);
    const created = await staff.issues.post('/users/', { email: 'bob@example.com', password });
    // The balancer accepts connections, so a client cannot report how far its request got.
    const code = count > 1 ? 'create_outcome_unknown' : 'identity_unavailable';
    expect([created.status, created.data.code]).toEqual([503, code]);
    await pair.identity.start({ JWT_ACTIVE_KID: 'identity-key-1' });
    // Another address each time: a creation whose answer is late on a slow machine has taken its own.
    let attempts = 0;
    const again = await untilStatus(() => {
      attempts += 1;
      return staff.issues.post('/users/', { email: `bob-${attempts}@example.com`, password });
    }, 201);
    expect(again.status).toBe(201);
  });

  it('the signing key is rotated without a failed request', async () => {
    let running = true;
    const statuses = new Map<number, number>();
    const load = async () => {
      while (running) {
        const { status } = await ann.issues.get('/issues/?limit=5');
        statuses.set(status, (statuses.get(status) ?? 0) + 1);
        // Leaves the cores to the services that restart.
        await sleep(10);
      }
    };
    const readers = [load(), load(), load()];
    stopReading = async () => {
      running = false;
      await Promise.all(readers);
    };
    const restart = async (more: Record<string, string>) => {
      expect(new Set(await pair.identity.restart(more))).toEqual(new Set([0]));
    };
    pair.addKey(2);
    await restart({ JWT_ACTIVE_KID: 'identity-key-1' });
    await restart({ JWT_ACTIVE_KID: 'identity-key-2' });
    // A token of the new key: issues does not know the key and fetches the key set once.
    const before = ann;
    ann = await new Person(pair, 'ann@example.com', password).signIn();
    expect((await ann.issues.get('/issues/')).status).toBe(200);
    expect((await before.issues.get('/issues/')).status).toBe(200);
    await restart({ JWT_ACTIVE_KID: 'identity-key-2', JWT_VERIFY_ONLY_KIDS: 'identity-key-1' });
    // A session that started under the old key continues under the new one.
    const refreshed = await pair.public.post('/token/refresh', {
      refresh_token: before.tokens?.refresh_token,
    });
    expect(refreshed.status).toBe(200);
    await stopReading();
    expect([...statuses.keys()]).toEqual([200]);
    expect(statuses.get(200)).toBeGreaterThan(50);
  });

  it('issues rejects a user who was deactivated at identity, within seconds', async () => {
    expect((await pair.internal.put(`/internal/identities/${annId}`, { is_active: false })).status).toBe(200);
    expect(
      (await pair.public.post('/token', { grant_type: 'password', email: ann.email, password })).status,
    ).toBe(401);
    expect(
      (await pair.public.post('/token/refresh', { refresh_token: ann.tokens?.refresh_token })).status,
    ).toBe(401);
    const refused = await untilStatus(() => ann.issues.get('/issues/'), 401);
    expect([refused.status, refused.data.code]).toEqual([401, 'identity_inactive']);
  });

  it('neither log holds a token, a password or the service token', () => {
    for (const log of [pair.identity.log, pair.issues.log]) {
      expect(log).not.toMatch(/eyJ[\w-]+\.eyJ/);
      expect(log).not.toContain(password);
      expect(log).not.toContain(pair.serviceToken);
    }
  });
});

/** Repeats a request until it has the status, because a breaker and the mirror wait after an outage. */
function untilStatus<Answer extends { status: number }>(
  send: () => Promise<Answer>,
  wanted: number,
): Promise<Answer> {
  return eventually(send, ({ status }) => status === wanted);
}
