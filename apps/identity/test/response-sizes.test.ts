import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import {
  type CreatedClient,
  type Identity,
  identityApi,
  type Operation,
  type TokenResponse,
} from '@tessera/contracts';
import { untilDeliverable } from '@tessera/testing/event-horizon';
import type { Response } from 'supertest';
import { createClient } from './support/clients.ts';
import { anEmail, aPassword, createIdentity, signIn } from './support/identities.ts';
import { internalClient, unknownId } from './support/internal-client.ts';
import { serviceToken, startTestApp, type TestApp } from './support/test-app.ts';

const mebibyte = 1024 * 1024;
const userAgent = '"'.repeat(400);
const largestFields = {
  username: '€'.repeat(150),
  display_name: '€'.repeat(150),
  sso_provider: '€'.repeat(64),
  sso_id: '€'.repeat(1024),
};

let app: TestApp;
let identity: Identity;
let password: string;
let tokens: TokenResponse;
let client: CreatedClient;
beforeAll(async () => {
  app = await startTestApp({
    HOSTED_SIGN_IN: 'on',
    SIGN_IN_LIMITS: 'off',
    RATE_LIMIT_TOKENS_PER_MINUTE: '0',
  });
  const uris = Array.from({ length: 15 }, (_, n) => `https://app.example/${'p'.repeat(1970)}${n}`);
  client = await createClient(app, { redirect_uris: uris, post_logout_redirect_uris: uris });
  for (let count = 0; count < 10; count += 1) await createClient(app, { redirect_uris: uris });
  const email = `${'e'.repeat(64)}@${'e'.repeat(63)}.${'e'.repeat(63)}.${'e'.repeat(53)}.example`;
  ({ identity, password } = await createIdentity(app, { ...largestFields, email }));
  for (let session = 0; session < 200; session += 1) {
    await app.http
      .post('/token')
      .set('User-Agent', userAgent)
      .send({ grant_type: 'password', email, password })
      .expect(200);
  }
  tokens = await signIn(app, email, password);
  await app.sql(
    `INSERT INTO identities (id, email, email_canonical, username, display_name, sso_provider, sso_id)
     SELECT gen_random_uuid(), $2, $1 || n, $3, $3, repeat('€', 64), repeat('€', 1020) || n
       FROM generate_series(1, 250) n`,
    [anEmail(), email, largestFields.username],
  );
  await app.sql(
    `INSERT INTO audit_events (type, outcome, actor, identity_id, user_agent, request_id, details)
     SELECT 'token.issued', 'success', 'user', $1, $2, repeat('r', 64), jsonb_build_object('reason', repeat('é', 4000))
       FROM generate_series(1, 250)`,
    [identity.id, userAgent],
  );
});
afterAll(() => app.close());

const internal = internalClient(() => app);
const path = () => `/internal/identities/${identity.id}`;
const clientPath = () => `/internal/clients/${client.client_id}`;
const bearer = () => `Bearer ${tokens.access_token}`;

interface LargestResponse {
  send: () => PromiseLike<Response>;
  status: number;
  /** The minimum size for a meaningful test, in bytes. */
  atLeast?: number;
}

