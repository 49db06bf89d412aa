import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type IdentityEventType, identityEventFeedSchema } from '@tessera/contracts';
import { readApiDocument } from '@tessera/service-kit';
import { untilDeliverable } from '@tessera/testing/event-horizon';
import { ApiSurface } from '@tessera/testing/fuzz';
import { accessLine } from '@tessera/testing/leaks';
import { expectInvalidFields, expectProblem } from '@tessera/testing/problems';
import { decodeJwt } from 'jose';
import { createClient, redirectUri } from './support/clients.ts';
import {
  anIdentity,
  aPassword,
  createIdentity,
  signedIn,
  signIn,
  updateIdentity,
} from './support/identities.ts';
import { internalClient } from './support/internal-client.ts';
import { startTestApp, type TestApp } from './support/test-app.ts';
import './support/response-guard.ts';

const path = '/internal/events';
let app: TestApp;
beforeAll(async () => {
  app = await startTestApp({ REFRESH_REUSE_LEEWAY_SECONDS: '0', HOSTED_SIGN_IN: 'on' });
});
afterAll(() => app.close());

const internal = internalClient(() => app);
const readPage = async (query: string) =>
  identityEventFeedSchema.strict().parse((await internal('get', `${path}${query}`).expect(200)).body);

/** Returns the events that an action writes, without ids and times. */
async function eventsOf(act: () => PromiseLike<unknown>) {
  await untilDeliverable(app);
  const { next } = await readPage('?after=now');
  await act();
  await untilDeliverable(app);
  const { events, reset } = await readPage(`?after=${next}`);
  expect(reset).toBe(false);
  return events.map(({ type, data }) => ({ type, ...data }));
}

const event = (type: IdentityEventType, identity_id: string, members: object = {}) => ({
  type,
  identity_id,
  ...members,
});
/** `ended`: the session; or how often all have ended. */
const sessionsEnded = (id: string, ended: string | number) =>
  event(
    'identity.sessions_ended',
    id,
    typeof ended === 'string' ? { session_id: ended } : { session_id: null, session_epoch: ended },
  );

async function familyOf(refreshToken: string): Promise<string> {
  const [row] = await app.sql<{ family_id: string }>('SELECT family_id FROM refresh_tokens WHERE jti = $1', [
    decodeJwt(refreshToken).jti,
  ]);
  return row?.family_id ?? '';
}

// The feed is what a write causes for others: every trusted backend reads it.
describe('the largest request of every operation that writes causes at most two events', () => {
  interface Target {
    id: string;
    email: string;
    password: string;
    accessToken: string;
    refreshToken: string;
  }
  const identityPath = ({ id }: Target, part = '') => `/internal/identities/${id}${part}`;
  const requests: Record<string, (target: Target) => PromiseLike<{ status: number }>> = {
    signIn: ({ email, password }) =>
      app.http.post('/token').send({ grant_type: 'password', email, password }),
    refreshTokens: ({ refreshToken }) =>
      app.http.post('/token/refresh').send({ refresh_token: refreshToken }),
    revokeToken: ({ refreshToken }) =>
      app.http.post('/token/revoke').type('form').send({ token: refreshToken }),
    postUserInfo: ({ accessToken }) =>
      app.http.post('/userinfo').set('Authorization', `Bearer ${accessToken}`),
    createIdentity: () => internal('post', '/internal/identities').send(anIdentity()),
    updateIdentity: (target) =>
      internal('put', identityPath(target)).send({
        ...anIdentity(),
        is_active: false,
        is_staff: true,
        password: aPassword(),
      }),
    deleteIdentity: (target) => internal('delete', identityPath(target)),
    changeIdentityPassword: (target) =>
      internal('post', identityPath(target, '/password')).send({
        current_password: target.password,
        new_password: aPassword(),
      }),
    revokeSessions: (target) => internal('delete', identityPath(target, '/sessions')),
    revokeSession: async (target) =>
      internal('delete', identityPath(target, `/sessions/${await familyOf(target.refreshToken)}`)),
    introspectToken: ({ accessToken }) =>
      internal('post', '/internal/introspect').type('form').send({ token: accessToken }),
    createClient: () => internal('post', '/internal/clients').send(aClient),
    updateClient: async () => internal('patch', await clientPath()).send({ name: 'Wiki of Acme' }),
    disableClient: async () => internal('delete', await clientPath()),
    rotateClientSecret: async () => internal('post', `${await clientPath()}/rotate-secret`),
  };
  const aClient = { name: 'Wiki', kind: 'confidential', redirect_uris: [redirectUri] };
  const clientPath = async () => `/internal/clients/${(await createClient(app)).client_id}`;
  const writes = new ApiSurface(readApiDocument('identity')).operations.filter(
    ({ method }) => method !== 'GET',
  );

  it.each(writes.map(({ operationId }) => [operationId]))('%s', async (operationId) => {
    const request = requests[operationId];
    if (request === undefined) throw new Error(`${operationId} has no request in this test`);
    const { identity, password, tokens } = await signedIn(app);
    const target = {
      id: identity.id,
      email: identity.email,
      password,
      accessToken: tokens.access_token,
      refreshToken: tokens.refresh_token,
    };
    let status = 0;
    const events = await eventsOf(async () => {
      ({ status } = await request(target));
    });
    expect([200, 201, 204]).toContain(status);
    expect(events.length).toBeLessThanOrEqual(2);
  });
});

