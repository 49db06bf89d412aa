import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { expectInvalidFields, expectProblem } from '@tessera/testing/problems';
import {
  anEmail,
  aPassword,
  createIdentity,
  signedIn,
  signIn,
  updateIdentity,
} from './support/identities.ts';
import { internalClient, unknownId } from './support/internal-client.ts';
import { startTestApp, type TestApp } from './support/test-app.ts';

let app: TestApp;
beforeAll(async () => {
  app = await startTestApp();
});
afterAll(() => app.close());

const call = internalClient(() => app);
const create = (body: object) => call('post', '/internal/identities').send(body);

describe('PUT /internal/identities/{id}', () => {
  it('changes only the supplied fields', async () => {
    const { identity } = await createIdentity(app, { is_verified: true });
    const email = anEmail();
    const { updated_at: _, ...changed } = await updateIdentity(app, identity.id, {
      email,
      display_name: 'Ann',
    });
    const { updated_at: __, ...before } = identity;
    expect(changed).toEqual({ ...before, email, display_name: 'Ann' });
    expect(changed.is_verified).toBe(true);
  });

  it('returns the unchanged identity for {}', async () => {
    const { identity } = await createIdentity(app);
    expect(await updateIdentity(app, identity.id, {})).toEqual(identity);
  });

  it('accepts its own response, edited, as the body', async () => {
    const { identity } = await createIdentity(app);
    const { body: got } = await call('get', `/internal/identities/${identity.id}`).expect(200);
    expect(await updateIdentity(app, identity.id, { ...got, username: 'edited' })).toMatchObject({
      username: 'edited',
    });
  });

  it('returns 409 when the e-mail or the SSO pair is taken and changes nothing, and accepts its own', async () => {
    const { identity: other } = await createIdentity(app, { sso_provider: 'google', sso_id: anEmail() });
    const { identity } = await createIdentity(app);
    const put = (body: object) => call('put', `/internal/identities/${identity.id}`).send(body);
    expectProblem(
      await put({ email: other.email.toUpperCase(), username: 'changed' }),
      409,
      'email_conflict',
    );
    expectProblem(
      await put({ sso_provider: 'google', sso_id: other.sso_id, username: 'changed' }),
      409,
      'sso_conflict',
    );
    expect((await call('get', `/internal/identities/${identity.id}`)).body).toEqual(identity);
    await put({ email: identity.email }).expect(200);
  });

  it('links and unlinks SSO by the pair and allows an identity without password and SSO', async () => {
    const { body } = await create({ email: anEmail(), sso_provider: 'google', sso_id: anEmail() }).expect(
      201,
    );
    expect(await updateIdentity(app, body.id, { sso_provider: null, sso_id: null })).toMatchObject({
      sso_provider: null,
      sso_id: null,
    });
    expect(await updateIdentity(app, body.id, { sso_provider: 'github', sso_id: body.id })).toMatchObject({
      sso_provider: 'github',
      sso_id: body.id,
    });
  });

  it.each([
    ['email', { email: null }],
    ['email', { email: 'x' }],
    ['username', { username: null }],
    ['password', { password: null }],
    ['password', { password: 'short' }],
    ['is_active', { is_active: null }],
    ['sso_id', { sso_provider: null }],
    ['sso_id', { sso_id: null }],
    ['sso_id', { sso_provider: 'google', sso_id: null }],
    ['is_admin', { is_admin: true }],
  ])('returns 422 for an invalid %s (%j) and changes nothing', async (field, body) => {
    const { identity } = await createIdentity(app);
    expectInvalidFields(await call('put', `/internal/identities/${identity.id}`).send(body), [field]);
    expect((await call('get', `/internal/identities/${identity.id}`)).body).toEqual(identity);
  });

  it('returns 404 for an unknown and a deleted identity', async () => {
    expectProblem(
      await call('put', `/internal/identities/${unknownId}`).send({ username: 'x' }),
      404,
      'identity_not_found',
    );
    expectProblem(await call('put', `/internal/identities/${unknownId}`).send({}), 404, 'identity_not_found');
    const { identity } = await createIdentity(app);
    await call('delete', `/internal/identities/${identity.id}`).expect(204);
    expectProblem(
      await call('put', `/internal/identities/${identity.id}`).send({ is_active: true }),
      404,
      'identity_not_found',
    );
  });

  it('writes the names of the changed fields to the audit trail, without values', async () => {
    const { identity } = await createIdentity(app);
    const password = aPassword();
    await updateIdentity(app, identity.id, { password, is_active: false });
    const rows = await app.sql(
      `SELECT type, actor, details FROM audit_events WHERE identity_id = $1 ORDER BY id`,
      [identity.id],
    );
    expect(rows).toMatchObject([
      { type: 'identity.created', actor: 'service' },
      { type: 'identity.updated', details: { fields: expect.arrayContaining(['password', 'isActive']) } },
      { type: 'identity.password_changed' },
      { type: 'identity.deactivated' },
    ]);
    expect(JSON.stringify(rows)).not.toContain(password);
  });
});

