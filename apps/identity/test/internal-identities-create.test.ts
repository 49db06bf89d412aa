import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { identitySchema } from '@tessera/contracts';
import { expectInvalidFields, expectProblem } from '@tessera/testing/problems';
import { anEmail, anIdentity, aPassword, createIdentity } from './support/identities.ts';
import { internalClient, unknownId } from './support/internal-client.ts';
import { serviceToken, startTestApp, type TestApp } from './support/test-app.ts';

let app: TestApp;
beforeAll(async () => {
  app = await startTestApp();
});
afterAll(() => app.close());

const call = internalClient(() => app);
const create = (body: object) => call('post', '/internal/identities').send(body);

const unique = () => anEmail().slice(4, 16);

const countByEmail = async (email: string) => {
  const rows = await app.sql('SELECT 1 FROM identities WHERE email_canonical = lower($1)', [email]);
  return rows.length;
};

describe('POST /internal/identities', () => {
  it('returns 201 with the identity and its Location and stores a bcrypt hash', async () => {
    const body = anIdentity();
    const response = await create(body).expect(201);
    expect(response.headers.location).toBe(`/internal/identities/${response.body.id}`);
    expect(response.headers['cache-control']).toBe('no-store');
    expect(identitySchema.strict().parse(response.body)).toMatchObject({
      email: body.email,
      username: body.email.split('@')[0],
      display_name: null,
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

  it('accepts every field', async () => {
    const body = anIdentity({
      username: ' Ann Lee ',
      display_name: ' Dr. Ann Ødegård ',
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
      display_name: 'Dr. Ann Ødegård',
      sso_provider: 'google',
      sso_id: body.sso_id,
      is_active: false,
      is_verified: true,
      is_staff: true,
      is_superuser: true,
    });
  });

  it('accepts an SSO identity without a password', async () => {
    const { body } = await create({ email: anEmail(), sso_provider: 'google', sso_id: anEmail() }).expect(
      201,
    );
    const [row] = await app.sql('SELECT password_hash FROM identities WHERE id = $1', [body.id]);
    expect(row?.password_hash).toBeNull();
  });

  it('stores the e-mail trimmed and returns 409 when it is taken in any case', async () => {
    const email = `Ann.${anEmail()}`;
    const { body } = await create(anIdentity({ email: ` ${email} ` })).expect(201);
    expect(body.email).toBe(email);
    expectProblem(await create(anIdentity({ email: email.toUpperCase() })), 409, 'email_conflict');
    expect(await countByEmail(email)).toBe(1);
  });

  it('stores one spelling of an internationalised address and returns 409 for each other one', async () => {
    const name = unique();
    const { body } = await create(anIdentity({ email: `Zoe\u0308.${name}@BÜCHER.example.` })).expect(201);
    expect(body).toMatchObject({ email: `zoë.${name}@bücher.example`, username: `zoë.${name}` });
    for (const email of [`ZOË.${name}@xn--bcher-kva.example`, `zoë.${name}@bu\u0308cher.example`])
      expectProblem(await create(anIdentity({ email })), 409, 'email_conflict');
    await create(anIdentity({ email: `zoe.${name}@bücher.example` })).expect(201);
  });

  it('stores usernames and display names as people mean them', async () => {
    const { identity } = await createIdentity(app, {
      username: ' Zoe\u0308 ',
      display_name: ' \u200e\u061c葛\u{e0100}城 علی\u200cرضا \u200f ',
    });
    expect(identity).toMatchObject({ username: 'Zoë', display_name: '葛\u{e0100}城 علی\u200cرضا' });
  });

  it('accepts an sso_id of 1,024 characters in any script, once for each provider', async () => {
    // Distinct characters, which PostgreSQL cannot compress.
    const han = Array.from({ length: 1024 }, (_, index) =>
      String.fromCodePoint(0x4e00 + ((index * 7919) % 20_000)),
    );
    const ids = ['x'.repeat(1024), han.join('')];
    for (const sso_id of ids) {
      const { body } = await create(anIdentity({ sso_provider: 'saml', sso_id })).expect(201);
      expect(body.sso_id).toBe(sso_id);
      expectProblem(await create(anIdentity({ sso_provider: 'saml', sso_id })), 409, 'sso_conflict');
      const query = new URLSearchParams({ provider: 'saml', sso_id });
      const found = await call('get', `/internal/identities/by-sso/lookup?${query}`).expect(200);
      expect(found.body).toEqual(body);
    }
  });

  it('returns 409 when the SSO pair is taken, compared exactly, and creates no second identity', async () => {
    const sso = { sso_provider: 'google', sso_id: `Id-${anEmail()}` };
    await create(anIdentity(sso)).expect(201);
    const refused = anIdentity(sso);
    expectProblem(await create(refused), 409, 'sso_conflict');
    expect(await countByEmail(refused.email)).toBe(0);
    await create(anIdentity({ ...sso, sso_id: sso.sso_id.toLowerCase() })).expect(201);
    await create(anIdentity({ ...sso, sso_provider: 'github' })).expect(201);
  });

  it('accepts the e-mail and the SSO pair of a deleted identity', async () => {
    const body = anIdentity({ sso_provider: 'google', sso_id: anEmail() });
    const first = await create(body).expect(201);
    await call('delete', `/internal/identities/${first.body.id}`).expect(204);
    const second = await create(body).expect(201);
    expect(second.body.id).not.toBe(first.body.id);
    expect(await countByEmail(body.email)).toBe(2);
  });

  it('accepts a username that is taken', async () => {
    await create(anIdentity({ username: 'same' })).expect(201);
    await create(anIdentity({ username: 'same' })).expect(201);
  });

  it('derives a free username from the e-mail, also after deletions and among thousands', async () => {
    const derived = async (local: string) =>
      (await create(anIdentity({ email: `${local}@${anEmail().split('@')[1]}.${unique()}` })).expect(201))
        .body;
    await create(anIdentity({ username: 'Carol' })).expect(201);
    const second = await derived('carol');
    expect(second.username).toBe('carol-2');
    await call('delete', `/internal/identities/${second.id}`).expect(204);
    expect((await derived('carol')).username).toBe('carol-3');
    expect((await derived('carol-2')).username).toBe('carol-2-2');
    await app.sql(
      `INSERT INTO identities (id, email, email_canonical, username)
       SELECT gen_random_uuid(), n || '@many.example', n || '@many.example', 'carol-' || n FROM generate_series(4, 5000) n`,
    );
    expect((await derived('carol')).username).toBe('carol-5001');
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
    ['email', { email: 'ümlaut@example.com\n' }],
    ['email', { email: '.ann@example.com' }],
    ['email', { email: 'ümlaut@exa mple.com' }],
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
    ['username', { username: 'a\uffff' }],
    ['username', { username: 'a\u{1fffe}' }],
    ['username', { username: 'a\ufdd0' }],
    ['username', { username: 'a\ufff9b\ufffbc' }],
    ['username', { username: null }],
    ['display_name', { display_name: ' ' }],
    ['display_name', { display_name: 'x'.repeat(151) }],
    ['display_name', { display_name: 'a\u0000b' }],
    ['display_name', { display_name: 'a\ufdef' }],
    ['display_name', { display_name: '\u202eab' }],
    ['display_name', { display_name: 'a\u200fb' }],
    ['display_name', { display_name: '\u{e0100}a' }],
    ['display_name', { display_name: 'a \ufe0f' }],
    ['display_name', { display_name: '葛\u{e0100}\u{e0100}' }],
    ['display_name', { display_name: '\u200e\u200f' }],
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
    ['sso_id', { sso_provider: 'google', sso_id: 'x'.repeat(1025) }],
    ['is_active', { is_active: 'true' }],
    ['is_staff', { is_staff: 1 }],
    ['is_superuser', { is_superuser: null }],
    ['is_actve', { is_actve: false }],
    ['password_hash', { password_hash: 'x' }],
    ['constructor', { constructor: 1 }],
  ])('returns 422 for an invalid %s (%j) and creates nothing', async (field, override) => {
    const body = { ...anIdentity(), ...override };
    const before = await app.sql('SELECT count(*) FROM identities');
    const response = await call('post', '/internal/identities').type('json').send(JSON.stringify(body));
    expectInvalidFields(response, [field]);
    expect(await app.sql('SELECT count(*) FROM identities')).toEqual(before);
  });

  it('reports a prototype key as unknown, together with every other invalid field', async () => {
    const response = await call('post', '/internal/identities')
      .type('json')
      .send('{"__proto__": {"is_staff": true}, "email": 1, "is_staff": "x"}');
    expectInvalidFields(response, ['__proto__', 'email', 'is_staff']);
  });

  it('accepts passwords of 8 code points to 72 bytes unchanged', async () => {
    for (const password of [
      '🔑🗼🐉🐎🌊🏠🚪🧭',
      `${'a letter '.repeat(7)}${'x'.repeat(9)}`,
      '  two spaces  ',
      'a noncharacter \uffff',
    ]) {
      const { identity } = await createIdentity(app, { password });
      await app.http
        .post('/token')
        .send({ grant_type: 'password', email: identity.email, password })
        .expect(200);
    }
  });

  it('returns 422 for common and obvious passwords', async () => {
    const strict = await startTestApp({ PASSWORD_MIN_LENGTH: '6' }, app.databaseUrl);
    const attempt = (body: object) =>
      strict.http.post('/internal/identities').set('X-Service-Token', serviceToken).send(body);
    const email = anEmail();
    const guesses = [
      ...['password', 'QWERTY123', 'Tessera', email, email.split('@')[0], 'Ann Lee Jr'],
      ...['Password1!', '!!Sunshine2024!!', 'Tessera#1', 'ann lee jr 77', 'Dragon-123456', '(12345678)'],
      ...['passwordpassword', 'Password Password', 'letmein!letmein!1', 'PASSWORD1password1'],
      ...['ｐａｓｓｗｏｒｄ', 'Ｐａｓｓｗｏｒｄ１！', '①②③④⑤⑥⑦⑧', '🔑🔑🔑🔑🔑🔑🔑🔑'],
      ...['aaaaaaaa', 'Aaaaaaaa1', 'abcabcabc', 'asdasdasd', '!x9!x9!x9', 'qwerqwer'],
      ...['abcdefgh', 'lmnopqrs', '87654321', 'abcdefgh12', 'Asdfghj#1', 'abc123456'],
    ];
    for (const password of guesses)
      expectInvalidFields(await attempt({ email, password, username: 'ann lee jr' }), ['password']);
    for (const password of ['bob_20261', '1bob_2026', 'Bob_2026!!', 'grace.7.77'])
      expectInvalidFields(await attempt({ email: 'grace.7@example.com', password, username: 'bob_2026' }), [
        'password',
      ]);
    const others = [
      ...[
        'correct horse battery staple',
        'password of the lighthouse',
        'my dragon reads 1984',
        'Ann Lee Jr sails',
      ],
      ...[
        'Xk7#pQ2!mZ9&',
        '8f14e45fceea167a',
        'dragon 83-61-27-90',
        'пароль от маяка',
        '🔑🗼🐉🐎🌊🏠🚪🧭',
        'abc def ghi jkl',
      ],
    ];
    for (const password of others)
      await attempt({ email: anEmail(), password, username: 'ann lee jr' }).expect(201);
    const { body } = await attempt({ email, password: aPassword(), username: 'ann lee jr' }).expect(201);
    for (const password of ['password', 'ANN LEE JR', email.toUpperCase()])
      expectInvalidFields(
        await strict.http
          .put(`/internal/identities/${body.id}`)
          .set('X-Service-Token', serviceToken)
          .send({ password }),
        ['password'],
      );
    await strict.close();
  });
});
