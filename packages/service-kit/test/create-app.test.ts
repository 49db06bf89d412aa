import { createServer, type IncomingMessage, type Server } from 'node:http';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { ProblemCode } from '@tessera/contracts';
import { z } from 'zod';
import {
  type Access,
  createHttpServer,
  documentRoute,
  everyone,
  guard,
  type Handler,
  originOf,
  ProblemError,
  prepareDocument,
  type Route,
  route,
} from '../src/index.ts';
import { exchange, listenOnFreePort } from './support/raw-http.ts';
import { getRoute, startApp, testOperation } from './support/test-app.ts';

const origin = 'https://app.test';

/** Callers by their `X-User` header, readable from pages of `https://app.test`. */
const users: Access<string> = {
  identify: (request) => {
    const user = request.headers['x-user'];
    if (typeof user === 'string') return user;
    throw new ProblemError({
      status: 401,
      code: 'unauthorized',
      detail: 'X-User is required.',
      headers: { 'WWW-Authenticate': 'Test' },
    });
  },
  crossOrigin: { origins: [origin], methods: ['GET', 'POST'], exposedHeaders: ['X-Request-Id', 'Allow'] },
  headers: { Vary: 'Authorization' },
};

function refuse(status: number, code: ProblemCode): never {
  throw new ProblemError({ status, code, detail: 'Refused.' });
}

const limit = {
  request: (user: string) => {
    if (user === 'busy') refuse(429, 'too_many_requests');
  },
};

const authorize = (user: string) => {
  if (user === 'guest') refuse(403, 'forbidden');
};

const thing = testOperation({ path: '/api/things/:id/' });
const getThing: Handler<typeof thing, string> = ({ request }) => ({ status: 200, body: request.params });
const removal = testOperation({
  method: 'DELETE',
  path: '/api/things/:id/',
  responses: { 204: { description: 'Removed.' } },
});
const removeThing: Handler<typeof removal, string> = () => ({ status: 204 });
const creation = testOperation({
  method: 'POST',
  path: '/api/things/',
  body: { schema: z.object({ title: z.string() }) },
});
const createThing: Handler<typeof creation, string> = ({ body }) => ({ status: 200, body });
const own = testOperation({ path: '/api/things/mine/' });
const getOwnThing: Handler<typeof own, string> = ({ actor }) => ({ status: 200, body: { of: actor } });
const metadata = testOperation({ method: 'OPTIONS', path: '/api/described/' });
const describeThings: Handler<typeof metadata, string> = () => ({ status: 200, body: { fields: [] } });

const routes: Route[] = [
  route(thing, { access: users, limit, authorize }, getThing),
  route(removal, { access: users }, removeThing),
  route(own, { access: users }, getOwnThing),
  route(creation, { access: users, limit, authorize, body: { limitBytes: 100 } }, createThing),
  route(metadata, { access: users }, describeThings),
  getRoute('/healthz'),
  getRoute('/broken', () => {
    throw new Error('secret-internals');
  }),
  getRoute('/origin', ({ request }) => ({ status: 200, body: originOf(request) })),
  documentRoute({ method: 'GET', path: '/document' }, prepareDocument({}), {
    ...everyone,
    crossOrigin: { origins: '*', methods: ['GET', 'HEAD'] },
  }),
];

const options = { guards: { '/api': guard({ access: users, limit }) } };
const { app, client, accessLines } = startApp(routes, options);
const ann = { 'X-User': 'ann' };

let server: Server;
let port: number;

beforeAll(async () => {
  server = createServer(app);
  port = await listenOnFreePort(server);
});

afterAll(() => {
  server.close();
});

/** Sends a request target exactly as given, which supertest would normalise. */
async function send(method: string, target: string, user = '') {
  const credential = user === '' ? '' : `X-User: ${user}\r\n`;
  const answer = await exchange(
    port,
    `${method} ${target} HTTP/1.1\r\nHost: a\r\n${credential}Connection: close\r\n\r\n`,
  );
  const [head = '', body = ''] = answer.split(/\r\n\r\n(.*)/s);
  return { status: Number(head.split(' ')[1]), head, body };
}

