import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { identitySchema } from '@tessera/contracts';
import { anEmail, anIdentity, aPassword, createIdentity, updateIdentity } from './support/identities.ts';
import { expectInvalidFields, expectProblem } from './support/problems.ts';
import { serviceToken, startTestApp, type TestApp } from './support/test-app.ts';

let app: TestApp;
beforeAll(async () => {
  app = await startTestApp();
});
afterAll(() => app.close());

type Method = 'get' | 'post' | 'put' | 'delete';
const call = (method: Method, path: string) => app.http[method](path).set('X-Service-Token', serviceToken);
const create = (body: object) => call('post', '/internal/identities').send(body);
const unknownId = '00000000-0000-4000-8000-000000000000';

const countByEmail = async (email: string) => {
  const rows = await app.sql('SELECT 1 FROM identities WHERE email_canonical = lower($1)', [email]);
  return rows.length;
};

describe('POST /internal/identities', () => {
  it('answers 201 with the identity and its Location, and stores a bcrypt hash', async () => {
    const body = anIdentity();
    const response = await create(body).expect(201);
    expect(response.headers.location).toBe(`/internal/identities/${response.body.id}`);
    expect(response.headers['cache-control']).toBe('no-store');
    expect(identitySchema.strict().parse(response.body)).toMatchObject({
      email: body.email,
      username: body.email.split('@')[0],
      sso_provider: null,
      sso_id: null,
      is_active: true,
      is_verified: false,
      is_staff: false,
      is_superuser: false,
      deleted_at: null,
    });
    const [row] = await app.sql('SELECT password_hash FROM identities WHERE id = $1', [response.body.id]);
    expect(row?.password_hash.startsWith('$2b$04$')).toBe(true);
  });

  it('takes every field', async () => {
    const body = anIdentity({
      username: ' Ann Lee ',
      sso_provider: 'google',
      sso_id: anEmail(),
      is_active: false,
      is_verified: true,
      is_staff: true,
      is_superuser: true,
    });
    const { body: created } = await create(body).expect(201);
    expect(created).toMatchObject({
      username: 'Ann Lee',
      sso_provider: 'google',
      sso_id: body.sso_id,
      is_active: false,
      is_verified: true,
      is_staff: true,
      is_superuser: true,
    });
  });

  it('needs no password for an SSO identity', async () => {
    const { body } = await create({ email: anEmail(), sso_provider: 'google', sso_id: anEmail() }).expect(
      201,
    );
    const [row] = await app.sql('SELECT password_hash FROM identities WHERE id = $1', [body.id]);
    expect(row?.password_hash).toBeNull();
  });

  it('keeps the e-mail as supplied, trimmed, and treats every case of it as the same', async () => {
    const email = `Ann.${anEmail()}`;
    const { body } = await create(anIdentity({ email: ` ${email} ` })).expect(201);
    expect(body.email).toBe(email);
    expectProblem(await create(anIdentity({ email: email.toUpperCase() })), 409, 'email_conflict');
    expect(await countByEmail(email)).toBe(1);
  });

  it('409s on a taken SSO pair, compared exactly, and creates no second identity', async () => {
    const sso = { sso_provider: 'google', sso_id: `Id-${anEmail()}` };
    await create(anIdentity(sso)).expect(201);
    const refused = anIdentity(sso);
    expectProblem(await create(refused), 409, 'sso_conflict');
    expect(await countByEmail(refused.email)).toBe(0);
    await create(anIdentity({ ...sso, sso_id: sso.sso_id.toLowerCase() })).expect(201);
    await create(anIdentity({ ...sso, sso_provider: 'github' })).expect(201);
  });

  it('takes the e-mail and the SSO pair of a deleted identity for a new one', async () => {
    const body = anIdentity({ sso_provider: 'google', sso_id: anEmail() });
    const first = await create(body).expect(201);
    await call('delete', `/internal/identities/${first.body.id}`).expect(204);
    const second = await create(body).expect(201);
    expect(second.body.id).not.toBe(first.body.id);
    expect(await countByEmail(body.email)).toBe(2);
  });

  it('does not want usernames to be unique', async () => {
    await create(anIdentity({ username: 'same' })).expect(201);
    await create(anIdentity({ username: 'same' })).expect(201);
  });

  it('ignores the read-only members of its own representation', async () => {
    const { body } = await create({
      ...anIdentity(),
      id: unknownId,
      created_at: 'x',
      updated_at: 1,
      deleted_at: 'y',
    }).expect(201);
    expect(body.id).not.toBe(unknownId);
    expect(body.deleted_at).toBeNull();
  });

  it.each([
    ['email', { email: undefined }],
    ['email', { email: 'no-at' }],
    ['email', { email: 'two@at@example.com' }],
    ['email', { email: 'ümlaut@example.com' }],
    ['email', { email: 'a b@example.com' }],
    ['email', { email: `${'a'.repeat(65)}@example.com` }],
    ['email', { email: `a@${'b'.repeat(260)}` }],
    ['email', { email: null }],
    ['username', { username: '' }],
    ['username', { username: '   ' }],
    ['username', { username: 'x'.repeat(151) }],
    ['username', { username: 'a\nb' }],
    ['username', { username: 'a\u0000b' }],
    ['username', { username: '\ud800' }],
    ['username', { username: null }],
    ['password', { password: undefined }],
    ['password', { password: 'short' }],
    ['password', { password: '' }],
    ['password', { password: 'x'.repeat(73) }],
    ['password', { password: 'ü'.repeat(37) }],
    ['password', { password: 'nul\u0000 in the middle' }],
    ['password', { password: 12345678 }],
    ['sso_id', { sso_provider: 'google' }],
    ['sso_id', { sso_id: 'x' }],
    ['sso_id', { sso_provider: 'google', sso_id: null }],
    ['sso_provider', { sso_provider: 'x'.repeat(65), sso_id: 'x' }],
    ['sso_id', { sso_provider: 'google', sso_id: 'x'.repeat(256) }],
    ['is_active', { is_active: 'true' }],
    ['is_staff', { is_staff: 1 }],
    ['is_superuser', { is_superuser: null }],
    ['is_actve', { is_actve: false }],
    ['password_hash', { password_hash: 'x' }],
    ['constructor', { constructor: 1 }],
  ])('refuses a bad %s (%j) with 422 and creates nothing', async (field, override) => {
    const body = { ...anIdentity(), ...override };
    const before = await app.sql('SELECT count(*) FROM identities');
    const response = await call('post', '/internal/identities').type('json').send(JSON.stringify(body));
    expectInvalidFields(response, [field]);
    expect(await app.sql('SELECT count(*) FROM identities')).toEqual(before);
  });

  it('names a prototype key as unknown, and every bad field at once', async () => {
    const response = await call('post', '/internal/identities')
      .type('json')
      .send('{"__proto__": {"is_staff": true}, "email": 1, "is_staff": "x"}');
    expectInvalidFields(response, ['__proto__', 'email', 'is_staff']);
  });

  it('takes passwords of 8 code points to 72 bytes as they are', async () => {
    for (const password of ['🔑🔑🔑🔑🔑🔑🔑🔑', 'x'.repeat(72), '  spaces  ']) {
      const { identity } = await createIdentity(app, { password });
      await app.http
        .post('/token')
        .send({ grant_type: 'password', email: identity.email, password })
        .expect(200);
    }
  });

  it('refuses common and obvious passwords where the blocklist is on', async () => {
    const strict = await startTestApp(
      { PASSWORD_BLOCKLIST: 'on', PASSWORD_MIN_LENGTH: '6' },
      app.databaseUrl,
    );
    const attempt = (body: object) =>
      strict.http.post('/internal/identities').set('X-Service-Token', serviceToken).send(body);
    const email = anEmail();
    for (const password of ['password', 'QWERTY123', 'Tessera', email, email.split('@')[0], 'Ann Lee Jr']) {
      expectInvalidFields(await attempt({ email, password, username: 'ann lee jr' }), ['password']);
    }
    await attempt({ email, password: aPassword() }).expect(201);
    await strict.close();
  });
});

