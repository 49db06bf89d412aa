import { createPrivateKey } from 'node:crypto';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type Attack, type AttackContext, attacks, validToken } from '@tessera/jwt-verify/attack-table';
import { expectOAuthProblem } from '@tessera/testing/problems';
import { decodeJwt } from 'jose';
import { signedIn } from './support/identities.ts';
import { issuer, serviceToken, signingPem, startTestApp, type TestApp } from './support/test-app.ts';

// The attack table of @tessera/jwt-verify, over HTTP against the service and its key.
describe('a forged or tampered token', () => {
  let app: TestApp;
  let listener: Server;
  let heard = 0;
  let tokens: Awaited<ReturnType<typeof signedIn>>['tokens'];
  beforeAll(async () => {
    app = await startTestApp();
    tokens = (await signedIn(app)).tokens;
    listener = createServer((_request, response) => {
      heard += 1;
      response.end('{}');
    });
    await new Promise<void>((resolve) => listener.listen(0, '127.0.0.1', resolve));
  });
  afterAll(async () => {
    listener.close();
    await app.close();
  });

  /** The claims and headers of a token of the service, which each attack changes in one point. */
  function contextOf(kind: 'access' | 'refresh'): AttackContext {
    const {
      iat = 0,
      exp = 0,
      ...claims
    } = decodeJwt(kind === 'access' ? tokens.access_token : tokens.refresh_token);
    return {
      kind,
      privateKey: createPrivateKey(signingPem()),
      kid: 'identity-key-1',
      typ: kind === 'access' ? 'at+jwt' : 'rt+jwt',
      claims: { ...claims, iss: issuer, aud: String(claims.aud), iat, exp },
      clockToleranceSeconds: 0,
      listenerUrl: `http://127.0.0.1:${(listener.address() as AddressInfo).port}/keys`,
    };
  }

  // A bearer token in a header has no line breaks and blanks: such headers are malformed (400).
  const isHeaderText = ({ token }: Attack) => /^[A-Za-z0-9\-._~+/]+=*$/.test(token) && token.length < 15_000;

  it('gets 401 from GET /userinfo, which accepts the original', async () => {
    const context = contextOf('access');
    await app.http
      .get('/userinfo')
      .set('Authorization', `Bearer ${validToken(context)}`)
      .expect(200);
    const table = attacks(context).filter(isHeaderText);
    expect(table.length).toBeGreaterThan(80);
    for (const { name, token } of table) {
      const response = await app.http.get('/userinfo').set('Authorization', `Bearer ${token}`);
      expect([name, response.status]).toEqual([name, 401]);
      expectOAuthProblem(response, 401, 'invalid_token');
    }
  });

  it('gets 401 from POST /token/refresh and does not affect the session', async () => {
    const context = contextOf('refresh');
    const table = attacks(context).filter(({ token }) => token !== '' && token.length <= 8192);
    expect(table.length).toBeGreaterThan(80);
    for (const { name, token } of table) {
      const response = await app.http.post('/token/refresh').send({ refresh_token: token });
      expect([name, response.status]).toEqual([name, 401]);
      expectOAuthProblem(response, 401, 'invalid_grant');
    }
    expect(
      await app.sql('SELECT 1 FROM token_families WHERE revoked_at IS NOT NULL OR suspect_at IS NOT NULL'),
    ).toEqual([]);
    await app.http
      .post('/token/refresh')
      .send({ refresh_token: validToken(context) })
      .expect(200);
  });

  it("does not rotate, revoke or introspect a session with another identity's sub", async () => {
    const { identity: other } = await signedIn(app);
    ({ tokens } = await signedIn(app));
    const context = contextOf('refresh');
    const foreign = validToken({ ...context, claims: { ...context.claims, sub: other.id } });
    const post = (path: string, body: object) => app.http.post(path).send(body);
    const expectUnaffected = async () => {
      const affected = 'SELECT 1 FROM token_families WHERE revoked_at IS NOT NULL OR suspect_at IS NOT NULL';
      expect(await app.sql(affected)).toEqual([]);
    };
    expectOAuthProblem(await post('/token/refresh', { refresh_token: foreign }), 401, 'invalid_grant');
    await post('/token/revoke', { token: foreign }).expect(200);
    const introspected = await post('/internal/introspect', { token: foreign }).set(
      'X-Service-Token',
      serviceToken,
    );
    expect(introspected.body).toEqual({ active: false });
    await expectUnaffected();
    // Nor does it count as reuse after the rotation.
    await post('/token/refresh', { refresh_token: validToken(context) }).expect(200);
    expectOAuthProblem(await post('/token/refresh', { refresh_token: foreign }), 401, 'invalid_grant');
    await expectUnaffected();
  });

  it('causes no request for a key', () => {
    expect(heard).toBe(0);
  });
});