describe('routing', () => {
  it.each(['GET', 'HEAD', 'POST', 'PUT', 'DELETE', 'OPTIONS', 'TRACE', 'PROPFIND', 'M-SEARCH'])(
    '404s %s for a path without a route',
    async (method) => {
      const { status, body } = await send(method, '/nothing/here');
      expect(status).toBe(404);
      if (method === 'HEAD') expect(body).toBe('');
      else expect(JSON.parse(body)).toMatchObject({ status: 404, code: 'not_found' });
    },
  );

  it.each([
    ['PUT', '/api/things/7', 'DELETE, GET, HEAD, OPTIONS'],
    ['TRACE', '/api/things/7', 'DELETE, GET, HEAD, OPTIONS'],
    ['PROPFIND', '/api/things/7/', 'DELETE, GET, HEAD, OPTIONS'],
    ['DELETE', '/api/things/mine', 'GET, HEAD, OPTIONS'],
    ['PUT', '/API/Things/Mine/', 'GET, HEAD, OPTIONS'],
    ['GET', '/api/things', 'OPTIONS, POST'],
    ['HEAD', '/api/things', 'OPTIONS, POST'],
    ['GET', '/API/Things/', 'OPTIONS, POST'],
    ['POST', '/api/described', 'OPTIONS'],
    ['DELETE', '/healthz', 'GET, HEAD, OPTIONS'],
    ['POST', '/document', 'GET, HEAD, OPTIONS'],
  ])('405s %s %s with the methods of the path in Allow', async (method, path, allow) => {
    const { status, head, body } = await send(method, path, 'ann');
    expect([status, head]).toEqual([405, expect.stringMatching(`\r\nAllow: ${allow}\r\n`)]);
    if (method === 'HEAD') expect(body).toBe('');
    else expect(JSON.parse(body)).toMatchObject({ status: 405, code: 'method_not_allowed' });
  });

  it.each([
    ['/api/things/7', 'DELETE, GET, HEAD, OPTIONS'],
    ['/api/things/', 'OPTIONS, POST'],
    ['/healthz', 'GET, HEAD, OPTIONS'],
  ])('answers OPTIONS %s with 204 and Allow', async (path, allow) => {
    const { status, head, body } = await send('OPTIONS', path, 'ann');
    expect([status, head]).toEqual([204, expect.stringMatching(`\r\nAllow: ${allow}\r\n`)]);
    expect(body).toBe('');
  });

  it.each(['/api/things/mine', '/API/things/Mine/'])(
    'prefers a path without parameters for %s, in any order of the routes',
    async (target) => {
      const { status, body } = await send('GET', target, 'ann');
      expect([status, JSON.parse(body)]).toEqual([200, { of: 'ann' }]);
    },
  );

  it('answers OPTIONS with the handler when the path has one', async () => {
    const { status, body } = await send('OPTIONS', '/api/described/', 'ann');
    expect([status, JSON.parse(body)]).toEqual([200, { fields: [] }]);
  });

  it('responds 400 to a malformed body during authentication', async () => {
    const identify = async () => {
      await new Promise((resolve) => setTimeout(resolve, 20));
      return 'ann';
    };
    const slow = startApp([route(creation, { access: { ...users, identify } }, createThing)]);
    const slowServer = createHttpServer(slow.app, slow.log.logger, { app: slow.app });
    const request = 'POST /api/things/ HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n';
    const answer = await exchange(
      await listenOnFreePort(slowServer),
      `${request}Transfer-Encoding: chunked\r\n\r\nzz\r\n`,
    );
    expect(answer).toMatch(/^HTTP\/1\.1 400 [\s\S]*malformed_request/);
    slowServer.close();
  });

  it('answers HEAD on a GET route with its headers and without a body', async () => {
    const [get, head] = [
      await send('GET', '/api/things/7', 'ann'),
      await send('HEAD', '/api/things/7', 'ann'),
    ];
    expect([head.status, head.body]).toEqual([200, '']);
    expect(head.head).toContain(`\r\nContent-Length: ${get.body.length}\r\n`);
  });

  it.each(['/api/things/7', '/api/things/7/', '/API/THINGS/7', 'http://elsewhere.test/api/things/7/'])(
    'serves the same route for the target %s',
    async (target) => {
      const { status, body } = await send('GET', target, 'ann');
      expect([status, JSON.parse(body)]).toEqual([200, { id: '7' }]);
    },
  );

  it.each(['//api/things/7', '/api//things/7', '/api/things/7/more', '/api/things/%2e%2e/x'])(
    '404s the target %s',
    async (target) => {
      expect((await send('GET', target, 'ann')).status).toBe(404);
    },
  );

  it.each(['GET', 'POST', 'OPTIONS'])('400s %s with a parameter that cannot be decoded', async (method) => {
    const { status, body } = await send(method, '/api/things/%E0%A4%A', 'ann');
    expect([status, JSON.parse(body).code]).toEqual([400, 'malformed_path']);
  });
});

