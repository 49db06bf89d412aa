import { gzipSync } from 'node:zlib';
import { describe, expect, it } from '@jest/globals';
import { z } from 'zod';
import {
  type BodyOptions,
  createHttpServer,
  everyone,
  type Handler,
  type Route,
  route,
} from '../src/index.ts';
import { exchange, listenOnFreePort, openSocket, readToEnd } from './support/raw-http.ts';
import { startApp, testOperation } from './support/test-app.ts';

function bodyRoute(path: string, body: { schema: z.ZodType; form?: z.ZodType }, options: BodyOptions): Route {
  const operation = testOperation({ path, method: 'POST', body });
  const handler: Handler<typeof operation> = ({ body }) => ({ status: 200, body: { got: body } });
  return route(operation, { access: everyone, body: options }, handler);
}

function heldRoute(path: string): Route {
  const operation = testOperation({
    path,
    method: 'POST',
    body: { schema: z.object({ title: z.string() }) },
  });
  const handler: Handler<typeof operation> = ({ body, request }) => ({
    status: 200,
    body: { got: body, held: request.body ?? null },
  });
  return route(operation, { access: everyone }, handler);
}

const any = z.unknown();
const { app, client, log } = startApp([
  bodyRoute('/json', { schema: any }, { limitBytes: 1000 }),
  bodyRoute('/form', { schema: any, form: any }, { limitBytes: 5000 }),
  bodyRoute('/shaped', { schema: z.strictObject({ title: z.string() }) }, { limitBytes: 1000 }),
  bodyRoute('/large', { schema: any.transform(() => 'large') }, { limitBytes: 5_000_000 }),
  bodyRoute('/default', { schema: z.string().transform((text) => text.length) }, {}),
  heldRoute('/held'),
  bodyRoute('/signed', { schema: any }, { raw: true, from: (request) => String(request.body) }),
]);

const problem = (status: number, code: string) => ({
  status,
  body: expect.objectContaining({ code, status }),
});

