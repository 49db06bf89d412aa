import { createServer, type Server } from 'node:http';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Router } from 'express';
import { listRoutes } from '../src/index.ts';
import { exchange, listenOnFreePort } from './support/raw-http.ts';
import { buildApp } from './support/test-app.ts';

const app = buildApp((app) => {
  app.get('/healthz', (_request, response) => {
    response.json({ status: 'ok' });
  });
  const things = Router();
  things.all('/things/:id', (_request, _response, next) => next());
  things.get('/things/:id', (request, response) => {
    response.json(request.params);
  });
  things.delete('/things/:id', (_request, response) => {
    response.status(204).end();
  });
  things.post(['/things', '/objects'], (_request, response) => {
    response.status(201).json({});
  });
  app.use(things);
  const nested = Router();
  nested.use(Router().put('/deep/:a/:b', (_request, response) => void response.json({})));
  app.use(nested);
});

let server: Server;
let port: number;

beforeAll(async () => {
  server = createServer(app);
  port = await listenOnFreePort(server);
});

afterAll(() => {
  server.close();
});

async function send(method: string, path: string): Promise<{ status: number; head: string; body: string }> {
  const answer = await exchange(port, `${method} ${path} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n`);
  const [head = '', body = ''] = answer.split(/\r\n\r\n(.*)/s);
  return { status: Number(head.split(' ')[1]), head, body };
}

describe('listRoutes', () => {
  it('lists every route in order, of nested routers too, and no guard', () => {
    expect(listRoutes(app).map(({ method, path }) => `${method} ${path}`)).toEqual([
      'GET /healthz',
      'GET /things/:id',
      'DELETE /things/:id',
      'POST /things',
      'POST /objects',
      'PUT /deep/:a/:b',
    ]);
  });
});

describe('refuseUnknownRoute', () => {
  it.each(['GET', 'HEAD', 'POST', 'PUT', 'DELETE', 'OPTIONS', 'TRACE', 'PROPFIND', 'M-SEARCH'])(
    '404s %s at a path that does not exist',
    async (method) => {
      const { status, body } = await send(method, '/nothing/here');
      expect(status).toBe(404);
      if (method === 'HEAD') expect(body).toBe('');
      else expect(JSON.parse(body)).toMatchObject({ status: 404, code: 'not_found' });
    },
  );

  it.each([
    ['PUT', '/things/7', 'DELETE, GET, HEAD'],
    ['TRACE', '/things/7', 'DELETE, GET, HEAD'],
    ['PROPFIND', '/things/7/', 'DELETE, GET, HEAD'],
    ['GET', '/things', 'POST'],
    ['HEAD', '/things', 'POST'],
    ['GET', '/OBJECTS/', 'POST'],
    ['POST', '/deep/1/2', 'PUT'],
    ['DELETE', '/healthz', 'GET, HEAD'],
  ])('405s %s %s, naming the methods that it answers', async (method, path, allow) => {
    const { status, head, body } = await send(method, path);
    expect([status, head]).toEqual([405, expect.stringMatching(`\r\nAllow: ${allow}\r\n`)]);
    if (method === 'HEAD') expect(body).toBe('');
    else expect(JSON.parse(body)).toMatchObject({ status: 405, code: 'method_not_allowed' });
  });

  it.each([
    ['/things/7', 'DELETE, GET, HEAD'],
    ['/healthz', 'GET, HEAD'],
  ])('answers OPTIONS %s with the methods', async (path, allow) => {
    const { status, head } = await send('OPTIONS', path);
    expect([status < 300, head]).toEqual([true, expect.stringMatching(`\r\nAllow: ${allow}\r\n`)]);
  });

  it('lets HEAD through to where GET is answered, without a body', async () => {
    expect(await send('HEAD', '/things/7')).toMatchObject({ status: 200, body: '' });
  });

  it.each(['GET', 'POST'])('400s %s with a parameter that cannot be decoded', async (method) => {
    const { status, body } = await send(method, '/things/%E0%A4%A');
    expect([status, JSON.parse(body).code]).toEqual([400, 'malformed_path']);
  });
});