describe('guards', () => {
  it.each([
    ['GET', '/api/nothing'],
    ['POST', '/API/nothing/'],
    ['GET', '/api'],
    ['OPTIONS', '/api/nothing'],
    ['GET', 'http://elsewhere.test/api/nothing'],
    ['GET', '/api/things/%zz'],
    ['PUT', '/api/things/7'],
    ['OPTIONS', '/api/things/7'],
  ])('401s %s %s before it reveals whether the path exists', async (method, target) => {
    const { status, head } = await send(method, target);
    expect([status, head]).toEqual([401, expect.stringContaining('\r\nWWW-Authenticate: Test\r\n')]);
  });

  it.each([
    ['GET', '/api/nothing'],
    ['PUT', '/api/things/7'],
    ['GET', '/api/things/%zz'],
  ])('counts %s %s against the rate limit', async (method, target) => {
    expect((await send(method, target, 'busy')).status).toBe(429);
  });

  it('404s an unknown path for an authenticated caller', async () => {
    expect((await send('GET', '/api/nothing', 'ann')).status).toBe(404);
  });

  it.each(['/apis', '/other/api', '/'])('does not apply to %s', async (target) => {
    expect((await send('GET', target)).status).toBe(404);
  });
});

describe('CORS', () => {
  const preflight = { Origin: origin, 'Access-Control-Request-Method': 'POST' };

  it.each(['/api/things/', '/api/things/7', '/api/nothing', '/api/things/%zz', '/api/described/'])(
    'answers a preflight for %s without a credential',
    async (path) => {
      const { status, headers, text } = await client.options(path).set(preflight);
      expect([status, text]).toEqual([204, '']);
      expect(headers).toMatchObject({
        'access-control-allow-origin': origin,
        'access-control-allow-methods': 'GET,POST,OPTIONS',
        'access-control-max-age': '600',
        vary: expect.stringContaining('Origin'),
      });
    },
  );

  it('answers a preflight from another origin without permission', async () => {
    const { status, headers } = await client
      .options('/api/things/')
      .set({ ...preflight, Origin: 'https://other.test' });
    expect(status).toBe(204);
    expect(headers).not.toHaveProperty('access-control-allow-origin');
  });

  it('answers preflights without permission when no origin is configured', async () => {
    const access = { ...users, crossOrigin: { origins: [], methods: ['GET'] } };
    const { client } = startApp([route(thing, { access }, getThing)], {
      guards: { '/api': guard({ access }) },
    });
    for (const path of ['/api/things/7', '/api/nothing']) {
      const { status, headers } = await client.options(path).set(preflight);
      expect(status).toBe(204);
      expect(Object.keys(headers).filter((name) => name.startsWith('access-control'))).toEqual([]);
    }
  });

  it('treats a preflight for a route without CORS as any other OPTIONS', async () => {
    const { status, headers } = await client.options('/healthz').set(preflight);
    expect([status, headers.allow]).toEqual([204, 'GET, HEAD, OPTIONS']);
    expect(headers).not.toHaveProperty('access-control-allow-origin');
    expect((await client.options('/nothing').set(preflight)).status).toBe(404);
  });

  it.each<[string, number, string, string, Record<string, string>]>([
    ['a response', 200, 'get', '/api/things/7', ann],
    ['a missing credential', 401, 'get', '/api/things/7', {}],
    ['a missing right', 403, 'get', '/api/things/7', { 'X-User': 'guest' }],
    ['OPTIONS', 204, 'options', '/api/things/', ann],
    ['OPTIONS with a handler', 200, 'options', '/api/described/', ann],
    ['OPTIONS without a credential', 401, 'options', '/api/things/', {}],
    ['an unknown path under a guard', 404, 'get', '/api/nothing', ann],
    ['an unsupported method', 405, 'put', '/api/things/7', ann],
    ['a malformed path', 400, 'get', '/api/things/%zz', ann],
    ['an unsupported media type', 415, 'post', '/api/things/', { ...ann, 'Content-Type': 'text/plain' }],
    ['invalid input', 422, 'post', '/api/things/', { ...ann, 'Content-Type': 'application/json' }],
    ['an exceeded rate limit', 429, 'get', '/api/things/7', { 'X-User': 'busy' }],
  ])('lets a page of a configured origin read %s (%d)', async (_what, status, method, path, headers) => {
    const request = client[method as 'get'](path).set({ ...headers, Origin: origin });
    const response = await (method === 'post' ? request.send('{}') : request);
    expect(response.status).toBe(status);
    expect(response.headers).toMatchObject({
      'access-control-allow-origin': origin,
      'access-control-expose-headers': 'X-Request-Id,Allow',
    });
  });

  it('varies by Origin in responses to requests without one, so that caches keep them apart', async () => {
    const { headers } = await client.get('/api/things/7').set(ann);
    expect(headers.vary).toContain('Origin');
    expect(headers).not.toHaveProperty('access-control-allow-origin');
  });

  it('lets every origin read a document that is public, and no origin a route without CORS', async () => {
    const read = async (path: string) => (await client.get(path).set('Origin', 'https://other.test')).headers;
    expect(await read('/document')).toMatchObject({ 'access-control-allow-origin': '*' });
    expect(await read('/healthz')).not.toHaveProperty('access-control-allow-origin');
  });
});

