import { createHash } from 'node:crypto';
import { connect } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { identityApi } from '@tessera/contracts';
import { rememberSecret } from '@tessera/testing/leaks';
import { expectProblem } from '@tessera/testing/problems';
import { anIdentity } from './support/identities.ts';
import { serviceToken, startTestApp, type TestApp } from './support/test-app.ts';

const previous = rememberSecret('the-previous-service-token-0123456789');
const id = '00000000-0000-4000-8000-000000000000';

describe('the service token of /internal', () => {
  let app: TestApp;
  beforeAll(async () => {
    app = await startTestApp({ SERVICE_TOKEN_PREVIOUS: previous });
  });
  afterAll(() => app.close());

  it.each([
    ['missing', undefined],
    ['empty', ''],
    ['wrong', 'another-service-token-0123456789abcdef'],
    ['a prefix', serviceToken.slice(0, -1)],
    ['longer', `${serviceToken}x`],
    ['in another case', serviceToken.toUpperCase()],
    ['over 512 characters', 'x'.repeat(513)],
  ])(
    'returns 403 on every path and method for a token that is %s, and stores nothing',
    async (_name, token) => {
      const requests = [
        app.http.post('/internal/identities').send(anIdentity()),
        app.http.get('/internal/identities'),
        app.http.get(`/internal/identities/${id}`),
        app.http.put(`/internal/identities/${id}`).send({}),
        app.http.delete(`/internal/identities/${id}`),
        app.http.get('/internal/identities/by-email/a@example.com'),
        app.http.get('/internal/identities/by-sso/lookup?provider=a&sso_id=b'),
        app.http.get('/internal/identities/not-a-uuid'),
        app.http.get('/internal/nothing-here'),
        app.http.get('/INTERNAL/identities'),
        app.http.patch('/internal/identities'),
        app.http.options('/internal/identities'),
      ];
      for (const request of requests) {
        const response = await (token === undefined ? request : request.set('X-Service-Token', token));
        expectProblem(response, 403, 'service_token_refused');
      }
      expect(await app.sql('SELECT 1 FROM identities')).toEqual([]);
      expect(await app.sql('SELECT 1 FROM audit_events')).toEqual([]);
    },
  );

  it('is required by every route under /internal', async () => {
    const routes = identityApi.operations.filter(({ path }) => path.startsWith('/internal'));
    expect(routes.length).toBeGreaterThan(8);
    for (const { method, path } of routes) {
      const address = `${app.url}${path.replaceAll(/:\w+/g, id)}`;
      const response = await fetch(address, { method });
      expect([method, path, response.status]).toEqual([method, path, 403]);
      expect(await response.json()).toMatchObject({ code: 'service_token_refused' });
    }
  });

  it('accepts the current and the previous value and logs the use of the previous one', async () => {
    for (const token of [serviceToken, previous]) {
      await app.http.get(`/internal/identities/${id}`).set('X-Service-Token', token).expect(404);
      const lines = app.log.lines.filter((line) => line.includes('previous service token used'));
      expect(lines).toHaveLength(token === previous ? 1 : 0);
    }
  });

  it('rejects two headers even if both are valid', async () => {
    const request = app.http.get(`/internal/identities/${id}`);
    request.set('X-Service-Token', [serviceToken, serviceToken] as never);
    expectProblem(await request, 403, 'service_token_refused');
  });

  it('is not accepted as a bearer token', async () => {
    await app.http
      .get(`/internal/identities/${id}`)
      .set('Authorization', `Bearer ${serviceToken}`)
      .expect(403);
  });

  it('is checked before the body is read', async () => {
    const port = Number(new URL(app.url).port);
    const answer = await new Promise<string>((resolve, reject) => {
      const socket = connect(port, '127.0.0.1', () => {
        // Sends the headers of a body, but not the body.
        socket.write(
          'POST /internal/identities HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 50000\r\n\r\n{',
        );
      });
      socket.once('data', (data) => {
        socket.destroy();
        resolve(String(data));
      });
      socket.once('error', reject);
    });
    expect(answer).toMatch(/^HTTP\/1\.1 403 /);
  });
});

describe('named service tokens', () => {
  const billing = rememberSecret('the-service-token-of-billing-0123456789');
  const support = rememberSecret('the-service-token-of-support-0123456789');
  let app: TestApp;
  beforeAll(async () => {
    app = await startTestApp({
      SERVICE_TOKENS: `# backends\n\nbilling=${digestOf(billing)}\nsupport=${digestOf(support).toUpperCase()}\n`,
    });
  });
  afterAll(() => app.close());

  it('are accepted, and the audit trail and the log name the backend of each change', async () => {
    const backends = [
      [billing, { backend: 'billing' }],
      [support, { backend: 'support' }],
      [serviceToken, {}],
    ] as const;
    for (const [token, expected] of backends) {
      const call = (method: 'delete' | 'get' | 'post' | 'put', path: string) =>
        app.http[method](path).set('X-Service-Token', token);
      const { body: identity } = await call('post', '/internal/identities').send(anIdentity()).expect(201);
      const path = `/internal/identities/${identity.id}`;
      await call('put', path).send({ username: 'other' }).expect(200);
      await call('post', `${path}/password`)
        .send({ current_password: 'wrong', new_password: 'a new long password' })
        .expect(422);
      await call('delete', `${path}/sessions`).expect(204);
      await call('delete', path).expect(204);
      const events = await app.sql('SELECT type, details FROM audit_events WHERE identity_id = $1', [
        identity.id,
      ]);
      expect(events.map(({ type }) => type).sort()).toEqual([
        'identity.created',
        'identity.deleted',
        'identity.password_refused',
        'identity.updated',
        'sessions.revoked',
      ]);
      for (const { details } of events) {
        const { backend } = details as { backend?: string };
        expect(backend === undefined ? {} : { backend }).toEqual(expected);
      }
      await call('get', path).expect(404);
      const lines = app.log.lines.map((line) => JSON.parse(line)).filter(({ msg }) => msg === 'request');
      expect(lines.at(-1)).toMatchObject({ status: 404, ...expected });
      expect('backend' in lines.at(-1)).toBe('backend' in expected);
    }
  });

  it('are refused if only the digest is known', async () => {
    for (const token of [digestOf(billing), 'billing', `billing=${digestOf(billing)}`]) {
      const request = app.http.get('/internal/identities').set('X-Service-Token', token);
      expectProblem(await request, 403, 'service_token_refused');
    }
  });
});

