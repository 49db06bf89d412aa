import type { Server } from 'node:http';
import { connect } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { problemSchema } from '@tessera/contracts';
import { z } from 'zod';
import {
  createHttpServer,
  defaultHttpTimeouts,
  everyone,
  type Handler,
  ProblemError,
  route,
} from '../src/index.ts';
import { keepLogLines } from './support/log-lines.ts';
import { exchange, listenOnFreePort, openSocket, readToEnd } from './support/raw-http.ts';
import { startApp, testOperation } from './support/test-app.ts';

const { logger, lines, text: logText } = keepLogLines();
// Shorter than in production.
const timeouts = { ...defaultHttpTimeouts, headersTimeoutMs: 1_000, requestTimeoutMs: 1_500 };
let server: Server;
let port: number;

beforeAll(async () => {
  server = createHttpServer(
    (request, response) => {
      if (request.url === '/begun') {
        response.writeHead(200).write('the first half, ');
        server.once('clientError', () => response.end('the second half'));
      } else request.resume().on('end', () => response.end('ok'));
    },
    logger,
    { timeouts },
  );
  port = await listenOnFreePort(server);
});

afterAll(() => {
  server.closeAllConnections();
  server.close();
});

function readRefusal(answer: string) {
  const [head = '', body = ''] = answer.split('\r\n\r\n');
  const [statusLine, ...fields] = head.split('\r\n');
  const headers = Object.fromEntries(
    fields.map((field) => [
      field.slice(0, field.indexOf(':')).toLowerCase(),
      field.slice(field.indexOf(':') + 2),
    ]),
  );
  return { statusLine, headers, body: problemSchema.parse(JSON.parse(body)) };
}

