import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { discoveryDocumentSchema } from '@tessera/contracts';
import { expectProblem } from '@tessera/testing/problems';
import { issuer, startTestApp, type TestApp } from './support/test-app.ts';

const path = '/.well-known/openid-configuration';

describe('GET /.well-known/openid-configuration', () => {
  let app: TestApp;
  beforeAll(async () => {
    app = await startTestApp();
  });
  afterAll(() => app.close());

  it('returns the discovery document of docs/spec/identity-service.md 2.6', async () => {
    const response = await app.http.get(path).expect(200);
    expect(response.headers['content-type']).toBe('application/json; charset=utf-8');
    expect(discoveryDocumentSchema.parse(response.body)).toEqual(response.body);
    expect(response.body).toMatchObject({
      issuer,
      token_endpoint: `${issuer}/token`,
      userinfo_endpoint: `${issuer}/userinfo`,
      jwks_uri: `${issuer}/jwks`,
      response_types_supported: ['token'],
      subject_types_supported: ['public'],
      id_token_signing_alg_values_supported: ['RS256'],
      scopes_supported: ['openid', 'email', 'profile'],
      grant_types_supported: ['password', 'refresh_token'],
      token_endpoint_auth_methods_supported: ['none'],
    });
  });

  it('builds its URLs from the issuer, not from the Host header', async () => {
    const response = await app.http
      .get(path)
      .set('Host', 'evil.example')
      .set('X-Forwarded-Host', 'evil.example');
    expect(response.text).not.toContain('evil');
  });

  it('keeps the issuer as configured and does not double its trailing slash', async () => {
    const other = await startTestApp({
      JWT_ISSUER: 'https://id.example/realm/',
      TOKEN_ENDPOINT_REFRESH: 'on',
    });
    const { body } = await other.http.get(path).expect(200);
    // Both grants are supported, with and without TOKEN_ENDPOINT_REFRESH.
    expect(body.grant_types_supported).toEqual(['password', 'refresh_token']);
    expect(body.issuer).toBe('https://id.example/realm/');
    expect(body.jwks_uri).toBe('https://id.example/realm/jwks');
    await other.close();
  });

  it.each([path, '/jwks'])(
    'allows caching and any origin for %s and returns 304 for its ETag',
    async (url) => {
      const response = await app.http.get(url).set('Origin', 'https://app.example').expect(200);
      expect(response.headers['cache-control']).toBe(
        'public, max-age=300, stale-while-revalidate=60, stale-if-error=86400',
      );
      expect(response.headers['access-control-allow-origin']).toBe('*');
      expect(response.headers['x-content-type-options']).toBe('nosniff');
      expect(response.headers['x-powered-by']).toBeUndefined();
      const again = await app.http
        .get(url)
        .set('If-None-Match', response.headers.etag ?? '')
        .expect(304);
      expect(again.text).toBe('');
      await app.http.get(url).set('If-None-Match', '"other"').expect(200);
    },
  );

  it.each([path, '/jwks'])('supports HEAD and a preflight of %s, with and without a query', async (url) => {
    const head = await app.http.head(url).expect(200);
    expect(Number(head.headers['content-length'])).toBeGreaterThan(100);
    await app.http.get(`${url}?x=1`).expect(200);
    const preflight = await app.http
      .options(url)
      .set('Origin', 'https://app.example')
      .set('Access-Control-Request-Method', 'GET');
    expect(preflight.status).toBe(204);
    expect(preflight.headers['access-control-allow-origin']).toBe('*');
  });

  it.each([path, '/jwks'])('returns 405 with Allow for another method on %s', async (url) => {
    const response = await app.http.post(url).send({});
    expectProblem(response, 405, 'method_not_allowed');
    expect(response.headers.allow).toContain('GET');
  });
});