describe('GET /internal/identities/{id}', () => {
  it('answers the identity, whatever the case of the id', async () => {
    const { identity } = await createIdentity(app);
    expect((await call('get', `/internal/identities/${identity.id}`).expect(200)).body).toEqual(identity);
    expect((await call('get', `/internal/identities/${identity.id.toUpperCase()}`).expect(200)).body).toEqual(
      identity,
    );
  });

  it('answers an inactive identity, which is not deleted', async () => {
    const { identity } = await createIdentity(app, { is_active: false });
    await call('get', `/internal/identities/${identity.id}`).expect(200);
  });

  it.each([unknownId, '00000000-0000-0000-0000-000000000000', 'ffffffff-ffff-ffff-ffff-ffffffffffff'])(
    '404s on %s',
    async (id) => {
      expectProblem(await call('get', `/internal/identities/${id}`), 404, 'identity_not_found');
    },
  );

  it.each([
    'not-a-uuid',
    '42',
    `${unknownId}0`,
    unknownId.replaceAll('-', ''),
    `{${unknownId}}`,
    "';--",
    'null',
  ])('refuses %s with 422 before any look-up', async (id) => {
    for (const method of ['get', 'put', 'delete'] as const) {
      expectInvalidFields(await call(method, `/internal/identities/${encodeURIComponent(id)}`), ['id']);
    }
  });

  it('refuses broken percent-encoding with 400', async () => {
    expectProblem(await call('get', '/internal/identities/%E0%A4%A'), 400, 'malformed_path');
  });
});

