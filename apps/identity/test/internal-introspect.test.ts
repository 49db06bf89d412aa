import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { introspectionSchema, type TokenResponse } from '@tessera/contracts';
import { expectInvalidFields, expectProblem } from '@tessera/testing/problems';
import { decodeJwt } from 'jose';
import { signedIn, signIn, updateIdentity } from './support/identities.ts';
import { internalClient } from './support/internal-client.ts';
import { issuer, startTestApp, type TestApp } from './support/test-app.ts';

describe('POST /internal/introspect', () => {
  let app: TestApp;
  beforeAll(async () => {
    app = await startTestApp();
  });
  afterAll(() => app.close());

  const internal = internalClient(() => app);
  const introspect = async (token: string) =>
    (await internal('post', '/internal/introspect').send({ token }).expect(200)).body;
  const refresh = async (token: string): Promise<TokenResponse> =>
    (await app.http.post('/token/refresh').send({ refresh_token: token }).expect(200)).body;

  async function expectInactive(...tokens: string[]) {
    for (const token of tokens) expect(await introspect(token)).toEqual({ active: false });
  }

  it('describes an access token with the current username', async () => {
    const { tokens, identity } = await signedIn(app);
    await updateIdentity(app, identity.id, { username: 'renamed' });
    const { iat, exp, jti } = decodeJwt(tokens.access_token);
    const answer = await introspect(tokens.access_token);
    expect(introspectionSchema.parse(answer)).toEqual(answer);
    expect(answer).toEqual({
      active: true,
      iss: issuer,
      sub: identity.id,
      aud: 'tessera',
      iat,
      exp,
      jti,
      username: 'renamed',
      token_use: 'access_token',
      token_type: 'Bearer',
    });
  });

  it('describes a refresh token with its session', async () => {
    const { tokens, identity } = await signedIn(app);
    const { iat, exp, jti } = decodeJwt(tokens.refresh_token);
    const { body: sessions } = await internal('get', `/internal/identities/${identity.id}/sessions`);
    const answer = await introspect(tokens.refresh_token);
    expect(introspectionSchema.parse(answer)).toEqual(answer);
    expect(answer).toEqual({
      active: true,
      iss: issuer,
      sub: identity.id,
      aud: issuer,
      iat,
      exp,
      jti,
      username: identity.username,
      token_use: 'refresh_token',
      sid: sessions[0].id,
    });
  });

  it('accepts a form and ignores hints and unknown parameters', async () => {
    const { tokens } = await signedIn(app);
    for (const hint of ['access_token', 'refresh_token', 'nonsense']) {
      const { body, headers } = await internal('post', '/internal/introspect')
        .type('form')
        .send({ token: tokens.access_token, token_type_hint: hint, client_id: 'x' })
        .expect(200);
      expect(body).toMatchObject({ active: true, token_use: 'access_token' });
      expect(headers['cache-control']).toBe('no-store');
    }
  });

  it('returns only active: false for a token of another service and for text that is not a token', async () => {
    const { tokens } = await signedIn(app);
    const stranger = await startTestApp({ JWT_PRIVATE_KEY: undefined }, app.databaseUrl);
    const foreign = (await signedIn(stranger)).tokens;
    const [header, claims] = tokens.access_token.split('.');
    await expectInactive('nonsense', 'a.b.c', `${header}.${claims}.`, ' ', 'x'.repeat(12_000));
    await expectInactive(foreign.access_token, foreign.refresh_token);
    await stranger.close();
  });

  it('reports expired and ended tokens as inactive', async () => {
    const { tokens, identity } = await signedIn(app);
    const subject = {
      id: identity.id,
      email: '',
      username: '',
      isVerified: false,
      isStaff: false,
      isSuperuser: false,
      sessionEpoch: 0,
    };
    const { issuer: signer, config } = app.dependencies;
    const longAgo = Math.floor(Date.now() / 1000) - config.tokens.accessTtlSeconds - 1;
    await expectInactive(await signer.signAccessToken(subject, longAgo));
    await app.sql('UPDATE refresh_tokens SET expires_at = now() WHERE jti = $1', [
      decodeJwt(tokens.refresh_token).jti,
    ]);
    await expectInactive(tokens.refresh_token);
    const { tokens: other } = await signedIn(app);
    await app.sql(
      `UPDATE token_families SET expires_at = now()
        WHERE id = (SELECT family_id FROM refresh_tokens WHERE jti = $1)`,
      [decodeJwt(other.refresh_token).jti],
    );
    await expectInactive(other.refresh_token);
  });

  it('reports both tokens of a deactivated and a deleted identity as inactive', async () => {
    const [deactivated, deleted] = [await signedIn(app), await signedIn(app)];
    await updateIdentity(app, deactivated.identity.id, { is_active: false });
    await internal('delete', `/internal/identities/${deleted.identity.id}`).expect(204);
    for (const { tokens } of [deactivated, deleted]) {
      await expectInactive(tokens.access_token, tokens.refresh_token);
    }
  });

  it('reports tokens from before the revocation of all sessions as inactive and new ones as active', async () => {
    const { tokens, identity, password } = await signedIn(app);
    await internal('delete', `/internal/identities/${identity.id}/sessions`).expect(204);
    await expectInactive(tokens.refresh_token, tokens.access_token);
    const fresh = await signIn(app, identity.email, password);
    expect(await introspect(fresh.access_token)).toMatchObject({ active: true });
    expect(await introspect(fresh.refresh_token)).toMatchObject({ active: true });
    await expectInactive(tokens.refresh_token, tokens.access_token);
  });

  it('reports tokens from before SESSIONS_VALID_AFTER as inactive', async () => {
    const { tokens } = await signedIn(app);
    const braked = await startTestApp(
      {
        SESSIONS_VALID_AFTER: new Date(Date.now() + 5000).toISOString(),
      },
      app.databaseUrl,
    );
    for (const token of [tokens.access_token, tokens.refresh_token]) {
      const { body } = await internalClient(() => braked)('post', '/internal/introspect').send({ token });
      expect(body).toEqual({ active: false });
    }
    await braked.close();
  });

  it('neither rotates a refresh token nor treats a used one as reuse', async () => {
    const { tokens, identity } = await signedIn(app);
    const next = await refresh(tokens.refresh_token);
    // Long after the leeway: at /token/refresh this token would now end the session.
    await app.sql(`UPDATE refresh_tokens SET revoked_at = revoked_at - interval '1 hour' WHERE jti = $1`, [
      decodeJwt(tokens.refresh_token).jti,
    ]);
    const state = () =>
      app.sql(
        `SELECT f.*, t.* FROM token_families f JOIN refresh_tokens t ON t.family_id = f.id
          WHERE f.identity_id = $1 ORDER BY t.generation`,
        [identity.id],
      );
    const events = () => app.sql('SELECT id FROM audit_events WHERE identity_id = $1', [identity.id]);
    const before = [await state(), await events()];
    for (let times = 0; times < 3; times += 1) {
      await expectInactive(tokens.refresh_token);
      expect(await introspect(next.refresh_token)).toMatchObject({ active: true });
    }
    expect([await state(), await events()]).toEqual(before);
    await refresh(next.refresh_token);
  });

  it('rejects a request without a token, with two, with another media type, and without the service token', async () => {
    const post = () => internal('post', '/internal/introspect');
    for (const body of [{}, { token: '' }, { token: 7 }])
      expectInvalidFields(await post().send(body), ['token']);
    expectProblem(await post().type('form').send('token=a&token=b'), 400, 'invalid_request');
    expectProblem(await post().type('text').send('token=a'), 415, 'unsupported_media_type');
    expectProblem(await post().send({ token: 'x'.repeat(17_000) }), 413, 'body_too_large');
    await app.http.post('/internal/introspect').send({ token: 'a' }).expect(403);
  });
});