describe('the pipeline', () => {
  const everyKind: [string, number, string, string, string][] = [
    ['a handled request', 200, 'GET', '/api/things/7', 'ann'],
    ['HEAD', 200, 'HEAD', '/api/things/7', 'ann'],
    ['a response without a body', 204, 'DELETE', '/api/things/7', 'ann'],
    ['OPTIONS', 204, 'OPTIONS', '/api/things/7', 'ann'],
    ['an OPTIONS handler', 200, 'OPTIONS', '/api/described/', 'ann'],
    ['a document', 200, 'GET', '/document', ''],
    ['a probe', 200, 'GET', '/healthz', ''],
    ['a malformed path', 400, 'GET', '/api/things/%zz', 'ann'],
    ['a missing credential', 401, 'GET', '/api/things/7', ''],
    ['a missing right', 403, 'GET', '/api/things/7', 'guest'],
    ['an unknown path', 404, 'GET', '/nothing', ''],
    ['an unknown path under a guard', 404, 'GET', '/api/nothing', 'ann'],
    ['an unsupported method', 405, 'PUT', '/api/things/7', 'ann'],
    ['invalid input', 422, 'POST', '/api/things/', 'ann'],
    ['an exceeded rate limit', 429, 'POST', '/api/things/', 'busy'],
    ['a failure', 500, 'GET', '/broken', ''],
  ];

  it.each(everyKind)(
    'gives %s (%d) its request id, security headers and log line',
    async (_what, status, method, target, user) => {
      const response = await send(method, target, user);
      expect(response.status).toBe(status);
      const headers = new Map(
        response.head.split('\r\n').map((line) => {
          const [name = '', value = ''] = line.split(/: (.*)/s);
          return [name.toLowerCase(), value];
        }),
      );
      expect(Object.fromEntries(headers)).toMatchObject({
        'content-security-policy': "default-src 'none';frame-ancestors 'none'",
        'cross-origin-resource-policy': 'same-origin',
        'x-content-type-options': 'nosniff',
        'x-frame-options': 'DENY',
        'x-request-id': expect.stringMatching(/^[0-9a-f-]{36}$/),
      });
      expect(headers.has('x-powered-by')).toBe(false);
      expect(accessLines().filter((line) => line.request_id === headers.get('x-request-id'))).toEqual([
        expect.objectContaining({ method, status }),
      ]);
    },
  );

  it.each<[string, number, string, string, string]>([
    ['/api/things/:id/', 200, 'GET', '/api/things/7', 'ann'],
    ['/api/things/:id/', 400, 'GET', '/api/things/%zz', 'ann'],
    ['/api/things/:id/', 401, 'GET', '/api/things/7', ''],
    ['/api/things/:id/', 403, 'GET', '/api/things/7', 'guest'],
    ['/api/things/:id/', 405, 'PUT', '/api/things/7', 'ann'],
    ['/api/things/', 422, 'POST', '/API/Things', 'ann'],
    ['/api/things/', 429, 'POST', '/api/things/', 'busy'],
    ['/broken', 500, 'GET', '/broken', ''],
  ])('logs %s as the route of a %d', async (path, status, method, target, user) => {
    const { head } = await send(method, target, user);
    const id = /\r\nX-Request-Id: (\S+)/.exec(head)?.[1];
    expect(accessLines().find((line) => line.request_id === id)).toMatchObject({ route: path, status });
  });

  it.each([
    ['a large body', 'x'.repeat(101), '413 Content Too Large'],
    ['invalid input', '{}', '422 Unprocessable Content'],
  ])('writes the title of the problem into the status line for %s', async (_what, body, status) => {
    const head = `Host: a\r\nX-User: ann\r\nContent-Type: application/json\r\nContent-Length: ${body.length}`;
    const answer = await exchange(
      port,
      `POST /api/things/ HTTP/1.1\r\n${head}\r\nConnection: close\r\n\r\n${body}`,
    );
    expect(answer.split('\r\n')[0]).toBe(`HTTP/1.1 ${status}`);
    expect(answer).toContain(`"title":"${status.slice(4)}"`);
  });

  it('keeps the headers of the access on errors', async () => {
    for (const user of ['ann', 'guest', 'busy']) {
      const { headers } = await client.get('/api/things/7').set('X-User', user);
      expect(headers.vary).toContain('Authorization');
    }
  });

  it('reports the client address as far as proxies are trusted', async () => {
    const forwarded = { 'X-Forwarded-For': '192.0.2.1, 198.51.100.7' };
    expect((await client.get('/origin').set(forwarded)).body.ip).toContain('127.0.0.1');
    for (const [trustProxy, ip] of [
      [1, '198.51.100.7'],
      [2, '192.0.2.1'],
    ] as const) {
      const trusting = startApp(routes, { trustProxy }).client;
      expect((await trusting.get('/origin').set(forwarded)).body.ip).toBe(ip);
    }
  });

  it.each([
    ['203.0.113.9:40001', 1, '203.0.113.9'],
    ['203.0.113.9, 127.0.0.1:8080', 'loopback', '203.0.113.9'],
    ['[2001:db8::1]:40001', 1, '2001:db8::1'],
    ['[2001:db8::1]', 1, '2001:db8::1'],
    ['2001:db8::1', 1, '2001:db8::1'],
    ['203.0.113.9, unknown', 1, '127.0.0.1'],
    ['203.0.113.9, unknown', 2, '127.0.0.1'],
    ['', 1, '127.0.0.1'],
  ])('reads the client address from %j with trusted proxies %j', async (header, trustProxy, ip) => {
    const { client: trusting } = startApp(routes, { trustProxy });
    const { body } = await trusting.get('/origin').set('X-Forwarded-For', header);
    expect(body.ip.replace('::ffff:', '')).toBe(ip);
  });

  it('passes the same request to the access and the handler, with its operation', async () => {
    const seen: (IncomingMessage | undefined)[] = [];
    const access: Access<undefined> = { identify: (request) => void seen.push(request) };
    const operation = testOperation({ path: '/things/:id' });
    const handler: Handler<typeof operation> = ({ request }) => {
      seen.push(request);
      return { status: 200, body: { id: request.operation?.id } };
    };
    const { client } = startApp([route(operation, { access }, handler)]);
    expect((await client.get('/things/7')).body).toEqual({ id: 'test' });
    expect(seen).toHaveLength(2);
    expect(seen[0]).toBe(seen[1]);
  });
});