describe('GET /internal/identities/by-email/{email}', () => {
  it('finds the identity, percent-encoded and in any case', async () => {
    const { identity } = await createIdentity(app, { email: `a+b/c%${anEmail()}` });
    const path = encodeURIComponent(identity.email.toUpperCase());
    expect((await call('get', `/internal/identities/by-email/${path}`).expect(200)).body).toEqual(identity);
  });

  it.each(['nobody@example.com', 'not an e-mail', 'ünïcode', '%'])('404s on %s', async (email) => {
    expectProblem(
      await call('get', `/internal/identities/by-email/${encodeURIComponent(email)}`),
      404,
      'identity_not_found',
    );
  });

  it.each(['%00', 'a%0Ab', 'x'.repeat(321)])('refuses %s with 422', async (email) => {
    expectInvalidFields(await call('get', `/internal/identities/by-email/${email}`), ['email']);
  });

  it('refuses broken percent-encoding with 400', async () => {
    expectProblem(await call('get', '/internal/identities/by-email/%ff'), 400, 'malformed_path');
  });
});

describe('GET /internal/identities/by-sso/lookup', () => {
  const lookup = (query: string) => call('get', `/internal/identities/by-sso/lookup?${query}`);

  it('finds the identity of a pair, compared exactly', async () => {
    const { identity } = await createIdentity(app, { sso_provider: 'google', sso_id: `S-${anEmail()}` });
    const id = encodeURIComponent(identity.sso_id ?? '');
    expect((await lookup(`provider=google&sso_id=${id}`).expect(200)).body).toEqual(identity);
    expectProblem(await lookup(`provider=google&sso_id=${id.toLowerCase()}`), 404, 'identity_not_found');
    expectProblem(await lookup(`provider=github&sso_id=${id}`), 404, 'identity_not_found');
  });

  it.each([
    ['', ['provider', 'sso_id']],
    ['provider=google', ['sso_id']],
    ['provider=&sso_id=', ['provider', 'sso_id']],
    ['provider=a&provider=b&sso_id=c', ['provider']],
    ['provider=a&sso_id=%00', ['sso_id']],
  ])('refuses "%s" with 422', async (query, fields) => {
    expectInvalidFields(await lookup(query), fields);
  });
});

describe('PUT /internal/identities/{id}', () => {
  it('changes only what is supplied', async () => {
    const { identity } = await createIdentity(app, { is_verified: true });
    const email = anEmail();
    const { updated_at: _, ...changed } = await updateIdentity(app, identity.id, { email });
    const { updated_at: __, ...before } = identity;
    expect(changed).toEqual({ ...before, email });
    expect(changed.is_verified).toBe(true);
  });

  it('answers {} with the unchanged identity', async () => {
    const { identity } = await createIdentity(app);
    expect(await updateIdentity(app, identity.id, {})).toEqual(identity);
  });

  it('takes back what it answered: GET, edit, PUT', async () => {
    const { identity } = await createIdentity(app);
    const { body: got } = await call('get', `/internal/identities/${identity.id}`).expect(200);
    expect(await updateIdentity(app, identity.id, { ...got, username: 'edited' })).toMatchObject({
      username: 'edited',
    });
  });

  it("409s on another identity's e-mail or SSO pair and changes nothing, but takes its own", async () => {
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

  it('links and unlinks SSO by the pair, and keeps an identity without password and SSO', async () => {
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
  ])('refuses a bad %s (%j) with 422 and changes nothing', async (field, body) => {
    const { identity } = await createIdentity(app);
    expectInvalidFields(await call('put', `/internal/identities/${identity.id}`).send(body), [field]);
    expect((await call('get', `/internal/identities/${identity.id}`)).body).toEqual(identity);
  });

  it('404s on an unknown and on a deleted identity', async () => {
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

  it('writes what changed to the audit trail, by field name alone', async () => {
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

describe('DELETE /internal/identities/{id}', () => {
  it('answers 204, keeps the record inactive with its time, and hides it from every look-up', async () => {
    const { identity } = await createIdentity(app, { sso_provider: 'google', sso_id: anEmail() });
    const response = await call('delete', `/internal/identities/${identity.id}`).expect(204);
    expect(response.text).toBe('');
    const [row] = await app.sql('SELECT is_active, deleted_at, email FROM identities WHERE id = $1', [
      identity.id,
    ]);
    expect(row).toMatchObject({ is_active: false, email: identity.email });
    expect(Math.abs(Date.now() - row?.deleted_at.getTime())).toBeLessThan(60_000);
    await call('get', `/internal/identities/${identity.id}`).expect(404);
    await call('get', `/internal/identities/by-email/${identity.email}`).expect(404);
    await call('get', `/internal/identities/by-sso/lookup?provider=google&sso_id=${identity.sso_id}`).expect(
      404,
    );
  });

  it('404s the second time and on an unknown id, leaving the first time of deletion', async () => {
    const { identity } = await createIdentity(app);
    await call('delete', `/internal/identities/${identity.id}`).expect(204);
    const [before] = await app.sql('SELECT deleted_at FROM identities WHERE id = $1', [identity.id]);
    expectProblem(await call('delete', `/internal/identities/${identity.id}`), 404, 'identity_not_found');
    expect(await app.sql('SELECT deleted_at FROM identities WHERE id = $1', [identity.id])).toEqual([before]);
    expectProblem(await call('delete', `/internal/identities/${unknownId}`), 404, 'identity_not_found');
  });
});
