import { afterAll, beforeAll, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { accessTokenClaimsSchema, refreshTokenClaimsSchema, tokenResponseSchema } from '@tessera/contracts';
import { expectInvalidFields, expectOAuthProblem } from '@tessera/testing/problems';
import bcrypt from 'bcrypt';
import { decodeJwt, decodeProtectedHeader } from 'jose';
import { SignInRepository } from '../src/sign-in/sign-in.repository.ts';
import { anEmail, aPassword, createIdentity, signIn, updateIdentity } from './support/identities.ts';
import { issuer, serviceToken, startTestApp, type TestApp } from './support/test-app.ts';

describe('POST /token', () => {
  let app: TestApp;
  beforeAll(async () => {
    app = await startTestApp();
  });
  beforeEach(() => app.sql('DELETE FROM sign_in_counters'));
  afterAll(() => app.close());

  const attempt = (body: object) => app.http.post('/token').send(body);

  it('returns exactly the members of docs/spec/identity-service.md 2.2, with no-store', async () => {
    const { identity, password } = await createIdentity(app);
    const response = await attempt({ grant_type: 'password', email: identity.email, password }).expect(200);
    expect(Object.keys(response.body).sort()).toEqual([
      'access_token',
      'expires_in',
      'refresh_token',
      'token_type',
    ]);
    expect(tokenResponseSchema.parse(response.body)).toMatchObject({ token_type: 'Bearer', expires_in: 900 });
    expect(response.headers['cache-control']).toBe('no-store');
    expect(response.headers.pragma).toBe('no-cache');
    // A compressed size would tell what the tokens have in common with text of the request.
    expect(response.headers).not.toHaveProperty('content-encoding');
    expect(response.headers['content-type']).toBe('application/json; charset=utf-8');
  });

  it('issues tokens with exactly the claims of 2.3 and 2.4', async () => {
    const { identity, password } = await createIdentity(app, {
      is_staff: true,
      is_verified: true,
      username: 'ann',
    });
    const tokens = await signIn(app, identity.email, password);
    const access = accessTokenClaimsSchema.parse(decodeJwt(tokens.access_token));
    expect(Object.keys(decodeJwt(tokens.access_token)).sort()).toEqual(
      [
        'sub',
        'iss',
        'aud',
        'iat',
        'exp',
        'jti',
        'type',
        'email',
        'username',
        'is_verified',
        'is_staff',
        'is_superuser',
      ].sort(),
    );
    const next = accessTokenClaimsSchema.parse(
      decodeJwt((await signIn(app, identity.email, password)).access_token),
    );
    expect(next.jti).not.toBe(access.jti);
    expect(access).toMatchObject({
      sub: identity.id,
      iss: issuer,
      aud: 'tessera',
      type: 'access',
      email: identity.email,
      username: 'ann',
      is_verified: true,
      is_staff: true,
      is_superuser: false,
    });
    expect(access.exp - access.iat).toBe(900);
    expect(decodeProtectedHeader(tokens.access_token)).toEqual({
      alg: 'RS256',
      typ: 'at+jwt',
      kid: 'identity-key-1',
    });
    const refresh = refreshTokenClaimsSchema.parse(decodeJwt(tokens.refresh_token));
    expect(Object.keys(decodeJwt(tokens.refresh_token)).sort()).toEqual([
      'aud',
      'exp',
      'iat',
      'iss',
      'jti',
      'sub',
      'type',
    ]);
    expect(refresh).toMatchObject({ sub: identity.id, iss: issuer, aud: issuer, type: 'refresh' });
    expect(refresh.exp - refresh.iat).toBe(14 * 86_400);
    expect(decodeProtectedHeader(tokens.refresh_token).typ).toBe('rt+jwt');
  });

  it('stores the refresh token by its jti in a new family', async () => {
    const { identity, password } = await createIdentity(app);
    const { jti } = decodeJwt((await signIn(app, identity.email, password)).refresh_token);
    const [row] = await app.sql(
      `SELECT t.generation, t.revoked_at, t.replaced_by, f.identity_id, f.revoked_at AS family_revoked
         FROM refresh_tokens t JOIN token_families f ON f.id = t.family_id WHERE t.jti = $1`,
      [jti],
    );
    expect(row).toEqual({
      generation: 1,
      revoked_at: null,
      replaced_by: null,
      identity_id: identity.id,
      family_revoked: null,
    });
  });

  it('issues several audiences as an array', async () => {
    const other = await startTestApp({ JWT_AUDIENCE: 'tessera, issues' }, app.databaseUrl);
    const { identity, password } = await createIdentity(other);
    expect(decodeJwt((await signIn(other, identity.email, password)).access_token).aud).toEqual([
      'tessera',
      'issues',
    ]);
    await other.close();
  });

  it('ignores case and surrounding blanks of the e-mail, but not of the password', async () => {
    const { identity, password } = await createIdentity(app);
    await attempt({ grant_type: 'password', email: ` ${identity.email.toUpperCase()} `, password }).expect(
      200,
    );
    await attempt({ grant_type: 'password', email: identity.email, password: `${password} ` }).expect(401);
    await attempt({ grant_type: 'password', email: identity.email, password: password.toUpperCase() }).expect(
      401,
    );
  });

  it('finds the account by each spelling of its address', async () => {
    const name = anEmail().slice(4, 16);
    const plain = await createIdentity(app, { email: `${name}@example.com.` });
    const other = await createIdentity(app, { email: `zoë.${name}@bücher.example` });
    const spellings = [`${name}@example.com`, `${name}@Example.com.`];
    for (const email of spellings) await signIn(app, email, plain.password);
    for (const domain of ['bücher.example', 'BÜCHER.example.', 'xn--bcher-kva.example'])
      await signIn(app, `Zoe\u0308.${name}@${domain}`, other.password);
  });

  it('ignores unknown parameters and client authentication (RFC 6749 3.2)', async () => {
    const { identity, password } = await createIdentity(app);
    await attempt({
      grant_type: 'password',
      email: identity.email,
      password,
      scope: 'openid',
      client_id: 'x',
      audience: 'y',
    })
      .auth('client', 'secret')
      .expect(200);
  });

  describe('as a form', () => {
    it('accepts email, and username as in RFC 6749 4.3.2', async () => {
      const { identity, password } = await createIdentity(app);
      await app.http
        .post('/token')
        .type('form')
        .send({ grant_type: 'password', email: identity.email, password })
        .expect(200);
      await app.http
        .post('/token')
        .type('form')
        .send({ grant_type: 'password', username: identity.email, password })
        .expect(200);
    });

    it('returns 400 for a repeated parameter', async () => {
      const response = await app.http
        .post('/token')
        .type('form')
        .send('grant_type=password&email=a&email=b&password=c');
      expectOAuthProblem(response, 400, 'invalid_request');
    });

    it('returns 422 for username in JSON', async () => {
      const response = await attempt({
        grant_type: 'password',
        username: 'x@example.com',
        password: aPassword(),
      });
      expectInvalidFields(response, ['email']);
    });
  });

  describe('a failed sign-in', () => {
    const bodies = new Map<string, string>();

    async function refused(email: string, password: string) {
      const response = await attempt({ grant_type: 'password', email, password });
      expectOAuthProblem(response, 401, 'invalid_grant');
      expect(response.headers).not.toHaveProperty('www-authenticate');
      const { request_id, ...rest } = response.body;
      expect(rest.detail).toBe('Invalid email or password.');
      const { date, 'x-request-id': requestId, ...headers } = response.headers;
      bodies.set(JSON.stringify([rest, headers]), email);
    }

    it('gets the same 401 for an unknown e-mail, a wrong password, an SSO-only, an inactive and a deleted identity, and a password that is too long', async () => {
      const wrong = await createIdentity(app);
      await refused(anEmail(), aPassword());
      await refused(wrong.identity.email, aPassword());
      const sso = await app.http
        .post('/internal/identities')
        .set('X-Service-Token', serviceToken)
        .send({ email: anEmail(), sso_provider: 'google', sso_id: anEmail() })
        .expect(201);
      await refused(sso.body.email, aPassword());
      const inactive = await createIdentity(app, { is_active: false });
      await refused(inactive.identity.email, inactive.password);
      const deleted = await createIdentity(app);
      await app.http
        .delete(`/internal/identities/${deleted.identity.id}`)
        .set('X-Service-Token', serviceToken)
        .expect(204);
      await refused(deleted.identity.email, deleted.password);
      await refused(wrong.identity.email, 'x'.repeat(73));
      await refused(wrong.identity.email, `${wrong.password}${'x'.repeat(60)}`);
      await refused('not an e-mail', aPassword());
      expect(bodies.size).toBe(1);
    });

    it('gets 401 for a longer password with the correct first 72 bytes', async () => {
      const password = 'a long one '.repeat(7).slice(0, 72);
      const { identity } = await createIdentity(app, { password });
      await attempt({ grant_type: 'password', email: identity.email, password }).expect(200);
      await attempt({ grant_type: 'password', email: identity.email, password: `${password}p` }).expect(401);
    });
  });

  it.each([
    ['grant_type', {}],
    ['grant_type', { grant_type: '' }],
    ['grant_type', { grant_type: 7 }],
    ['grant_type', { grant_type: null }],
    ['email', { email: undefined }],
    ['email', { email: '' }],
    ['email', { email: ['a@example.com'] }],
    ['email', { email: 'a'.repeat(321) }],
    ['email', { email: 'a\u0000@example.com' }],
    ['password', { password: undefined }],
    ['password', { password: '' }],
    ['password', { password: { $ne: '' } }],
    ['password', { password: 'x'.repeat(4097) }],
    ['password', { password: 'x\ud800yyyyyyy' }],
  ])('returns 422 for an invalid %s (%j) without a look-up', async (field, override) => {
    const base = { grant_type: 'password', email: 'a@example.com', password: 'some password' };
    const body =
      Object.keys(override).length === 0 ? { ...base, grant_type: undefined } : { ...base, ...override };
    const response = await app.http
      .post('/token')
      .set('Content-Type', 'application/json')
      .send(JSON.stringify(body));
    expectOAuthProblem(response, 422, 'invalid_request');
    expectInvalidFields(response, [field]);
    expect(await app.sql('SELECT 1 FROM sign_in_counters')).toEqual([]);
  });

  it.each([
    ['refresh_token', /\/token\/refresh/],
    ['client_credentials', /password grant/],
    ['__proto__', /password grant/],
  ])('returns 400 for the grant type %s', async (type, hint) => {
    const response = await attempt({ grant_type: type });
    expectOAuthProblem(response, 400, 'unsupported_grant_type');
    expect(response.body.error_description).toMatch(hint);
  });

  it.each([
    ['malformed JSON', 'application/json', '{"grant_type":', 400],
    ['invalid UTF-8', 'application/json', Buffer.from([0x22, 0xff, 0xfe, 0x22]), 400],
    ['an array', 'application/json', '[]', 422],
    ['a string', 'application/json', '"x"', 422],
    ['null', 'application/json', 'null', 422],
    ['text', 'text/plain', 'grant_type=password', 415],
    ['a foreign charset', 'application/json; charset=latin1', '{}', 415],
    ['a large body', 'application/json', JSON.stringify({ password: 'x'.repeat(17_000) }), 413],
  ])('rejects %s', async (_name, type, body, status) => {
    const response = await app.http
      .post('/token')
      .set('Content-Type', type)
      .send(body)
      .serialize((raw) => raw as string);
    expectOAuthProblem(response, status, 'invalid_request');
  });

  it('returns 422 without a body and 415 for a body without a media type', async () => {
    expectOAuthProblem(await app.http.post('/token'), 422, 'invalid_request');
    const response = await app.http.post('/token').send(Buffer.from('{}'));
    expectOAuthProblem(response, 415, 'invalid_request');
  });

  it('returns 405 with Allow to GET', async () => {
    const response = await app.http.get('/token');
    expectOAuthProblem(response, 405, 'invalid_request');
    expect(response.headers.allow).toBe('OPTIONS, POST');
  });

  it.each([
    ['lower', '10', 4],
    ['higher', '4', 10],
  ])(
    'uses the same CPU time to refuse a wrong password with a %s hash cost and an unknown e-mail',
    async (_name, cost, stored) => {
      const other = await startTestApp({ BCRYPT_COST: cost, SIGN_IN_LIMITS: 'off' }, app.databaseUrl);
      const { identity } = await createIdentity(other);
      await app.sql('UPDATE identities SET password_hash = $2 WHERE id = $1', [
        identity.id,
        await bcrypt.hash(aPassword(), stored),
      ]);
      // CPU time of all threads, which does not depend on other processes.
      const spent = async (email: string) => {
        const times: number[] = [];
        for (let count = 0; count < 9; count += 1) {
          const before = process.cpuUsage();
          const body = { grant_type: 'password', email, password: aPassword() };
          await other.http.post('/token').send(body).expect(401);
          const { user, system } = process.cpuUsage(before);
          times.push(user + system);
        }
        return times.toSorted((a, b) => a - b)[4] ?? Number.NaN;
      };
      const [unknown, known] = [await spent(anEmail()), await spent(identity.email)];
      expect(known / unknown).toBeGreaterThan(0.6);
      expect(known / unknown).toBeLessThan(1.6);
      await other.close();
    },
  );

  it('rehashes the password only after the cost was raised', async () => {
    const { identity, password } = await createIdentity(app);
    const hashOf = async () => {
      const [row] = await app.sql<{ password_hash: string }>(
        'SELECT password_hash FROM identities WHERE id = $1',
        [identity.id],
      );
      return row?.password_hash ?? '';
    };
    const before = await hashOf();
    expect(bcrypt.getRounds(before)).toBe(4);
    const costlier = await startTestApp({ BCRYPT_COST: '5' }, app.databaseUrl);
    await signIn(costlier, identity.email, password);
    const upgraded = await hashOf();
    expect(bcrypt.getRounds(upgraded)).toBe(5);
    await signIn(costlier, identity.email, password);
    expect(await hashOf()).toBe(upgraded);
    await signIn(app, identity.email, password);
    expect(await hashOf()).toBe(upgraded);
    await costlier.close();
  });

  it('writes successes and failures to the audit trail without the e-mail', async () => {
    const { identity, password } = await createIdentity(app);
    await signIn(app, identity.email, password);
    await attempt({ grant_type: 'password', email: identity.email, password: aPassword() })
      .set('X-Request-Id', 'req-1')
      .expect(401);
    const rows = await app.sql(
      `SELECT type, outcome, actor, request_id, details::text AS details FROM audit_events
        WHERE identity_id = $1 AND type LIKE 'token.%' ORDER BY id`,
      [identity.id],
    );
    expect(rows).toMatchObject([
      { type: 'token.issued', outcome: 'success', actor: 'user' },
      { type: 'token.refused', outcome: 'failure', actor: 'user', request_id: 'req-1' },
    ]);
    expect(JSON.stringify(rows)).not.toContain(identity.email);
  });

  it('compares the right password once more if all sessions end meanwhile, and then is 503', async () => {
    const { identity, password } = await createIdentity(app);
    const open = SignInRepository.prototype.openSession;
    let [left, opened] = [1, 0];
    const spy = jest.spyOn(SignInRepository.prototype, 'openSession').mockImplementation(async function late(
      this: SignInRepository,
      ...given: Parameters<typeof open>
    ) {
      opened += 1;
      if (left > 0)
        await app.http
          .delete(`/internal/identities/${identity.id}/sessions`)
          .set('X-Service-Token', serviceToken)
          .expect(204);
      left -= 1;
      return Reflect.apply(open, this, given);
    });
    try {
      const credentials = { grant_type: 'password', email: identity.email, password };
      await attempt(credentials).expect(200);
      expect(opened).toBe(2);
      left = 2;
      const refused = await attempt(credentials).expect(503);
      expect([refused.headers['retry-after'], opened]).toEqual(['1', 4]);
      await attempt(credentials).expect(200);
    } finally {
      spy.mockRestore();
    }
  });

  it('accepts a changed password immediately and rejects the old one', async () => {
    const { identity, password } = await createIdentity(app);
    const next = aPassword();
    await updateIdentity(app, identity.id, { password: next });
    await attempt({ grant_type: 'password', email: identity.email, password }).expect(401);
    await attempt({ grant_type: 'password', email: identity.email, password: next }).expect(200);
  });
});
