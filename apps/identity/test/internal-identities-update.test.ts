import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { expectInvalidFields, expectProblem } from '@tessera/testing/problems';
import { anEmail, aPassword, createIdentity, updateIdentity } from './support/identities.ts';
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
