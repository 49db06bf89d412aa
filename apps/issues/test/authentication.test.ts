import { afterAll, afterEach, beforeAll, describe, expect, it, jest } from '@jest/globals';
import type { CreateIdentity } from '@tessera/contracts';
import { type FullApp, startFullApp } from './support/full-app.ts';
import { IdentityService } from './support/identity-service.ts';
import './support/leak-guard.ts';
import { expectProblem } from '@tessera/testing/problems';
import { anEmail, mirrorRow, password, signedIn } from './support/signed-in.ts';

let identity: IdentityService;
let app: FullApp;
beforeAll(async () => {
  identity = await IdentityService.start();
  app = await startFullApp({ IDENTITY_URL: identity.url, JWT_ISSUER: identity.url });
}, 60_000);
afterEach(() => {
  jest.restoreAllMocks();
});
afterAll(async () => {
  await app.close();
  await identity.down();
});

const aPerson = (overrides: Partial<CreateIdentity> = {}) => signedIn(app, identity, overrides);

describe('authentication', () => {
  it('wants a valid access token on everything below /api/v1', async () => {
    const ann = await aPerson();
    for (const path of ['/issues', '/issues/1', '/users/me', '/nothing']) {
      expect((await app.http.get(`/api/v1${path}`)).status).toBe(401);
      const refused = await app.http
        .get(`/api/v1${path}`)
        .set('Authorization', `Bearer ${ann.tokens.refresh_token}`);
      expectProblem(refused, 401, 'invalid_token');
      expect(refused.headers['www-authenticate']).toContain('realm="issues", error="invalid_token"');
    }
    await ann.as('get', '/issues').expect(200);
  });

  it('takes a first-seen person into the mirror from the claims, without asking identity', async () => {
    const ann = await aPerson({ username: 'ann', is_verified: true });
    const { body } = await ann.as('get', '/users/me/').expect(200);
    expect(body).toEqual(await mirrorRow(app, ann.id));
    expect(body).toMatchObject({
      id: ann.id,
      username: 'ann',
      email: ann.email,
      is_verified: true,
      is_active: true,
    });
  });

  it('lets no older token undo a newer fact, and no token grant a right that the mirror has taken', async () => {
    const ann = await aPerson({ is_staff: true });
    await ann.as('get', '/users/me').expect(200);
    const root = await aPerson({ is_superuser: true, is_staff: true });
    await root.as('put', `/users/${ann.id}`).send({ is_staff: false, username: 'demoted' }).expect(200);
    expectProblem(await ann.as('post', '/users').send({ email: anEmail(), password }), 403, 'forbidden');
    expect(await mirrorRow(app, ann.id)).toMatchObject({ username: 'demoted', is_staff: false });
    const { body } = await ann.as('get', '/users/me').expect(200);
    expect(body.username).toBe('demoted');
  });

  it('refuses somebody who was deactivated here at once, and keeps the row', async () => {
    const [staff, ann] = [await aPerson({ is_staff: true }), await aPerson()];
    await ann.as('get', '/issues').expect(200);
    await staff.as('delete', `/users/${ann.id}`).expect(204);
    const refused = await ann.as('get', '/issues');
    expectProblem(refused, 401, 'identity_inactive');
    expect(refused.headers['www-authenticate']).toContain('error="invalid_token"');
    expect(await mirrorRow(app, ann.id)).toMatchObject({ is_active: false, username: ann.username });
  });

  it('refuses an expired token that was accepted a moment ago, and for no other reason', async () => {
    const { now } = Date;
    let aheadMs = 0;
    jest.spyOn(Date, 'now').mockImplementation(() => now() + aheadMs);
    const replica = await startFullApp(
      { IDENTITY_URL: identity.url, JWT_ISSUER: identity.url },
      app.databaseUrl,
    );
    const ann = await aPerson();
    await ann.as('get', '/issues', replica).expect(200);
    // And the tolerance for clocks that differ.
    aheadMs = (ann.tokens.expires_in + 6) * 1000;
    expectProblem(await ann.as('get', '/issues', replica), 401, 'invalid_token');
    aheadMs = 0;
    await ann.as('get', '/issues', replica).expect(200);
    await replica.close();
  });

  it('refuses whom another backend has deleted as soon as identity has said so', async () => {
    const [staff, ann] = [await aPerson({ is_staff: true }), await aPerson()];
    await ann.as('get', '/issues').expect(200);
    await identity.delete(ann.id);
    await ann.as('get', '/issues').expect(200);
    expectProblem(
      await staff.as('post', '/issues').send({ title: 'x', assignee_id: ann.id }),
      422,
      'unknown_identity',
    );
    expectProblem(await ann.as('get', '/issues'), 401, 'identity_inactive');
  });

  it('lets somebody in again whom another backend has reactivated, with a new token', async () => {
    const [staff, ann] = [await aPerson({ is_staff: true }), await aPerson()];
    await staff.as('put', `/users/${ann.id}`).send({ is_active: false }).expect(200);
    expectProblem(await ann.as('get', '/issues'), 401, 'identity_inactive');
    await identity.update(ann.id, { is_active: true });
    expectProblem(await ann.as('get', '/issues'), 401, 'identity_inactive');
    // Tokens tell seconds apart.
    await new Promise((resolve) => setTimeout(resolve, 1_100));
    const { access_token: token } = await identity.signIn(ann.email, password);
    const again = await app.http.get('/api/v1/issues').set('Authorization', `Bearer ${token}`);
    expect(again.status).toBe(200);
    expect(await mirrorRow(app, ann.id)).toMatchObject({ is_active: true });
  });

  it.each([
    ['off', 200, 201],
    ['write', 200, 403],
    ['all', 403, 403],
  ])(
    'with REQUIRE_VERIFIED=%s answers an unverified identity %d to read and %d to write',
    async (required, read, write) => {
      const strict = await startFullApp(
        { IDENTITY_URL: identity.url, JWT_ISSUER: identity.url, REQUIRE_VERIFIED: required },
        app.databaseUrl,
      );
      const [ann, bob] = [await aPerson(), await aPerson({ is_verified: true })];
      const answers = [
        await ann.as('get', '/issues', strict),
        await ann.as('post', '/issues', strict).send({ title: 'x' }),
      ];
      expect(answers.map(({ status }) => status)).toEqual([read, write]);
      for (const answer of answers) if (answer.status === 403) expectProblem(answer, 403, 'unverified');
      await bob.as('post', '/issues', strict).send({ title: 'x' }).expect(201);
      await strict.close();
    },
  );

  it('answers 503, never 401, while there are no keys to verify with', async () => {
    const ann = await aPerson();
    const keyless = await startFullApp(
      { IDENTITY_URL: 'http://127.0.0.1:1', JWT_ISSUER: identity.url },
      app.databaseUrl,
    );
    const response = await keyless.http
      .get('/api/v1/issues')
      .set('Authorization', `Bearer ${ann.tokens.access_token}`);
    expectProblem(response, 503, 'temporarily_unavailable');
    expect(Number(response.headers['retry-after'])).toBeGreaterThan(0);
    const ready = await keyless.http.get('/readyz').expect(503);
    expect(ready.body.checks).toMatchObject({ keys: false, database: true });
    await keyless.close();
  });
});
