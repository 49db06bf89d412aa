import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Identity, TokenResponse } from '@tessera/contracts';
import {
  databaseUse,
  type RoundTrip,
  type RoundTripRecorder,
  startRoundTripRecorder,
} from '@tessera/testing/round-trips';
import type { Test } from 'supertest';
import { createIdentity, signIn } from './support/identities.ts';
import { internalClient } from './support/internal-client.ts';
import { createTestDatabase, startTestApp, type TestApp } from './support/test-app.ts';

/** The expected statements of a request, and the reason for them. */
interface Expected {
  request: string;
  send: () => Test;
  statements: number;
  /** The number of statements that PostgreSQL parses again; 0 unless given. */
  parsed?: number;
  because: string;
}

let recorder: RoundTripRecorder;
let firstSignIn: RoundTrip[];
let app: TestApp;
let identity: Identity;
let password: string;
let tokens: TokenResponse;

const userInfo = () => app.http.get('/userinfo').set('Authorization', `Bearer ${tokens.access_token}`);
const introspect = (token: string) =>
  internalClient(() => app)('post', '/internal/introspect').send({ token });

const table: Expected[] = [
  {
    request: 'POST /token',
    send: () => app.http.post('/token').send({ grant_type: 'password', email: identity.email, password }),
    statements: 2,
    because:
      'one statement reads the hash and the counters before the comparison, and one opens the session after it',
  },
  {
    request: 'POST /token/refresh',
    send: () => app.http.post('/token/refresh').send({ refresh_token: tokens.refresh_token }),
    statements: 1,
    because: 'one statement checks the token, rotates it and writes the audit event',
  },
  {
    request: 'GET /userinfo',
    send: userInfo,
    statements: 1,
    because: 'the identity is read for each request, so that a deactivation takes effect at once',
  },
  {
    request: 'POST /internal/introspect of an access token',
    send: () => introspect(tokens.access_token),
    statements: 1,
    because: 'the identity is read each time',
  },
  {
    request: 'POST /internal/introspect of a refresh token',
    send: () => introspect(tokens.refresh_token),
    statements: 1,
    because: 'one join reads the token, the family and the identity',
  },
  {
    request: 'GET /internal/events',
    send: () => internalClient(() => app)('get', '/internal/events'),
    statements: 1,
    parsed: 1,
    because:
      'one statement reads the events and the end of the feed from one snapshot; it has no name, for poolers',
  },
  {
    request: 'GET /jwks',
    send: () => app.http.get('/jwks'),
    statements: 0,
    because: 'it is prepared at the start',
  },
  {
    request: 'GET /.well-known/openid-configuration',
    send: () => app.http.get('/.well-known/openid-configuration'),
    statements: 0,
    because: 'it is prepared at the start',
  },
];

beforeAll(async () => {
  recorder = await startRoundTripRecorder(await createTestDatabase());
  // One connection, so that every request uses the connection that the first requests warmed.
  app = await startTestApp({ DATABASE_POOL_MAX: '1' }, recorder.url);
  ({ identity, password } = await createIdentity(app));
  firstSignIn = await recorder.during(async () => {
    tokens = await signIn(app, identity.email, password);
  });
});
afterAll(async () => {
  await app.close();
  await recorder.close();
});

/** Sends a request and keeps the tokens of the response for the next one. */
async function send(request: () => Test): Promise<void> {
  const { body } = await request().expect(200);
  if (body.refresh_token !== undefined) tokens = body;
}

describe('a request on a warmed connection', () => {
  it.each(table)(
    '$request takes $statements prepared statements, one round trip each: $because',
    async ({ send: sendOnce, statements, parsed = 0 }) => {
      const trips = await recorder.warmed(() => send(sendOnce));
      expect(databaseUse(trips)).toEqual({ statements, roundTrips: statements, parsed });
    },
  );

  it('parses its statements in the first request, and reads the highest bcrypt cost once', () => {
    expect(databaseUse(firstSignIn)).toEqual({ statements: 3, roundTrips: 3, parsed: 3 });
  });
});
