import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { expectInvalidFields, expectOAuthProblem } from '@tessera/testing/problems';
import { decodeJwt, decodeProtectedHeader } from 'jose';
import { createIdentity, signedIn, signIn, updateIdentity } from './support/identities.ts';
import { serviceToken, startTestApp, type TestApp } from './support/test-app.ts';

describe('POST /token/refresh', () => {
  let app: TestApp;
  beforeAll(async () => {
    app = await startTestApp();
  });
  afterAll(() => app.close());

  const refresh = (token: string, to: Pick<TestApp, 'http'> = app) =>
    to.http.post('/token/refresh').send({ refresh_token: token });

  const familyOf = async (token: string) => {
    const [row] = await app.sql(
      `SELECT f.id, f.revoked_at, f.revoke_reason, f.suspect_at FROM token_families f
         JOIN refresh_tokens t ON t.family_id = f.id WHERE t.jti = $1`,
      [decodeJwt(token).jti],
    );
    return row;
  };

  /** Moves the rotation of a used token into the past, by the clock of the database. */
  const age = (token: string, seconds: number) =>
    app.sql(`UPDATE refresh_tokens SET revoked_at = revoked_at - $2 * interval '1 second' WHERE jti = $1`, [
      decodeJwt(token).jti,
      seconds,
    ]);

  async function expectRefused(token: string, to: Pick<TestApp, 'http'> = app) {
    const response = await refresh(token, to);
    expectOAuthProblem(response, 401, 'invalid_grant');
    expect(response.body.detail).toBe('The refresh token is not valid.');
    expect(response.headers).not.toHaveProperty('www-authenticate');
  }

  it('returns a new pair and revokes the presented token', async () => {
    const { tokens, identity } = await signedIn(app);
    const response = await refresh(tokens.refresh_token).expect(200);
    expect(Object.keys(response.body).sort()).toEqual([
      'access_token',
      'expires_in',
      'refresh_token',
      'token_type',
    ]);
    expect(response.headers['cache-control']).toBe('no-store');
    expect(response.headers.pragma).toBe('no-cache');
    const [before, after] = [decodeJwt(tokens.refresh_token), decodeJwt(response.body.refresh_token)];
    expect(after.jti).not.toBe(before.jti);
    const [row] = await app.sql('SELECT revoked_at, replaced_by FROM refresh_tokens WHERE jti = $1', [
      before.jti,
    ]);
    expect(row?.replaced_by).toBe(after.jti);
    expect(row?.revoked_at).toBeInstanceOf(Date);
    expect(decodeJwt(response.body.access_token).sub).toBe(identity.id);
    await refresh(response.body.refresh_token).expect(200);
  });

  it('accepts a form', async () => {
    const { tokens } = await signedIn(app);
    await app.http
      .post('/token/refresh')
      .type('form')
      .send({ refresh_token: tokens.refresh_token })
      .expect(200);
  });

  it('reads the current claims', async () => {
    const { tokens, identity } = await signedIn(app);
    await updateIdentity(app, identity.id, { is_staff: true, username: 'renamed' });
    const { body } = await refresh(tokens.refresh_token).expect(200);
    expect(decodeJwt(body.access_token)).toMatchObject({ is_staff: true, username: 'renamed' });
  });

  it('returns 401 for the direct parent within the leeway, keeps the family and marks it suspect', async () => {
    const { tokens } = await signedIn(app);
    const { body: next } = await refresh(tokens.refresh_token).expect(200);
    await expectRefused(tokens.refresh_token);
    expect(await familyOf(tokens.refresh_token)).toMatchObject({
      revoked_at: null,
      suspect_at: expect.any(Date),
    });
    await refresh(next.refresh_token).expect(200);
  });

  it('revokes a suspect family at the next sign-in', async () => {
    const { tokens, identity, password } = await signedIn(app);
    const { body: next } = await refresh(tokens.refresh_token).expect(200);
    await expectRefused(tokens.refresh_token);
    const own = await signIn(app, identity.email, password);
    await expectRefused(next.refresh_token);
    expect(await familyOf(next.refresh_token)).toMatchObject({ revoke_reason: 'suspect' });
    await refresh(own.refresh_token).expect(200);
  });

  it('revokes the family when the parent is reused after the leeway', async () => {
    const { tokens } = await signedIn(app);
    const { body: next } = await refresh(tokens.refresh_token).expect(200);
    await age(tokens.refresh_token, 11);
    await expectRefused(tokens.refresh_token);
    expect(await familyOf(tokens.refresh_token)).toMatchObject({ revoke_reason: 'reuse_detected' });
    await expectRefused(next.refresh_token);
  });

  it('revokes the family when the successor has been used, even within the leeway', async () => {
    const { tokens } = await signedIn(app);
    const { body: second } = await refresh(tokens.refresh_token).expect(200);
    const { body: third } = await refresh(second.refresh_token).expect(200);
    await expectRefused(tokens.refresh_token);
    await expectRefused(third.refresh_token);
  });

  it('revokes the family immediately with a leeway of 0', async () => {
    const strict = await startTestApp({ REFRESH_REUSE_LEEWAY_SECONDS: '0' }, app.databaseUrl);
    const { tokens } = await signedIn(strict);
    const { body: next } = await refresh(tokens.refresh_token, strict).expect(200);
    await expectRefused(tokens.refresh_token, strict);
    await expectRefused(next.refresh_token, strict);
    await strict.close();
  });

  it('writes rotation and reuse to the audit trail', async () => {
    const { tokens, identity } = await signedIn(app);
    await refresh(tokens.refresh_token).expect(200);
    await expectRefused(tokens.refresh_token);
    await age(tokens.refresh_token, 11);
    await expectRefused(tokens.refresh_token);
    const types = await app.sql('SELECT type FROM audit_events WHERE identity_id = $1 ORDER BY id', [
      identity.id,
    ]);
    expect(types.map((row) => row.type)).toEqual([
      'identity.created',
      'token.issued',
      'refresh.rotated',
      'refresh.reuse_in_leeway',
      'refresh.reuse_detected',
    ]);
  });

  it('stores nothing when refused tokens are repeated', async () => {
    const { tokens, identity } = await signedIn(app);
    const { body: next } = await refresh(tokens.refresh_token).expect(200);
    const stored = async () => {
      const events = await app.sql(
        `SELECT type FROM audit_events WHERE identity_id = $1 AND outcome = 'failure' ORDER BY id`,
        [identity.id],
      );
      const sizes = await app.sql(
        'SELECT (SELECT count(*)::int FROM refresh_tokens) AS tokens, (SELECT count(*)::int FROM token_families) AS families',
      );
      return { types: events.map(({ type }) => type), sizes };
    };
    const { sizes } = await stored();
    for (let use = 0; use < 3; use += 1) await expectRefused(tokens.refresh_token);
    expect(await stored()).toEqual({ types: ['refresh.reuse_in_leeway'], sizes });
    await age(tokens.refresh_token, 11);
    for (let use = 0; use < 3; use += 1) {
      for (const { refresh_token: token } of [tokens, next]) await expectRefused(token);
    }
    expect(await stored()).toEqual({ types: ['refresh.reuse_in_leeway', 'refresh.reuse_detected'], sizes });
  });

  it('limits the expiry of a successor to that of its family', async () => {
    const { tokens } = await signedIn(app);
    const family = await familyOf(tokens.refresh_token);
    await app.sql(
      `UPDATE token_families SET expires_at = date_trunc('second', now()) + interval '1 hour' WHERE id = $1`,
      [family?.id],
    );
    const { body } = await refresh(tokens.refresh_token).expect(200);
    const claims = decodeJwt(body.refresh_token);
    const lifetime = (claims.exp ?? 0) - (claims.iat ?? 0);
    expect(lifetime).toBeGreaterThan(3590);
    expect(lifetime).toBeLessThanOrEqual(3600);
    const [row] = await app.sql(
      'SELECT extract(epoch FROM expires_at)::int AS exp FROM refresh_tokens WHERE jti = $1',
      [claims.jti],
    );
    expect(row?.exp).toBe(claims.exp);
    await app.sql(`UPDATE token_families SET expires_at = now() - interval '1 second' WHERE id = $1`, [
      family?.id,
    ]);
    await expectRefused(body.refresh_token);
  });

  it('returns 401 for a token whose row has expired', async () => {
    const { tokens } = await signedIn(app);
    await app.sql(`UPDATE refresh_tokens SET expires_at = now() WHERE jti = $1`, [
      decodeJwt(tokens.refresh_token).jti,
    ]);
    await expectRefused(tokens.refresh_token);
  });

  it.each([
    ['a new password', { password: 'another password' }],
    ['the same password again', undefined],
    ['deactivation', { is_active: false }],
  ])('revokes all sessions immediately with %s', async (_name, changes) => {
    const { tokens, identity, password } = await signedIn(app);
    const other = await signIn(app, identity.email, password);
    await updateIdentity(app, identity.id, changes ?? { password });
    await expectRefused(tokens.refresh_token);
    await expectRefused(other.refresh_token);
    const [row] = await app.sql('SELECT session_epoch FROM identities WHERE id = $1', [identity.id]);
    expect(row?.session_epoch).toBe(1);
  });

  it('does not restore sessions when an identity is reactivated', async () => {
    const { tokens, identity, password } = await signedIn(app);
    await updateIdentity(app, identity.id, { is_active: false });
    await updateIdentity(app, identity.id, { is_active: true });
    await expectRefused(tokens.refresh_token);
    await refresh((await signIn(app, identity.email, password)).refresh_token).expect(200);
  });

  it('keeps sessions when other fields change', async () => {
    const { tokens, identity } = await signedIn(app);
    await updateIdentity(app, identity.id, { username: 'other', is_verified: true, is_active: true });
    await refresh(tokens.refresh_token).expect(200);
  });

  it('revokes all sessions with a soft delete', async () => {
    const { tokens, identity } = await signedIn(app);
    await app.http
      .delete(`/internal/identities/${identity.id}`)
      .set('X-Service-Token', serviceToken)
      .expect(204);
    await expectRefused(tokens.refresh_token);
    expect(await familyOf(tokens.refresh_token)).toMatchObject({ revoke_reason: 'identity_gone' });
  });

  it('rejects sessions that began before SESSIONS_VALID_AFTER', async () => {
    const before = await startTestApp({}, app.databaseUrl);
    const { tokens } = await signedIn(before);
    await before.close();
    const after = await startTestApp(
      { SESSIONS_VALID_AFTER: new Date(Date.now() + 5000).toISOString() },
      app.databaseUrl,
    );
    await expectRefused(tokens.refresh_token, after);
    await after.http.get('/userinfo').set('Authorization', `Bearer ${tokens.access_token}`).expect(401);
    await after.close();
  });

  it('returns 401 for an access token and for a token that is not a JWT', async () => {
    const { tokens } = await signedIn(app);
    await expectRefused(tokens.access_token);
    await expectRefused('nonsense');
    await expectRefused('a.b.c');
  });

  it.each([
    [{}],
    [{ refresh_token: '' }],
    [{ refresh_token: 7 }],
    [{ refresh_token: ['x'] }],
    [{ refresh_token: null }],
    [{ refresh_token: 'x'.repeat(8193) }],
  ])('returns 422 for %j', async (body) => {
    const response = await app.http.post('/token/refresh').send(body);
    expectOAuthProblem(response, 422, 'invalid_request');
    expectInvalidFields(response, ['refresh_token']);
  });

  it('rotates the sessions of an identity independently', async () => {
    const { identity, password } = await createIdentity(app);
    const [one, two] = [
      await signIn(app, identity.email, password),
      await signIn(app, identity.email, password),
    ];
    await refresh(one.refresh_token).expect(200);
    await age(one.refresh_token, 60);
    await expectRefused(one.refresh_token);
    await refresh(two.refresh_token).expect(200);
  });

  describe('at POST /token, with TOKEN_ENDPOINT_REFRESH=on and ACCESS_TOKEN_TYP=JWT', () => {
    let optional: TestApp;
    beforeAll(async () => {
      const settings = { TOKEN_ENDPOINT_REFRESH: 'on', ACCESS_TOKEN_TYP: 'JWT' };
      optional = await startTestApp({ ...settings, RATE_LIMIT_TOKENS_PER_MINUTE: '2' }, app.databaseUrl);
    });
    afterAll(() => optional.close());

    const exchange = (body: object) => optional.http.post('/token').send(body);
    const grant = (token: unknown) => ({ grant_type: 'refresh_token', refresh_token: token });

    it('returns a new pair for JSON and for a form, within the limit of /token/refresh', async () => {
      const { tokens } = await signedIn(optional);
      const first = await exchange({ ...grant(tokens.refresh_token), client_id: 'any' }).expect(200);
      expect(Object.keys(first.body)).toEqual(Object.keys(tokens));
      expect(first.headers).toMatchObject({ 'cache-control': 'no-store', pragma: 'no-cache' });
      const second = await exchange(grant(first.body.refresh_token)).type('form').expect(200);
      for (const response of [
        await exchange(grant(second.body.refresh_token)),
        await refresh(second.body.refresh_token, optional),
      ]) {
        expectOAuthProblem(response, 429, 'too_many_requests');
      }
      await refresh(second.body.refresh_token).expect(200);
    });

    it('refuses a second use and ends the session, with the response of /token/refresh', async () => {
      const { tokens } = await signedIn(optional);
      const successor = await exchange(grant(tokens.refresh_token)).expect(200);
      await age(tokens.refresh_token, 60);
      const reused = await exchange(grant(tokens.refresh_token));
      expectOAuthProblem(reused, 401, 'invalid_grant');
      const { request_id: _, ...body } = reused.body;
      expect((await refresh(tokens.refresh_token, optional)).body).toMatchObject(body);
      expect(await familyOf(tokens.refresh_token)).toMatchObject({ revoke_reason: 'reuse_detected' });
      await expectRefused(successor.body.refresh_token, optional);
    });

    it.each([undefined, '', 7, null, 'x'.repeat(8193)])(
      'returns 422 for the refresh token %p',
      async (token) => {
        const response = await exchange(grant(token));
        expectOAuthProblem(response, 422, 'invalid_request');
        expectInvalidFields(response, ['refresh_token']);
      },
    );

    it('responds to other grants and bodies as before', async () => {
      const response = await exchange({ grant_type: 'client_credentials' });
      expectOAuthProblem(response, 400, 'unsupported_grant_type');
      expect(response.body.detail).toBe('Only the password and refresh_token grants are supported here.');
      for (const body of [{}, { grant_type: '', email: 'a' }, { grant_type: 'password' }, []]) {
        const [own, usual] = [await exchange(body), await app.http.post('/token').send(body)];
        expect({ ...own.body, request_id: '' }).toEqual({ ...usual.body, request_id: '' });
        expect(own.status).toBe(422);
      }
      const { identity, password } = await signedIn(optional);
      const form = { grant_type: 'password', username: identity.email, password };
      await exchange(form).type('form').expect(200);
    });

    it('accepts only access tokens at /userinfo, with either typ', async () => {
      const [usual, general] = [await signedIn(app), await signedIn(optional)];
      expect(decodeProtectedHeader(general.tokens.access_token).typ).toBe('JWT');
      expect(decodeProtectedHeader(general.tokens.refresh_token).typ).toBe('rt+jwt');
      for (const { http } of [app, optional]) {
        const userInfo = (token: string) => http.get('/userinfo').auth(token, { type: 'bearer' });
        for (const { tokens } of [usual, general]) {
          await userInfo(tokens.access_token).expect(200);
          await userInfo(tokens.refresh_token).expect(401);
          await expectRefused(tokens.access_token, { http });
        }
      }
    });
  });
});