/** For each operation, the request with the largest response. */
const largest: Record<string, LargestResponse> = {
  getDiscoveryDocument: { send: () => app.http.get('/.well-known/openid-configuration'), status: 200 },
  getKeySet: { send: () => app.http.get('/jwks'), status: 200 },
  signIn: {
    send: () => app.http.post('/token').send({ grant_type: 'password', email: identity.email, password }),
    status: 200,
    atLeast: 2_000,
  },
  refreshTokens: {
    send: async () => {
      const response = await app.http.post('/token/refresh').send({ refresh_token: tokens.refresh_token });
      tokens = response.body;
      return response;
    },
    status: 200,
    atLeast: 2_000,
  },
  getUserInfo: {
    send: () => app.http.get('/userinfo').set('Authorization', bearer()),
    status: 200,
    atLeast: 700,
  },
  postUserInfo: {
    send: () => app.http.post('/userinfo').set('Authorization', bearer()),
    status: 200,
    atLeast: 700,
  },
  createIdentity: {
    send: () =>
      internal('post', '/internal/identities').send({
        ...largestFields,
        ...{ sso_id: '€'.repeat(1023), email: anEmail(), password: aPassword() },
      }),
    status: 201,
    atLeast: 1_500,
  },
  listIdentities: {
    send: () => internal('get', '/internal/identities?limit=200'),
    status: 200,
    atLeast: 470_000,
  },
  getIdentity: { send: () => internal('get', path()), status: 200, atLeast: 1_500 },
  findIdentityByEmail: {
    send: () => internal('get', `/internal/identities/by-email/${encodeURIComponent(identity.email)}`),
    status: 200,
    atLeast: 1_500,
  },
  findIdentityBySso: {
    send: () =>
      internal('get', '/internal/identities/by-sso/lookup').query({
        provider: largestFields.sso_provider,
        sso_id: largestFields.sso_id,
      }),
    status: 200,
    atLeast: 1_500,
  },
  updateIdentity: {
    send: () => internal('put', path()).send({ is_verified: true }),
    status: 200,
    atLeast: 1_500,
  },
  listSessions: {
    send: () => internal('get', `${path()}/sessions?limit=200`),
    status: 200,
    atLeast: 200_000,
  },
  introspectToken: {
    send: () => internal('post', '/internal/introspect').send({ token: tokens.access_token }),
    status: 200,
    atLeast: 600,
  },
  listAuditEvents: {
    send: () => internal('get', '/internal/audit-events?limit=200'),
    status: 200,
    atLeast: 500_000,
  },
  listIdentityEvents: {
    send: async () => {
      await untilDeliverable(app);
      return internal('get', '/internal/events');
    },
    status: 200,
    atLeast: 25_000,
  },
  createClient: {
    send: () =>
      internal('post', '/internal/clients').send({
        name: '€'.repeat(100),
        kind: 'public',
        redirect_uris: client.redirect_uris,
        post_logout_redirect_uris: client.redirect_uris,
      }),
    status: 201,
    atLeast: 60_000,
  },
  listClients: {
    send: () => internal('get', '/internal/clients?limit=200'),
    status: 200,
    atLeast: 300_000,
  },
  getClient: { send: () => internal('get', clientPath()), status: 200, atLeast: 60_000 },
  updateClient: {
    send: () => app.http.patch(clientPath()).set('X-Service-Token', serviceToken).send({ name: 'Wiki' }),
    status: 200,
    atLeast: 60_000,
  },
  rotateClientSecret: { send: () => internal('post', `${clientPath()}/rotate-secret`), status: 200 },
  disableClient: { send: () => internal('delete', clientPath()), status: 204 },
  changeIdentityPassword: {
    send: () =>
      internal('post', `${path()}/password`).send({ current_password: password, new_password: aPassword() }),
    status: 204,
  },
  revokeToken: {
    send: () => app.http.post('/token/revoke').send({ token: tokens.refresh_token }),
    status: 200,
  },
  revokeSession: { send: () => internal('delete', `${path()}/sessions/${unknownId}`), status: 404 },
  revokeSessions: { send: () => internal('delete', `${path()}/sessions`), status: 204 },
  deleteIdentity: { send: () => internal('delete', path()), status: 204 },
  getLiveness: { send: () => app.http.get('/healthz'), status: 200 },
  getReadiness: { send: () => app.http.get('/readyz'), status: 200 },
};

describe('the largest response of each operation', () => {
  it('is tested for all operations', () => {
    const operations: readonly Operation[] = identityApi.operations;
    expect(Object.keys(largest).sort()).toEqual(operations.map(({ id }) => id).sort());
  });

  it.each(Object.entries(largest))('has at most 1 MiB: %s', async (_id, { send, status, atLeast = 0 }) => {
    const response = await send();
    const bytes = Buffer.byteLength(response.text ?? '');
    expect([response.status, bytes < atLeast ? bytes : 'large enough']).toEqual([status, 'large enough']);
    expect(bytes).toBeLessThanOrEqual(mebibyte);
  });
});