function digestOf(token: string): string {
  return createHash('sha256').update(token).digest('hex');
}

describe('the order of checks', () => {
  let app: TestApp;
  beforeAll(async () => {
    app = await startTestApp();
  });
  afterAll(() => app.close());
  const authorized = (method: 'get' | 'post' | 'put' | 'patch' | 'delete', path: string) =>
    app.http[method](path).set('X-Service-Token', serviceToken);

  it('is service token, route and method, media type, size and syntax, validation, look-up, conflict', async () => {
    const bad = { type: 'text/plain', body: 'not json' };
    const unauthorized = await app.http.post('/internal/nothing').type(bad.type).send(bad.body);
    expectProblem(unauthorized, 403, 'service_token_refused');
    expectProblem(
      await authorized('post', '/internal/nothing').type(bad.type).send(bad.body),
      404,
      'not_found',
    );
    const method = await authorized('patch', '/internal/identities').type(bad.type).send(bad.body);
    expectProblem(method, 405, 'method_not_allowed');
    expect(method.headers.allow).toBe('GET, HEAD, OPTIONS, POST');
    expectProblem(
      await authorized('post', '/internal/identities').type(bad.type).send(bad.body),
      415,
      'unsupported_media_type',
    );
    const form = await authorized('post', '/internal/identities').type('form').send({ email: 'x' });
    expectProblem(form, 415, 'unsupported_media_type');
    const large = await authorized('post', '/internal/identities').send({ username: 'x'.repeat(70_000) });
    expectProblem(large, 413, 'body_too_large');
    const syntax = await authorized('put', '/internal/identities/not-a-uuid').type('json').send('{');
    expectProblem(syntax, 400, 'malformed_body');
    const invalid = await authorized('put', `/internal/identities/${id}`).send({ username: '' });
    expectProblem(invalid, 422, 'validation_failed');
    expectProblem(
      await authorized('put', `/internal/identities/${id}`).send({ username: 'x' }),
      404,
      'identity_not_found',
    );
  });

  it.each(['[]', '"text"', 'null', '7', 'true'])(
    'returns 422 for the JSON value %s, which is not an object',
    async (body) => {
      const response = await authorized('post', '/internal/identities')
        .type('json')
        .send(body)
        .serialize((raw) => raw);
      expectProblem(response, 422, 'validation_failed');
    },
  );

  it.each(['/tokens', '/.well-known', '/internals', '/token/refresh/x'])(
    'returns 404 for %s',
    async (path) => {
      expectProblem(await app.http.get(path), 404, 'not_found');
    },
  );
});

describe('every response', () => {
  let app: TestApp;
  beforeAll(async () => {
    app = await startTestApp();
  });
  afterAll(() => app.close());

  it('has security headers and does not name the framework', async () => {
    for (const path of ['/userinfo', '/jwks', '/healthz', '/nothing']) {
      const { headers } = await app.http.get(path);
      expect(headers).toMatchObject({
        'x-content-type-options': 'nosniff',
        'referrer-policy': 'no-referrer',
        'strict-transport-security': expect.stringContaining('max-age='),
      });
      expect(headers['content-security-policy']).toContain(`default-src 'none'`);
      expect(headers['x-powered-by']).toBeUndefined();
    }
  });

  it('has the request id of the caller if it is well-formed, otherwise a new one, also in the log', async () => {
    const kept = await app.http.get('/userinfo').set('X-Request-Id', 'trace-1.a_B');
    expect(kept.headers['x-request-id']).toBe('trace-1.a_B');
    expect(kept.body.request_id).toBe('trace-1.a_B');
    const replaced = await app.http.get('/userinfo').set('X-Request-Id', 'x'.repeat(65));
    expect(replaced.headers['x-request-id']).toMatch(/^[0-9a-f-]{36}$/);
    expect(app.log.lines.join('')).toContain('"request_id":"trace-1.a_B"');
  });

  it('is logged with the template of the route, without the e-mail in the path', async () => {
    await app.http
      .get('/internal/identities/by-email/secret.person@example.com')
      .set('X-Service-Token', serviceToken)
      .expect(404);
    const log = app.log.lines.join('');
    expect(log).toContain('/internal/identities/by-email/:email');
    expect(log).not.toContain('secret.person');
  });
});
