import { createServer } from 'node:http';
import { describe, expect, it } from '@jest/globals';
import { z } from 'zod';
import {
  type Access,
  everyone,
  type Handler,
  jsonText,
  ProblemError,
  parseQuery,
  route,
} from '../src/index.ts';
import { exchange, listenOnFreePort } from './support/raw-http.ts';
import { getRoute, startApp, testOperation } from './support/test-app.ts';

function refuseUnless(permitted: boolean, status: number): void {
  if (!permitted) throw new ProblemError({ status, code: 'forbidden', detail: 'Refused.' });
}

describe('the order of the steps', () => {
  const stepNames = ['authentication', 'limit', 'authorize', 'body', 'parsing', 'handler'] as const;
  const operation = testOperation({
    method: 'POST',
    path: '/things/:id',
    params: z.object({ id: z.string() }),
    body: {
      schema: z.object({
        title: z.string().transform((title) => ({ title, parsed: steps.push('parsing') })),
      }),
    },
  });
  let steps: string[] = [];
  const access: Access<string> = {
    identify: async (request) => {
      refuseUnless(request.headers['x-authentication'] === 'ok', 401);
      steps.push('authentication');
      return 'ann';
    },
  };
  const create: Handler<typeof operation, string> = ({ request, actor, params, body }) => {
    refuseUnless(request.headers['x-handler'] === 'ok', 409);
    steps.push('handler');
    return { status: 200, body: { actor, params, title: body.title.title } };
  };
  const { client } = startApp([
    route(
      operation,
      {
        access,
        limit: {
          request: async (actor, response) => {
            refuseUnless(actor === 'ann' && response.req.headers['x-limit'] === 'ok', 429);
            steps.push('limit');
          },
        },
        authorize: (actor, request) => {
          expect(request.body).toBeUndefined();
          refuseUnless(actor === 'ann' && request.headers['x-authorize'] === 'ok', 403);
          steps.push('authorize');
        },
      },
      create,
    ),
  ]);

  // Each request passes the steps before the named step, and fails it and all later steps.
  it.each([
    ['authentication', 401, 'text/plain', '{'],
    ['limit', 429, 'text/plain', '{'],
    ['authorize', 403, 'text/plain', '{'],
    ['body', 415, 'text/plain', '{'],
    ['body', 400, 'application/json', '{'],
    ['parsing', 422, 'application/json', '{}'],
    ['handler', 409, 'application/json', '{"title":"a"}'],
  ] as const)('is refused by %s with %d, and no later step runs', async (refusing, status, type, body) => {
    steps = [];
    const earlier = stepNames.slice(0, stepNames.indexOf(refusing));
    const headers = Object.fromEntries(earlier.map((step) => [`X-${step}`, 'ok']));
    const response = await client.post('/things/7').set(headers).set('Content-Type', type).send(body);
    expect(response.status).toBe(status);
    expect(steps).toEqual(earlier.filter((step) => step !== 'body'));
  });

  it('passes the caller and the parsed input to the handler', async () => {
    steps = [];
    const headers = Object.fromEntries(stepNames.map((step) => [`X-${step}`, 'ok']));
    const response = await client.post('/things/7').set(headers).send({ title: 'a' });
    expect(response.body).toEqual({ actor: 'ann', params: { id: '7' }, title: 'a' });
    expect(steps).toEqual(stepNames.filter((step) => step !== 'body'));
  });
});

