import { randomUUID } from 'node:crypto';
import { connect } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { expectProblem } from '@tessera/testing/problems';
import type { Response, Test } from 'supertest';
import { aPerson, type TestPerson } from './support/people.ts';
import { startTestApp, type TestApp } from './support/test-app.ts';

/** Headers that differ between responses. */
const ownHeaders = ['date', 'x-request-id', 'connection', 'keep-alive', 'ratelimit'];
const limits = {
  RATE_LIMIT_READS_PER_MINUTE: '1000',
  RATE_LIMIT_WRITES_PER_MINUTE: '1000',
  RATE_LIMIT_SYNCS_PER_MINUTE: '1000',
};

let app: TestApp;
let withOrigins: TestApp;
let ann: TestPerson;
let issue: string;
beforeAll(async () => {
  app = await startTestApp(limits);
  withOrigins = await startTestApp({ ...limits, CORS_ORIGINS: 'https://app.test' }, app);
  ann = await aPerson(app);
  issue = (await ann.post('/api/v1/issues/', { title: 'Printer does not print' }).expect(201)).body.id;
});
afterAll(async () => {
  await withOrigins.close();
  await app.close();
});

/** Paths match in any case. */
type Spelling = '/api/v1' | '/API/v1';

const send = (
  method: 'get' | 'head' | 'post' | 'options' | 'delete',
  path: string,
  to: TestApp = app,
): Test => to.http[method](path).set({ Authorization: `Bearer ${ann.token}`, 'Accept-Encoding': 'identity' });

const requests: [string, (base: Spelling) => Test][] = [
  ['GET an issue', (base) => send('get', `${base}/issues/${issue}/`)],
  ['GET an issue by its key', (base) => send('get', `${base}/issues/ISS-1`)],
  ['GET an issue that is known', (base) => send('get', `${base}/issues/${issue}/`).set('If-None-Match', '*')],
  ['GET an issue that is not there', (base) => send('get', `${base}/issues/${randomUUID()}/`)],
  ['GET an id that names no issue', (base) => send('get', `${base}/issues/x-y/`)],
  ['HEAD an issue', (base) => send('head', `${base}/issues/${issue}/`)],
  ['GET a list', (base) => send('get', `${base}/issues/`)],
  ['HEAD a list', (base) => send('head', `${base}/issues/`)],
  ['GET an envelope', (base) => send('get', `${base}/issue-pages/?page_size=1&search=print%65r`)],
  ['GET a list with a bad query', (base) => send('get', `${base}/issues/?limit=x&status=OPEN&status=CLOSED`)],
  ['GET with origins allowed', (base) => send('get', `${base}/issues/${issue}/`, withOrigins)],
  [
    'GET of another origin',
    (base) => send('get', `${base}/issues/`, withOrigins).set('Origin', 'https://app.test'),
  ],
  ['GET without a token', (base) => app.http.get(`${base}/issues/`)],
  ['GET with a bad token', (base) => app.http.get(`${base}/issues/`).auth('x', { type: 'bearer' })],
  ['GET an unknown path', (base) => send('get', `${base}/nothing/`)],
  ['GET an unknown path without a token', (base) => app.http.get(`${base}/nothing/`)],
  ['DELETE an issue', (base) => send('delete', `${base}/issues/${issue}/`)],
  ['OPTIONS of a list', (base) => send('options', `${base}/issues/`)],
  ['OPTIONS of an issue', (base) => send('options', `${base}/issues/${issue}/`)],
  ['POST an issue that has no title', (base) => send('post', `${base}/issues/`).send({})],
  ['POST text', (base) => send('post', `${base}/issues/`).type('text/plain').send('x')],
  ['POST a body that is not JSON', (base) => send('post', `${base}/issues/`).type('json').send('{')],
  ['POST without a token', (base) => app.http.post(`${base}/issues/`).send({ title: 'x' })],
];

describe('another spelling of a path', () => {
  it.each(requests)('gets the same response to %s', async (_name, request) => {
    const [usual, other] = [await request('/api/v1'), await request('/API/v1')];
    expect(essence(usual)).toEqual(essence(other));
  });

  it('gets the same response to POST an issue', async () => {
    const create = (base: Spelling) => send('post', `${base}/issues/`).send({ title: 'Twice' }).expect(201);
    const [usual, other] = [await create('/api/v1'), await create('/API/v1')];
    expect(Object.keys(usual.headers).sort()).toEqual(Object.keys(other.headers).sort());
    const { id, key, number, created_at, updated_at, comments_url, ...shown } = usual.body;
    expect(other.body).toMatchObject(shown);
  });

  it('gets the same response with and without a trailing slash', async () => {
    for (const path of ['/issues', `/issues/${issue}`, `/issues/${issue}/comments`, '/users/me']) {
      const [without, withSlash] = [
        await send('get', `/api/v1${path}`),
        await send('get', `/api/v1${path}/`),
      ];
      expect(essence(without)).toEqual(essence(withSlash));
      expect(without.status).toBe(200);
    }
  });
});