describe('createHttpServer', () => {
  it('limits times, header fields and connections', () => {
    const plain = createHttpServer(() => undefined, logger);
    expect(plain).toMatchObject({
      // That of a body depends on what it is (slow-bodies.test.ts).
      requestTimeout: 0,
      headersTimeout: 10_000,
      keepAliveTimeout: 65_000,
      maxHeadersCount: 100,
      maxConnections: 20_000,
    });
  });

  it('closes a connection after a thousand responses, without an error for further pipelined requests', async () => {
    const busy = createHttpServer((_request, response) => response.end('ok'), logger);
    const socket = connect(await listenOnFreePort(busy), '127.0.0.1');
    let received = '';
    let sent = 0;
    const send = (requests: number) => {
      socket.write('GET / HTTP/1.1\r\nHost: a\r\n\r\n'.repeat(requests));
      sent += requests;
    };
    send(95);
    for await (const chunk of socket) {
      received += String(chunk);
      if (received.match(/HTTP\/1\.1 200 OK/g)?.length === sent) send(sent < 950 ? 95 : 55);
    }
    expect(received.match(/HTTP\/1\.1 200 OK/g)).toHaveLength(1000);
    expect(received).not.toContain('503');
    expect(received.match(/Connection: close/g)).toHaveLength(1);
    busy.close();
  });

  it.each([
    ['input that is not HTTP', 'hello\r\n\r\n', 400, 'Bad Request', 'malformed_request'],
    ['an unknown method', 'FETCH / HTTP/1.1\r\nHost: a\r\n\r\n', 400, 'Bad Request', 'malformed_request'],
    [
      'two lengths',
      'POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n',
      400,
      'Bad Request',
      'malformed_request',
    ],
    [
      'a length and chunks',
      'POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n',
      400,
      'Bad Request',
      'malformed_request',
    ],
    [
      'a chunk without a length',
      'POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n',
      400,
      'Bad Request',
      'malformed_request',
    ],
    [
      'headers over 16 KiB',
      `GET / HTTP/1.1\r\nHost: a\r\nX: ${'x'.repeat(17_000)}\r\n\r\n`,
      431,
      'Request Header Fields Too Large',
      'headers_too_large',
    ],
    [
      'a URL over 16 KiB',
      `GET /${'x'.repeat(17_000)} HTTP/1.1\r\nHost: a\r\n\r\n`,
      431,
      'Request Header Fields Too Large',
      'headers_too_large',
    ],
    ['a request without Host', 'GET / HTTP/1.1\r\n\r\n', 400, 'Bad Request', 'malformed_request'],
    ['an incomplete header', 'GET / HTTP/1.1\r\nHost: a\r\n', 408, 'Request Timeout', 'request_timeout'],
    [
      'an incomplete body',
      'POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\nabc',
      408,
      'Request Timeout',
      'request_timeout',
    ],
  ])(
    'refuses %s with the common error body, and closes the connection',
    async (_what, bytes, status, title, code) => {
      const { statusLine, headers, body } = readRefusal(await exchange(port, bytes));
      expect(statusLine).toBe(`HTTP/1.1 ${status} ${title}`);
      expect(body).toMatchObject({
        type: `/api/problems/${code}`,
        title,
        status,
        code,
        request_id: headers['x-request-id'],
      });
      expect(headers).toMatchObject({
        'content-type': 'application/json; charset=utf-8',
        'content-length': expect.stringMatching(/^\d+$/),
        'cache-control': 'no-store',
        date: expect.stringMatching(/ GMT$/),
        connection: 'close',
      });
      expect(lines.findLast((line) => line.request_id === body.request_id)).toMatchObject({ status, code });
    },
  );

  it.each([
    ['two hosts', 'GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n'],
    ['the same host twice', 'GET / HTTP/1.1\r\nhost: a\r\nX: y\r\nHOST: a\r\n\r\n'],
    ['an empty and another host', 'GET / HTTP/1.1\r\nHost:\r\nHost: a\r\n\r\n'],
    ['two hosts of HTTP/1.0', 'GET / HTTP/1.0\r\nHost: a\r\nHost: b\r\n\r\n'],
    ['a host with a space', 'GET / HTTP/1.1\r\nHost: a b\r\n\r\n'],
    ['a host with a path', 'GET / HTTP/1.1\r\nHost: a/b\r\n\r\n'],
    ['a host that is not ASCII', 'GET / HTTP/1.1\r\nHost: \xfc\r\n\r\n'],
  ])('refuses %s with 400 (RFC 9112 3.2)', async (_what, bytes) => {
    const { statusLine, body } = readRefusal(await exchange(port, bytes));
    expect([statusLine, body.code]).toEqual(['HTTP/1.1 400 Bad Request', 'malformed_request']);
  });

  it.each(['a:80', '[2001:db8::1]:443', '', 'a_b.example', 'xn--mnchen-3ya.de.'])(
    'accepts the host %j',
    async (host) => {
      const answer = await exchange(port, `GET / HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`);
      expect(answer).toMatch(/^HTTP\/1\.1 200 /);
    },
  );

  describe('with an app', () => {
    const creation = testOperation({ method: 'POST', path: '/things', body: { schema: z.unknown() } });
    const done: Handler<typeof creation> = () => ({ status: 200, body: {} });
    const things = startApp([route(creation, { access: everyone }, done)], {
      security: { hsts: true },
    });
    const appServer = createHttpServer(things.app, things.log.logger, { app: things.app, timeouts });
    let appPort: number;
    beforeAll(async () => {
      appPort = await listenOnFreePort(appServer);
    });
    afterAll(() => {
      appServer.closeAllConnections();
      appServer.close();
    });

    const head = 'POST /things HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n';
    it.each([
      ['input that is not HTTP', 400, 'hello\r\n\r\n', false],
      ['a request without Host', 400, 'GET / HTTP/1.1\r\n\r\n', false],
      ['a large header', 431, `${head}X: ${'x'.repeat(17_000)}\r\n\r\n`, false],
      ['an incomplete header', 408, head, false],
      ['a malformed chunk', 400, `${head}Transfer-Encoding: chunked\r\n\r\nzz\r\n`, true],
      ['an incomplete body', 408, `${head}Content-Length: 9\r\n\r\nabc`, true],
    ])(
      'refuses %s (%d) with the security headers and the logged id',
      async (_what, status, bytes, isLogged) => {
        const { statusLine, headers, body } = readRefusal(await exchange(appPort, bytes));
        expect(statusLine).toContain(` ${status} `);
        expect(headers).toMatchObject({
          'content-security-policy': "default-src 'none';frame-ancestors 'none'",
          'cross-origin-resource-policy': 'same-origin',
          'strict-transport-security': expect.stringContaining('max-age='),
          'x-content-type-options': 'nosniff',
          'x-request-id': body.request_id,
        });
        const isOfId = (line: Record<string, unknown>) => line.request_id === body.request_id;
        expect(things.log.lines.find(isOfId)).toMatchObject({ code: body.code, status });
        const access = things.accessLines().filter(isOfId);
        expect(access).toEqual(isLogged ? [expect.objectContaining({ status, route: '/things' })] : []);
      },
    );
  });

  it('neither echoes nor logs the input', async () => {
    const answer = await exchange(port, 'GET / HTTP/1.1\r\nAuthorization\u0000: Bearer hunter2\r\n\r\n');
    expect(answer).toMatch(/^HTTP\/1\.1 400 /);
    expect(answer + logText()).not.toContain('hunter2');
  });

  it('sends the error after a complete response', async () => {
    const socket = await openSocket(port);
    const all = readToEnd(socket);
    socket.write('GET / HTTP/1.1\r\nHost: a\r\n\r\n');
    await new Promise((resolve) => socket.once('data', resolve));
    socket.write('rubbish\r\n\r\n');
    expect(await all).toMatch(/^HTTP\/1\.1 200 [\s\S]*okHTTP\/1\.1 400 /);
  });

  it.each([
    ['its own', ['/slow']],
    ['an earlier', ['/first', '/slow']],
  ])(
    'sends %s response if requests follow one with Connection: close (RFC 9112 9.6)',
    async (_what, targets) => {
      const slow = createHttpServer(async (request, response) => {
        await new Promise((resolve) => setTimeout(resolve, 20));
        response.end(request.url);
      }, logger);
      const requests = targets.map((target, index) => {
        const close = index === targets.length - 1 ? 'Connection: close\r\n' : '';
        return `GET ${target} HTTP/1.1\r\nHost: a\r\n${close}\r\n`;
      });
      const later = 'GET /later HTTP/1.1\r\nHost: a\r\n\r\n'.repeat(3);
      const answer = await exchange(await listenOnFreePort(slow), requests.join('') + later);
      slow.close();
      expect(answer.match(/\r\n\r\n\/[a-z]+/g)?.map((part) => part.trim())).toEqual(targets);
      expect(answer.match(/Connection: close/g)).toHaveLength(1);
    },
  );

  it('sends the error after a response that has started', async () => {
    const socket = await openSocket(port);
    const all = readToEnd(socket);
    socket.write('GET /begun HTTP/1.1\r\nHost: a\r\n\r\n');
    await new Promise((resolve) => socket.once('data', resolve));
    socket.write('rubbish\r\n\r\n');
    const answer = await all;
    expect(answer).toMatch(
      /^HTTP\/1\.1 200 [\s\S]*the first half, [\s\S]*the second half[\s\S]*HTTP\/1\.1 400 /,
    );
  });

  it.each([
    ['a coding without an end', 'Transfer-Encoding: x\r\n\r\n'],
    ['an unknown coding', 'Transfer-Encoding: gzip, chunked\r\n\r\n'],
    ['a broken chunk', 'Transfer-Encoding: chunked\r\n\r\nzz\r\n'],
    ['invalid input after it', '\r\nrubbish\r\n\r\n'],
  ])('sends the response to a request that it handles, not an error: %s', async (_what, rest) => {
    let done = 0;
    const slow = createHttpServer(async (_request, response) => {
      await new Promise((resolve) => setTimeout(resolve, 20));
      done += 1;
      response.end('done');
    }, logger);
    const answer = await exchange(await listenOnFreePort(slow), `DELETE / HTTP/1.1\r\nHost: a\r\n${rest}`);
    await new Promise((resolve) => setTimeout(resolve, 50));
    expect({ answer: answer.slice(0, 12), done }).toEqual(
      done === 0 ? { answer: 'HTTP/1.1 400', done: 0 } : { answer: 'HTTP/1.1 200', done: 1 },
    );
    slow.close();
  });

  describe('a request whose body does not arrive', () => {
    const upload = testOperation({ method: 'POST', path: '/uploads', body: { schema: z.unknown() } });
    const refused = testOperation({ method: 'POST', path: '/refused', body: { schema: z.unknown() } });
    const ok: Handler<typeof upload> = () => ({ status: 200, body: {} });
    const noUser = {
      ...everyone,
      identify: () => {
        throw new ProblemError({ status: 401, code: 'unauthorized', detail: 'No.' });
      },
    };
    const { app, log } = startApp([
      route(upload, { access: everyone }, ok),
      route(refused, { access: noUser }, ok),
    ]);
    const server = createHttpServer(app, log.logger, { app });
    let appPort: number;
    beforeAll(async () => {
      appPort = await listenOnFreePort(server);
    });
    afterAll(() => {
      server.close();
    });
    const head = (path: string, length: number) =>
      `POST ${path} HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: ${length}\r\n`;

    it('gets 100 (Continue) only when the body is read', async () => {
      const socket = await openSocket(appPort);
      const all = readToEnd(socket);
      socket.write(`${head('/uploads', 2)}Expect: 100-continue\r\n\r\n`);
      await new Promise((resolve) => socket.once('data', resolve));
      socket.write('{}');
      expect((await all).match(/HTTP\/1\.1 \d+/g)).toEqual(['HTTP/1.1 100', 'HTTP/1.1 200']);
      for (const [path, length, status] of [
        ['/refused', 2, 401],
        ['/uploads', 99_999_999, 413],
      ] as const) {
        const answer = await exchange(appPort, `${head(path, length)}Expect: 100-continue\r\n\r\n`);
        expect(answer.match(/HTTP\/1\.1 \d+/g)).toEqual([`HTTP/1.1 ${status}`]);
      }
    });

    it.each(['/refused', '/nowhere'])('ends the connection if the body is large (%s)', async (path) => {
      const answer = await exchange(appPort, `${head(path, 99_999_999)}\r\n`);
      expect(answer).toMatch(/^HTTP\/1\.1 40[14] [\s\S]*Connection: close/);
    });
  });

  it.each([
    ['whose rest does not arrive', 'Content-Length: 9\r\n\r\nabc'],
    ['with a malformed chunk', 'Transfer-Encoding: chunked\r\n\r\n1\r\na\r\n', 'zz\r\n'],
  ])('gives one response to a request without need of its body, %s', async (_what, rest, later = '') => {
    const quick = createHttpServer((_request, response) => response.end('done'), logger);
    quick.requestTimeout = 500;
    const socket = await openSocket(await listenOnFreePort(quick));
    const all = readToEnd(socket);
    socket.write(`DELETE / HTTP/1.1\r\nHost: a\r\n${rest}`);
    await new Promise((resolve) => socket.once('data', resolve));
    socket.write(later);
    expect((await all).match(/HTTP\/1\.1 \d+/g)).toEqual(['HTTP/1.1 200']);
    quick.close();
  });

  it('ignores an unknown expectation', async () => {
    const answer = await exchange(
      port,
      'GET / HTTP/1.1\r\nHost: a\r\nExpect: a miracle\r\nConnection: close\r\n\r\n',
    );
    expect(answer).toMatch(/^HTTP\/1\.1 200 [\s\S]*ok/);
  });

  it('survives a client that resets its connection', async () => {
    const socket = await openSocket(port);
    socket.write('POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\n');
    socket.resetAndDestroy();
    expect(await exchange(port, 'GET / HTTP/1.0\r\n\r\n')).toMatch(/^HTTP\/1\.1 200 /);
  });
});
