import { afterAll, afterEach, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { expectOAuthProblem } from '@tessera/testing/problems';
import { decodeJwt } from 'jose';
import { signedIn, updateIdentity } from './support/identities.ts';
import { internalClient } from './support/internal-client.ts';
import { startTestApp, type TestApp } from './support/test-app.ts';

type SignedIn = Awaited<ReturnType<typeof signedIn>>;

let app: TestApp;
let aheadMs = 0;
beforeAll(async () => {
  const { now } = Date;
  jest.spyOn(Date, 'now').mockImplementation(() => now() + aheadMs);
  app = await startTestApp();
});
afterEach(() => {
  aheadMs = 0;
});
afterAll(async () => {
  jest.restoreAllMocks();
  await app.close();
});

const internal = internalClient(() => app);
const userInfo = ({ tokens }: SignedIn) =>
  app.http.get('/userinfo').set('Authorization', `Bearer ${tokens.access_token}`);
const introspect = async ({ tokens }: SignedIn) =>
  (await internal('post', '/internal/introspect').send({ token: tokens.access_token }).expect(200)).body;

async function expectAccepted(ann: SignedIn) {
  await userInfo(ann).expect(200);
  expect(await introspect(ann)).toMatchObject({ active: true });
}

async function expectRefused(ann: SignedIn) {
  expectOAuthProblem(await userInfo(ann), 401, 'invalid_token');
  expect(await introspect(ann)).toEqual({ active: false });
}

// `iat` has a resolution of one second, so the end is moved one second past it.
const moveEndOfSessions = ({ identity, tokens }: SignedIn) =>
  app.sql(
    `UPDATE identities SET sessions_valid_after = to_timestamp($2)
      WHERE id = $1 AND sessions_valid_after >= to_timestamp($2 - 1)`,
    [identity.id, (decodeJwt(tokens.access_token).iat ?? 0) + 1],
  );

describe('a token with a cached signature', () => {
  it.each<[string, (ann: SignedIn) => Promise<unknown>]>([
    ['its identity is deactivated', ({ identity }) => updateIdentity(app, identity.id, { is_active: false })],
    [
      'its identity is deleted',
      ({ identity }) => internal('delete', `/internal/identities/${identity.id}`).expect(204),
    ],
    [
      'the sessions of its identity are revoked',
      async (ann) => {
        await internal('delete', `/internal/identities/${ann.identity.id}/sessions`).expect(204);
        await moveEndOfSessions(ann);
      },
    ],
    [
      'the password of its identity is changed',
      async (ann) => {
        await updateIdentity(app, ann.identity.id, { password: 'another password' });
        await moveEndOfSessions(ann);
      },
    ],
  ])('when %s', async (_what, happens) => {
    const ann = await signedIn(app);
    await expectAccepted(ann);
    await happens(ann);
    await expectRefused(ann);
  });

  it('is rejected after its expiry, with the expiry as the only reason', async () => {
    const ann = await signedIn(app);
    await expectAccepted(ann);
    aheadMs = ann.tokens.expires_in * 1000 + 1000;
    await expectRefused(ann);
    aheadMs = 0;
    await expectAccepted(ann);
  });
});