describe('every path of the API', () => {
  it('returns the headers of GET without a body to HEAD', async () => {
    for (const path of [`/issues/${issue}/`, '/issues/', '/users/me/']) {
      const [get, head] = [await send('get', `/api/v1${path}`), await send('head', `/api/v1${path}`)];
      expect(essence(head)).toEqual({ ...essence(get), text: '' });
    }
  });

  it('returns 401 for an unknown path without a token, and 404 with one, counted as a read', async () => {
    expectProblem(await app.http.get('/api/v1/nothing/'), 401, 'unauthorized');
    for (const method of ['get', 'post', 'options'] as const) {
      const response = await send(method, '/api/v1/nothing/');
      expectProblem(response, 404, 'not_found');
      expect(response.headers['ratelimit-policy']).toBe('"reads";q=1000;w=60');
    }
  });

  it('returns 405 with Allow for an unsupported method, after checking the token', async () => {
    expectProblem(await app.http.delete(`/api/v1/issues/${issue}/`), 401, 'unauthorized');
    const response = await send('delete', `/api/v1/issues/${issue}/`);
    expectProblem(response, 405, 'method_not_allowed');
    expect(response.headers.allow).toBe('GET, HEAD, OPTIONS, PATCH, PUT');
    const options = await send('options', `/api/v1/issues/${issue}/`).expect(204);
    expect(options.headers.allow).toBe('GET, HEAD, OPTIONS, PATCH, PUT');
  });

  it('describes the list to OPTIONS', async () => {
    // A preflight has an Origin.
    await send('options', '/api/v1/issues/').set('Access-Control-Request-Method', 'PUT').expect(200);
    const response = await send('options', '/api/v1/issues/').expect(200);
    expect(response.headers.allow).toBe('GET, HEAD, OPTIONS, POST');
    expect(response.body.name).toBe('Issues');
  });

  it.each(['/issues/', '/issues/ISS-1/sync/', '/nothing/'])(
    'answers a preflight of %s without a token, and allows only configured origins',
    async (path) => {
      const preflight = (origin: string, to: TestApp) =>
        to.http
          .options(`/api/v1${path}`)
          .set('Origin', origin)
          .set('Access-Control-Request-Method', 'POST')
          .set('Access-Control-Request-Headers', 'authorization')
          .expect(204);
      const allowed = await preflight('https://app.test', withOrigins);
      expect(allowed.headers).toMatchObject({
        'access-control-allow-origin': 'https://app.test',
        'access-control-allow-methods': 'GET,HEAD,POST,PUT,PATCH,DELETE,OPTIONS',
        'access-control-allow-headers': 'authorization',
        'access-control-max-age': '600',
      });
      const other = await preflight('https://other.test', withOrigins);
      expect(other.headers).not.toHaveProperty('access-control-allow-origin');
      const { headers } = await preflight('https://app.test', app);
      expect(Object.keys(headers).filter((name) => name.startsWith('access-control'))).toEqual([]);
    },
  );

  it('lets configured origins read every response, refusals included, and no other origin', async () => {
    const exposed =
      'Link,X-Total-Count,X-Unread-Count,ETag,Location,Retry-After,X-Request-Id,Idempotency-Replayed,X-Ignored-Fields,Preference-Applied,RateLimit,RateLimit-Policy';
    const paths = ['/issues/', '/issues/x-y/', '/nothing/', '/integrations/gitea/webhook/'];
    for (const path of paths) {
      const own = await send('get', `/api/v1${path}`, withOrigins).set('Origin', 'https://app.test');
      expect(own.headers).toMatchObject({
        'access-control-allow-origin': 'https://app.test',
        'access-control-expose-headers': exposed,
        vary: expect.stringMatching(/^Origin\b/),
        'cache-control': path === '/issues/' ? 'private, no-cache' : 'no-store',
      });
      const other = await send('get', `/api/v1${path}`, withOrigins).set('Origin', 'https://other.test');
      expect(other.headers).not.toHaveProperty('access-control-allow-origin');
      expect(other.headers.vary).toMatch(/^Origin\b/);
    }
  });
});

describe('an absolute-form target (RFC 9112 3.2.2)', () => {
  it('has the same limits and idempotency keys as the path alone', async () => {
    const headers = { 'Idempotency-Key': 'a-key-for-both-forms' };
    const first = await send('post', '/api/v1/issues/').set(headers).send({ title: 'Once' }).expect(201);
    const again = await sendRaw('POST', 'http://host/api/v1/issues?x=1', headers, { title: 'Once' });
    expect(again).toMatch(/^HTTP\/1.1 201 /);
    expect(again).toContain('Idempotency-Replayed: true');
    expect(again).toContain(first.body.id);
    expect(again).toContain('RateLimit-Policy: "writes";q=1000;w=60');
    const sync = await sendRaw('POST', 'http://host/api/v1/issues/ISS-1/sync/', {});
    expect(sync).toContain('"code":"tracker_not_configured"');
    expect(sync).toContain('RateLimit-Policy: "syncs";q=1000;w=60');
    const found = await sendRaw('GET', 'http://host/api/v1/issues/?limit=1&title=x', {});
    expect(found).toMatch(/^HTTP\/1.1 422 /);
    expect(found).toContain('"field":"title"');
  });
});

/** Sends a request target unchanged. */
async function sendRaw(method: string, target: string, headers: Record<string, string>, body?: object) {
  const socket = connect(Number(new URL(app.url).port), '127.0.0.1');
  const text = body === undefined ? '' : JSON.stringify(body);
  const fields = {
    ...headers,
    Host: 'host',
    Authorization: `Bearer ${ann.token}`,
    'Content-Type': 'application/json',
    'Content-Length': String(text.length),
    Connection: 'close',
  };
  const lines = Object.entries(fields).map(([name, value]) => `${name}: ${value}`);
  socket.write(`${[`${method} ${target} HTTP/1.1`, ...lines].join('\r\n')}\r\n\r\n${text}`);
  const chunks = await socket.toArray();
  return Buffer.concat(chunks).toString();
}

function essence({ status, headers, text = '' }: Response) {
  const named = Object.entries(headers).filter(([name]) => !ownHeaders.includes(name));
  return { status, headers: Object.fromEntries(named), text: text.replace(/"request_id":"[^"]*"/, '') };
}