describe('the input', () => {
  const operation = testOperation({
    path: '/things/:id/parts/:part',
    params: z.object({ id: z.string().regex(/^\d+$/).transform(Number), part: z.string() }),
    query: z.strictObject({
      limit: z.string().regex(/^\d+$/).transform(Number).optional(),
      tag: z.union([z.string(), z.array(z.string())]).optional(),
    }),
    headers: z.object({ 'If-None-Match': z.string().max(10).optional(), 'X-Test': z.string().optional() }),
  });
  const echo: Handler<typeof operation> = ({ params, query, headers, body, requestId }) => ({
    status: 200,
    body: { params, query, headers, hasBody: body !== undefined, requestId },
  });
  const { app, client } = startApp([route(operation, { access: everyone }, echo)]);

  it('is the output of the schemas, decoded, with headers by their declared names', async () => {
    const { body } = await client
      .get('/things/7/parts/a%2Fb%20%C3%A9?limit=5&tag=x%20y')
      .set({ 'if-none-match': '"1"', 'X-Other': 'ignored', 'X-Request-Id': 'r1' });
    expect(body).toEqual({
      params: { id: 7, part: 'a/b é' },
      query: { limit: 5, tag: 'x y' },
      headers: { 'If-None-Match': '"1"' },
      hasBody: false,
      requestId: 'r1',
    });
  });

  it.each<[string, string, Record<string, string>, object]>([
    ['path', '/things/x/parts/a', {}, { field: 'id', message: expect.any(String) }],
    ['query', '/things/7/parts/a?limit=x', {}, { field: 'limit', message: expect.any(String) }],
    [
      'query, for a repeated parameter that must be given once',
      '/things/7/parts/a?limit=1&limit=2',
      {},
      { field: 'limit', message: 'must be of type string' },
    ],
    [
      'query, for an unknown parameter',
      '/things/7/parts/a?limitt=1',
      {},
      { field: 'limitt', message: 'is not a known parameter; known are limit, tag' },
    ],
    [
      'headers',
      '/things/7/parts/a',
      { 'If-None-Match': '"12345678901"' },
      { field: 'If-None-Match', message: 'must be at most 10 characters' },
    ],
  ])('is refused with 422 by the %s schema', async (_where, path, headers, error) => {
    const response = await client.get(path).set(headers);
    expect([response.status, response.body.errors]).toEqual([422, [error]]);
  });

  it('has an array for a repeated query parameter', async () => {
    const { body } = await client.get('/things/7/parts/a?tag=x&tag=y&tag=x');
    expect(body.query).toEqual({ tag: ['x', 'y', 'x'] });
  });

  it.each([
    ['/a?limit=1', { limit: 1 }],
    ['http://elsewhere.test/a?limit=2', { limit: 2 }],
    ['/a?', {}],
    ['/a', {}],
    ['/a?tag=1?2', { tag: '1?2' }],
    ['/a?tag=%E9', { tag: '\ufffd' }],
  ])('has the query of the target %s', (target, query) => {
    expect(parseQuery(operation.query, target)).toEqual(query);
  });

  it.each(['__proto__=x', 'constructor=x', '__proto__[limit]=1'])(
    'has no members from the query ?%s',
    async (query) => {
      expect((await client.get(`/things/7/parts/a?${query}`)).status).toBe(422);
    },
  );

  it('joins repeated headers, as Node does', async () => {
    const server = createServer(app);
    const fields = 'Host: a\r\nConnection: close\r\nX-Test: a\r\nx-test: b\r\n';
    const answer = await exchange(
      await listenOnFreePort(server),
      `GET /things/7/parts/a HTTP/1.1\r\n${fields}\r\n`,
    );
    server.close();
    expect(answer).toContain('"headers":{"X-Test":"a, b"}');
  });

  it('is empty if the operation declares none', async () => {
    const plain = testOperation({ path: '/plain' });
    const handler: Handler<typeof plain> = ({ params, query, headers, body }) => ({
      status: 200,
      body: { params, query, headers, hasBody: body !== undefined },
    });
    const { client } = startApp([route(plain, { access: everyone }, handler)]);
    const response = await client.get('/plain?anything=1').set('If-None-Match', '"1"').send({ a: 1 });
    expect(response.body).toEqual({ params: {}, query: {}, headers: {}, hasBody: false });
  });

  it('has an empty object for an optional body that is absent, and null for null', async () => {
    const operation = testOperation({
      method: 'POST',
      path: '/',
      body: { schema: z.object({}).nullable(), optional: true },
    });
    const handler: Handler<typeof operation> = ({ body }) => ({ status: 200, body: { got: body } });
    const { client } = startApp([route(operation, { access: everyone }, handler)]);
    expect((await client.post('/')).body).toEqual({ got: {} });
    expect((await client.post('/').type('json').send('null')).body).toEqual({ got: null });
  });
});