describe('readBody', () => {
  it.each([
    'application/json',
    'application/json; charset=utf-8',
    'APPLICATION/JSON;charset="UTF-8"',
    'application/json; charset=UTF8',
    'application/json; charset="utf8"',
  ])('accepts %s', async (type) => {
    const response = await client.post('/json').set('Content-Type', type).send('{"a":"é"}');
    expect(response.body).toEqual({ got: { a: 'é' } });
  });

  it.each(['utf-8', 'UTF8', '"utf8"'])('accepts a form with charset=%s', async (charset) => {
    const type = `application/x-www-form-urlencoded; charset=${charset}`;
    const response = await client.post('/form').set('Content-Type', type).send('a=%C3%A9');
    expect(response.body).toEqual({ got: { a: 'é' } });
  });

  it.each([['{"a":'], ['{"a":1}}'], ["{'a':1}"], ['\u0000'], ['{"a":NaN}']])(
    '400s %j as malformed',
    async (body) => {
      const response = await client.post('/json').set('Content-Type', 'application/json').send(body);
      expect(response).toMatchObject(problem(400, 'malformed_body'));
    },
  );

  it('does not hold the JSON while the handler waits', async () => {
    const response = await client.post('/held').send({ title: 'a', ignored: [{}] });
    expect(response.body).toEqual({ got: { title: 'a' }, held: null });
  });

  it('parses large bodies one at a time, with other requests in between', async () => {
    const order: string[] = [];
    const send = async (what: string, body: string) => {
      await client.post('/large').set('Content-Type', 'application/json').send(body);
      order.push(what);
    };
    const list = (length: number) => JSON.stringify(Array.from({ length }, (_, index) => ({ index })));
    const [large, smaller] = [list(200_000), list(100_000)];
    const all = [...Array.from({ length: 6 }, () => send('large', large)), send('smaller', smaller)];
    while (order.length === 0) await new Promise((resolve) => setTimeout(resolve, 1));
    await send('small', '{}');
    await Promise.all(all);
    // On a slow machine, some large bodies are parsed before the others arrive.
    for (const what of ['small', 'smaller'])
      expect(order.indexOf(what)).toBeLessThan(order.lastIndexOf('large'));
  });

  it('400s bytes that are not UTF-8, in JSON and in a form, percent-encoded or not', async () => {
    const json = Buffer.concat([Buffer.from('{"password":"'), Buffer.from([0xff]), Buffer.from('"}')]);
    for (const [path, type, bytes] of [
      ['/json', 'application/json', json],
      ['/form', 'application/x-www-form-urlencoded', Buffer.from([0x61, 0x3d, 0xff])],
      ['/form', 'application/x-www-form-urlencoded', Buffer.from('a=%ff')],
      ['/form', 'application/x-www-form-urlencoded', Buffer.from('a=%C3&b=%A9')],
    ] as const) {
      const request = client.post(path).set('Content-Type', type);
      request.write(bytes);
      expect(await request).toMatchObject(problem(400, 'malformed_body'));
    }
  });

  it.each([
    ['/json', 'text/plain'],
    ['/json', 'application/x-www-form-urlencoded'],
    ['/json', 'application/json; charset=iso-8859-1'],
    ['/json', 'application/json; charset=utf-16'],
    ['/json', 'application/json; charset=utf88'],
    ['/form', 'application/x-www-form-urlencoded; charset=iso-8859-1'],
    ['/form', 'multipart/form-data; boundary=x'],
    ['/json', 'nonsense'],
  ])('%s 415s %s', async (path, type) => {
    const response = await client.post(path).set('Content-Type', type).send('{}');
    expect(response).toMatchObject(problem(415, 'unsupported_media_type'));
  });

  it('415s a body without a type, and a compressed one', async () => {
    const untyped = client.post('/json').unset('Content-Type');
    untyped.write('{}');
    expect(await untyped).toMatchObject(problem(415, 'unsupported_media_type'));
    const compressed = client
      .post('/json')
      .set('Content-Type', 'application/json')
      .set('Content-Encoding', 'gzip');
    compressed.write(gzipSync('{}'));
    expect(await compressed).toMatchObject(problem(415, 'unsupported_media_type'));
  });

  it('413s a body over the limit, and accepts one of exactly the limit', async () => {
    const bodyOf = (length: number) => `"${'x'.repeat(length - 2)}"`;
    const send = (body: string) => client.post('/json').set('Content-Type', 'application/json').send(body);
    expect(await send(bodyOf(1001))).toMatchObject(problem(413, 'body_too_large'));
    expect((await send(bodyOf(1000))).status).toBe(200);
  });

  it.each([
    ['/json', 'application/json'],
    ['/form', 'application/x-www-form-urlencoded'],
    ['/signed', 'text/plain'],
  ])('413s a body for %s at once if its announced length is over the limit', async (path, type) => {
    const server = createHttpServer(app, log.logger, { app });
    const port = await listenOnFreePort(server);
    const head = `Host: a\r\nContent-Type: ${type}\r\nContent-Length: 9000000`;
    // The body is never sent. Waiting for it would exceed the timeout of the test.
    const answer = await exchange(port, `POST ${path} HTTP/1.1\r\n${head}\r\n\r\n`);
    server.close();
    expect(answer).toMatch(/^HTTP\/1\.1 413 Content Too Large\r\n[\s\S]*"code":"body_too_large"/);
    expect(answer).toContain('\r\nConnection: close\r\n');
  });

  it('lets a client that still sends read the 413', async () => {
    const server = createHttpServer(app, log.logger, { app });
    const socket = await openSocket(await listenOnFreePort(server));
    const answer = readToEnd(socket);
    socket.write(
      'POST /json HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: 9000000\r\n\r\n',
    );
    for (let part = 0; part < 20; part += 1) {
      socket.write('x'.repeat(65_536));
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
    expect(await answer).toContain('"code":"body_too_large"');
    server.close();
  });

  it('413s a form of more than a thousand parameters', async () => {
    const form = client.post('/form').set('Content-Type', 'application/x-www-form-urlencoded');
    expect(await form.send('a&'.repeat(1001))).toMatchObject(problem(413, 'body_too_large'));
  });

  it.each([['"text"'], ['null'], ['[1]'], ['7'], ['true']])(
    'passes well-formed %s to the schema',
    async (body) => {
      const send = (path: string) => client.post(path).set('Content-Type', 'application/json').send(body);
      expect((await send('/json')).body).toEqual({ got: JSON.parse(body) });
      expect((await send('/shaped')).status).toBe(422);
    },
  );

  it('treats an absent body as undefined, even with a media type', async () => {
    expect((await client.post('/json')).body).toEqual({});
    expect((await client.post('/json').set('Content-Type', 'text/plain')).status).toBe(200);
    expect((await client.post('/shaped')).body.errors).toEqual([{ field: 'body', message: 'is required' }]);
    expect((await client.post('/form')).body).toEqual({ got: {} });
  });

  it('reads a form, with brackets as part of the name', async () => {
    const form = client.post('/form').set('Content-Type', 'application/x-www-form-urlencoded');
    expect((await form.send('a=%C3%A9+1&b=1&c[d]=3&__proto__=x')).body.got).toEqual({
      a: 'é 1',
      b: '1',
      'c[d]': '3',
    });
  });

  it('400s a form that gives a parameter twice', async () => {
    const form = client.post('/form').set('Content-Type', 'application/x-www-form-urlencoded');
    expect(await form.send('a=1&b=1&a=1')).toMatchObject(problem(400, 'invalid_request'));
  });

  it('keeps the bytes of any media type with the option raw', async () => {
    const request = client.post('/signed').set('Content-Type', 'text/plain; charset=utf-16');
    expect((await request.send('{"a": 1 }')).body).toEqual({ got: '{"a": 1 }' });
  });

  it('accepts 256 KiB when no limit is given', async () => {
    const bodyOf = (length: number) => `"${'x'.repeat(length - 2)}"`;
    const send = (body: string) => client.post('/default').set('Content-Type', 'application/json').send(body);
    expect((await send(bodyOf(256 * 1024))).body).toEqual({ got: 256 * 1024 - 2 });
    expect(await send(bodyOf(256 * 1024 + 1))).toMatchObject(problem(413, 'body_too_large'));
  });

  it('does not log a body that it refuses', async () => {
    await client.post('/json').set('Content-Type', 'application/json').send('{"password":"hunter2-hunter2"');
    expect(log.text()).not.toContain('hunter2');
  });
});
