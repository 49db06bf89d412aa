import { afterAll, afterEach, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { expectOAuthProblem } from '@tessera/testing/problems';
import { aPassword, signedIn, signIn, updateIdentity } from './support/identities.ts';
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

describe('a token with a cached signature', () => {
  it.each<[string, (ann: SignedIn) => Promise<unknown>]>([
    ['its identity is deactivated', ({ identity }) => updateIdentity(app, identity.id, { is_active: false })],
    [
      'its identity is deleted',
      ({ identity }) => internal('delete', `/internal/identities/${identity.id}`).expect(204),
    ],
  ])('is rejected as soon as %s', async (_what, happens) => {
    const ann = await signedIn(app);
    await expectAccepted(ann);
    await happens(ann);
    await expectRefused(ann);
  });

  it.each<[string, (ann: SignedIn) => Promise<string>]>([
    [
      'the sessions of its identity are revoked',
      async (ann) => {
        await internal('delete', `/internal/identities/${ann.identity.id}/sessions`).expect(204);
        return ann.password;
      },
    ],
    [
      'the password of its identity is changed by a backend',
      async ({ identity }) => {
        const password = aPassword();
        await updateIdentity(app, identity.id, { password });
        return password;
      },
    ],
    [
      'the password of its identity is changed by the person',
      async ({ identity, password }) => {
        const body = { current_password: password, new_password: aPassword() };
        await internal('post', `/internal/identities/${identity.id}/password`).send(body).expect(204);
        return body.new_password;
      },
    ],
    [
      'its identity was deactivated and is active again',
      async ({ identity, password }) => {
        await updateIdentity(app, identity.id, { is_active: false });
        await updateIdentity(app, identity.id, { is_active: true });
        return password;
      },
    ],
  ])('is rejected as soon as %s, and a new token is accepted', async (_what, endSessions) => {
    // The clock of the replica that issued the token is ahead of the clock of the one that ends the sessions.
    aheadMs = 2_000;
    const ann = await signedIn(app);
    await expectAccepted(ann);
    const password = await endSessions(ann);
    await expectRefused(ann);
    aheadMs = 0;
    await expectAccepted({ ...ann, tokens: await signIn(app, ann.identity.email, password) });
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
