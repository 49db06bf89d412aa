import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { identityApi } from '@tessera/contracts';
import { readApiDocument } from '@tessera/service-kit';
import { Ajv2020 } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import { createRoutes } from '../src/app.ts';
import { createIdentity, signIn } from './support/identities.ts';
import { internalClient } from './support/internal-client.ts';
import { serviceToken, startTestApp, type TestApp } from './support/test-app.ts';

describe('the OpenAPI document', () => {
  let app: TestApp;
  beforeAll(async () => {
    app = await startTestApp({ HOSTED_SIGN_IN: 'on' });
  });
  afterAll(() => app.close());

  it('has exactly one route for each operation', () => {
    const bound = createRoutes(app.dependencies).flatMap(({ operation }) => operation.id ?? []);
    expect(bound.toSorted()).toEqual(identityApi.operations.map(({ id }) => id).toSorted());
  });

  it('is served as OpenAPI 3.1 with an interactive page', async () => {
    const { body } = await app.http.get('/api/openapi.json').expect(200);
    expect((await app.http.get('/openapi.json').expect(200)).body).toEqual(body);
    expect(body.openapi).toBe('3.1.0');
    expect(body).toEqual(readApiDocument('identity'));
    for (const path of ['/api/docs', '/api/docs/', '/docs', '/docs/']) {
      const page = await app.http.get(path).expect(200);
      expect(page.text).toContain('<title>Tessera identity</title>');
      expect(page.text).not.toMatch(/https?:\/\//);
    }
  });

  it('has an entry for each code, to which the type of an error refers', async () => {
    const { body } = await app.http.get('/internal/identities');
    const type = new URL(body.type);
    expect(type.origin).toBe(app.dependencies.config.issuer);
    const page = await app.http.get(type.pathname).set('Accept', 'text/html').expect(200);
    expect(page.text).toContain('<code>service_token_refused</code>');
  });

  it('matches real responses', async () => {
    const document = readApiDocument('identity');
    const ajv = new Ajv2020({ strict: false });
    addFormats.default(ajv);
    ajv.addSchema(document, 'api');
    const expectValid = (path: string, method: string, status: number, body: unknown) => {
      const pointer = `#/paths/${path.replaceAll('/', '~1').replaceAll('{', '%7B').replaceAll('}', '%7D')}/${method}/responses/${status}`;
      const validate = ajv.compile({ $ref: `api${pointer}/content/application~1json/schema` });
      expect([path, status, validate(body), validate.errors]).toEqual([path, status, true, null]);
    };
    const { identity, password } = await createIdentity(app);
    expectValid('/internal/identities', 'post', 201, identity);
    const tokens = await signIn(app, identity.email, password);
    expectValid('/token', 'post', 200, tokens);
    const userInfo = await app.http.get('/userinfo').set('Authorization', `Bearer ${tokens.access_token}`);
    expectValid('/userinfo', 'get', 200, userInfo.body);
    expectValid('/jwks', 'get', 200, (await app.http.get('/jwks')).body);
    expectValid(
      '/.well-known/openid-configuration',
      'get',
      200,
      (await app.http.get('/.well-known/openid-configuration')).body,
    );
    const internal = internalClient(() => app);
    const sessions = await internal('get', `/internal/identities/${identity.id}/sessions`);
    expectValid('/internal/identities/{id}/sessions', 'get', 200, sessions.body);
    for (const token of [tokens.access_token, tokens.refresh_token, 'nonsense']) {
      const { body } = await internal('post', '/internal/introspect').send({ token });
      expectValid('/internal/introspect', 'post', 200, body);
    }
    const events = await internal('get', '/internal/audit-events');
    expect(events.body.length).toBeGreaterThan(1);
    expectValid('/internal/audit-events', 'get', 200, events.body);
    const invalid = await app.http.post('/internal/identities').set('X-Service-Token', serviceToken).send({});
    expect(() => expectValid('/internal/identities', 'post', 201, invalid.body)).toThrow();
  });
});