describe('the events of an identity', () => {
  it('are one for a creation, and none for a refused one', async () => {
    const body = anIdentity();
    let id = '';
    const events = await eventsOf(async () => {
      ({ id } = (await internal('post', '/internal/identities').send(body).expect(201)).body);
      await internal('post', '/internal/identities').send(body).expect(409);
    });
    expect(events).toEqual([event('identity.created', id)]);
  });

  it('are one for an update with the changed members, and none if no value differs', async () => {
    const { identity } = await createIdentity(app);
    const update = () =>
      updateIdentity(app, identity.id, { username: 'new', is_staff: true, is_active: true });
    expect(await eventsOf(update)).toEqual([
      event('identity.updated', identity.id, { changed: ['username', 'is_staff'] }),
    ]);
    expect(await eventsOf(update)).toEqual([]);
  });

  it('are a deactivation or deletion, and the end of all sessions', async () => {
    const { identity } = await createIdentity(app);
    const { id } = identity;
    expect(await eventsOf(() => updateIdentity(app, id, { is_active: false }))).toEqual([
      event('identity.deactivated', id, { changed: ['is_active'] }),
      sessionsEnded(id, 1),
    ]);
    const changed = ['email', 'sso', 'is_active'];
    const update = { email: 'else@example.com', sso_provider: 'google', sso_id: '1', is_active: true };
    expect(await eventsOf(() => updateIdentity(app, id, update))).toEqual([
      event('identity.updated', id, { changed }),
    ]);
    const remove = () => internal('delete', `/internal/identities/${id}`);
    expect(await eventsOf(() => remove().expect(204))).toEqual([
      event('identity.deleted', id),
      sessionsEnded(id, 2),
    ]);
    expect(await eventsOf(() => remove().expect(404))).toEqual([]);
  });

  it('are the end of all sessions for a new password, by the service and by its owner, and for a revocation', async () => {
    const { identity, password } = await createIdentity(app);
    const [second, third] = [aPassword(), aPassword()];
    const events = await eventsOf(async () => {
      const change = `/internal/identities/${identity.id}/password`;
      await internal('post', change).send({ current_password: third, new_password: second }).expect(422);
      await internal('post', change).send({ current_password: password, new_password: second }).expect(204);
      await updateIdentity(app, identity.id, { password: third });
      await internal('delete', `/internal/identities/${identity.id}/sessions`).expect(204);
    });
    expect(events).toEqual([1, 2, 3].map((epoch) => sessionsEnded(identity.id, epoch)));
  });

  it('are one for each revoked session, and none for a sign-in, a refresh and a refusal', async () => {
    const { identity, password, tokens } = await signedIn(app);
    const refresh = (token: string) => app.http.post('/token/refresh').send({ refresh_token: token });
    let second = tokens;
    let third = tokens;
    const quiet = await eventsOf(async () => {
      [second, third] = [
        await signIn(app, identity.email, password),
        await signIn(app, identity.email, password),
      ];
      await refresh(tokens.refresh_token).expect(200);
    });
    expect(quiet).toEqual([]);
    const sessions = await Promise.all([tokens, second, third].map((one) => familyOf(one.refresh_token)));
    const events = await eventsOf(async () => {
      await refresh(tokens.refresh_token).expect(401);
      await refresh(tokens.refresh_token).expect(401);
      await app.http.post('/token/revoke').send({ token: second.refresh_token }).expect(200);
      await internal('delete', `/internal/identities/${identity.id}/sessions/${sessions[2]}`).expect(204);
    });
    expect(events).toEqual(sessions.map((session) => sessionsEnded(identity.id, session)));
    const gone = await eventsOf(async () => {
      const { refresh_token } = await signIn(app, identity.email, password);
      await updateIdentity(app, identity.id, { is_active: false });
      await refresh(refresh_token).expect(401);
    });
    expect(gone.map(({ type }) => type)).toEqual(['identity.deactivated', 'identity.sessions_ended']);
  });
});

describe('GET /internal/events', () => {
  it('is logged at debug for a page without events, and at info otherwise', async () => {
    await createIdentity(app);
    await untilDeliverable(app);
    const levels = [];
    for (const query of ['?after=now', '']) {
      const response = await internal('get', `${path}${query}`).expect(200);
      const line = await accessLine(app.log.lines, response.headers['x-request-id'] ?? '');
      levels.push([response.body.events.length > 0, line.level]);
    }
    expect(levels).toEqual([
      [false, 'debug'],
      [true, 'info'],
    ]);
  });

  it('needs the service token, and rejects other cursors and limits', async () => {
    expectProblem(await app.http.get(path), 403, 'service_token_refused');
    expectInvalidFields(await internal('get', `${path}?after=x`), ['after']);
    expectInvalidFields(await internal('get', `${path}?limit=201`), ['limit']);
  });

  it('has a trailing slash or none, and returns a reset for a cursor of another database', async () => {
    const other = await startTestApp();
    const { body } = await internalClient(() => other)('get', `${path}/?after=now`).expect(200);
    await other.close();
    expect(await readPage(`?after=${body.next}`)).toMatchObject({ events: [], reset: true });
  });

  it('returns a reset after a dump was restored into the same database', async () => {
    const { next } = await readPage('?after=now');
    // As pg_restore: the table is created again, with its rows.
    await app.sql('ALTER SEQUENCE events_id_seq OWNED BY NONE');
    await app.sql('CREATE TABLE restored (LIKE events INCLUDING ALL)');
    await app.sql('INSERT INTO restored SELECT * FROM events');
    await app.sql('DROP TABLE events');
    await app.sql('ALTER TABLE restored RENAME TO events');
    expect(await readPage(`?after=${next}`)).toMatchObject({ events: [], reset: true });
    expect(await eventsOf(() => createIdentity(app))).toHaveLength(1);
  });
});