describe('the response', () => {
  const operation = testOperation({
    path: '/things/:kind',
    responses: {
      200: { description: 'A thing.', schema: z.object({ name: z.string() }) },
      201: { description: 'A new thing.', schema: z.object({ name: z.string() }) },
      204: { description: 'Nothing.' },
      304: { description: 'The same.' },
    },
  });
  const answer: Handler<typeof operation> = ({ request }) => {
    switch (request.params?.kind) {
      case 'created':
        return {
          status: 201,
          headers: { Location: '/things/é'.normalize(), ETag: '"1"' },
          body: { name: 'é' },
        };
      case 'text':
        return { status: 200, body: jsonText({ name: 'é' }) };
      case 'cached':
        return { status: 200, headers: { 'Cache-Control': 'max-age=60' }, body: { name: 'é' } };
      case 'none':
        return { status: 204 };
      case 'same':
        return { status: 304, headers: { ETag: '"1"' } };
      default:
        return { status: 200, body: { name: 'é' } };
    }
  };
  const { client } = startApp([route(operation, { access: everyone }, answer)]);

  it('is JSON with its length in bytes', async () => {
    const response = await client.get('/things/one');
    expect(response.headers).toMatchObject({
      'content-type': 'application/json; charset=utf-8',
      'content-length': String(Buffer.byteLength('{"name":"é"}')),
    });
    expect(response.text).toBe('{"name":"é"}');
  });

  it('may be given as JSON text', async () => {
    expect((await client.get('/things/text')).text).toBe('{"name":"é"}');
  });

  it('has the status and headers of the handler', async () => {
    const { status, headers } = await client.get('/things/created');
    expect([status, headers.etag]).toEqual([201, '"1"']);
  });

  it('must not be stored by caches unless the handler permits it', async () => {
    expect((await client.get('/things/one')).headers['cache-control']).toBe('no-store');
    expect((await client.get('/things/cached')).headers['cache-control']).toBe('max-age=60');
  });

  it('has neither a body nor its headers as a 204 or 304', async () => {
    for (const [path, status] of [
      ['/things/none', 204],
      ['/things/same', 304],
    ] as const) {
      const response = await client.get(path);
      expect([response.status, response.text]).toEqual([status, '']);
      for (const name of ['content-type', 'content-length', 'transfer-encoding'])
        expect(response.headers).not.toHaveProperty(name);
    }
  });

  it('has no body, but the Content-Length of GET, for HEAD', async () => {
    const response = await client.head('/things/one');
    expect(response.text).toBeUndefined();
    expect(response.headers['content-length']).toBe(String(Buffer.byteLength('{"name":"é"}')));
    expect(response.headers['content-type']).toBe('application/json; charset=utf-8');
  });

  it.each(['*', '"1"', 'W/"1"'])(
    'is sent in full and without an ETag for If-None-Match: %s',
    async (etag) => {
      const { status, text, headers } = await client.get('/things/one').set('If-None-Match', etag);
      expect([status, text]).toEqual([200, '{"name":"é"}']);
      expect(headers).not.toHaveProperty('etag');
    },
  );
});

describe('an error', () => {
  const problem = new ProblemError({ status: 409, code: 'version_conflict', detail: 'Later.' });
  const throwing = () => {
    throw problem;
  };
  const rejecting = async () => throwing();
  const access = (identify: Access<undefined>['identify']): Access<undefined> => ({
    identify,
    headers: { 'X-Access': 'on' },
  });
  const operation = testOperation({ path: '/' });

  it.each([
    ['a handler that throws', route(operation, { access: access(() => undefined) }, throwing)],
    ['a handler that rejects', route(operation, { access: access(() => undefined) }, rejecting)],
    ['an access that throws', route(operation, { access: access(throwing) }, throwing)],
    ['an access that rejects', route(operation, { access: access(rejecting) }, throwing)],
    [
      'a limit that rejects',
      route(operation, { access: access(() => undefined), limit: { request: rejecting } }, throwing),
    ],
    [
      'an authorisation that throws',
      route(operation, { access: access(() => undefined), authorize: throwing }, throwing),
    ],
  ])('of %s becomes the error body, with the headers of the access rule', async (_what, failing) => {
    const response = await startApp([failing]).client.get('/').expect(409);
    expect(response.body).toMatchObject({ code: 'version_conflict', detail: 'Later.' });
    expect(response.headers['x-access']).toBe('on');
  });

  it('does not affect the next request', async () => {
    const { client } = startApp([
      getRoute('/'),
      route(testOperation({ path: '/fails' }), { access: everyone }, throwing),
    ]);
    expect((await client.get('/fails')).status).toBe(409);
    expect((await client.get('/')).status).toBe(200);
  });
});