describe('POST /internal/identities/{id}/password', () => {
  const change = (id: string, current_password: string, new_password: string) =>
    call('post', `/internal/identities/${id}/password`).send({ current_password, new_password });
  const events = (id: string) =>
    app.sql(
      `SELECT type, actor FROM audit_events WHERE identity_id = $1 AND type LIKE 'identity.password%' ORDER BY id`,
      [id],
    );

  it('changes the password for a person who knows it and ends all sessions', async () => {
    const { identity, password, tokens } = await signedIn(app);
    const next = aPassword();
    expectInvalidFields(await change(identity.id, aPassword(), next), ['current_password']);
    for (const refused of ['short', 'iloveyou', password, identity.email, identity.username])
      expectInvalidFields(await change(identity.id, password, refused), ['new_password']);
    await signIn(app, identity.email, password);
    await change(identity.id, password, next).expect(204);
    await app.http.post('/token/refresh').send({ refresh_token: tokens.refresh_token }).expect(401);
    await signIn(app, identity.email, next);
    expectInvalidFields(await change(identity.id, password, next), ['current_password']);
    expect((await events(identity.id)).map(({ type, actor }) => [type, actor])).toEqual([
      ['identity.password_refused', 'user'],
      ['identity.password_changed', 'user'],
      ['identity.password_refused', 'user'],
    ]);
  });

  it('refuses every password of an identity without one, and an unknown identity', async () => {
    const sso = { email: anEmail(), sso_provider: 'google', sso_id: anEmail() };
    const { body: identity } = await create(sso).expect(201);
    expectInvalidFields(await change(identity.id, aPassword(), aPassword()), ['current_password']);
    expectProblem(await change(unknownId, aPassword(), aPassword()), 404, 'identity_not_found');
  });

  it('compares at most ten of many parallel guesses, and the right password no more until the window ends', async () => {
    const { identity, password } = await signedIn(app);
    const guesses = await Promise.all(
      Array.from({ length: 30 }, () => change(identity.id, aPassword(), aPassword())),
    );
    const statuses = guesses.map(({ status }) => status).sort();
    expect(statuses).toEqual([...Array<number>(10).fill(422), ...Array<number>(20).fill(429)]);
    const refused = await change(identity.id, password, aPassword());
    expectProblem(refused, 429, 'too_many_requests');
    expect(Number(refused.headers['retry-after'])).toBeGreaterThan(800);
    // Guesses do not lock the person out of signing in.
    await signIn(app, identity.email, password);
    await app.sql(`UPDATE sign_in_counters SET window_ends = now() WHERE key = $1`, [
      `password:${identity.id}`,
    ]);
    await change(identity.id, password, aPassword()).expect(204);
    expect(
      await app.sql('SELECT 1 FROM sign_in_counters WHERE key = $1', [`password:${identity.id}`]),
    ).toEqual([]);
  });
});
