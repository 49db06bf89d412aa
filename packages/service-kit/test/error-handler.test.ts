import { gzipSync } from 'node:zlib';
import { describe, expect, it } from '@jest/globals';
import { problemSchema } from '@tessera/contracts';
import express from 'express';
import supertest from 'supertest';
import { z } from 'zod';
import {
  errorHandler,
  ProblemError,
  parse,
  readBody,
  unavailableProblem,
  validationProblem,
} from '../src/index.ts';
import { keepLogLines } from './support/log-lines.ts';
import { buildApp } from './support/test-app.ts';

const { logger, lines, text: logText } = keepLogLines();

const app = buildApp((app) => {
  app.get('/refused', (_request, response) => {
    response.set('Cache-Control', 'public, max-age=300').set('ETag', '"kept"');
    throw new ProblemError({
      status: 409,
      code: 'illegal_transition',
      detail: 'The issue is closed.',
      headers: { 'X-Hint': 'reopen' },
      members: { current_status: 'CLOSED' },
      cause: new Error('private-cause'),
    });
  });
  app.get('/invalid', () => {
    throw validationProblem([{ field: 'email', message: 'is required' }]);
  });
  app.get('/unavailable', () => {
    throw unavailableProblem('The key set does not answer.', 7, new Error('private-cause'));
  });
  app.get('/broken', async () => {
    throw new Error('secret-internals');
  });
  app.get('/throws-text', () => {
    throw 'secret-internals';
  });
  app.get('/half', (_request, response) => {
    response.writeHead(200, { 'Content-Length': '100' }).write('half of it');
    throw new Error('too late');
  });
  app.get('/things/:id', (request, response) => {
    response.json(request.params);
  });
  app.post('/json', readBody({ limitBytes: 1000 }), (request, response) => {
    response.json({ got: request.body });
  });
  app.post('/form', readBody({ limitBytes: 5000, form: true }), (request, response) => {
    response.json({ got: request.body });
  });
  app.post('/shaped', readBody({ limitBytes: 1000 }), (request, response) => {
    response.json(parse(z.strictObject({ title: z.string() }), request.body));
  });
}, logger);
const client = supertest(app);

const problem = (status: number, code: string) => ({
  status,
  body: expect.objectContaining({ code, status }),
});

describe('errorHandler', () => {
  it.each([
    ['/refused', 409],
    ['/invalid', 422],
    ['/unavailable', 503],
    ['/broken', 500],
    ['/throws-text', 500],
    ['/nowhere', 404],
    ['/things/%zz', 400],
  ])('answers %s with %d in the one shape, which no cache may keep', async (path, status) => {
    const response = await client.get(path);
    expect(response.status).toBe(status);
    expect(problemSchema.parse(response.body)).toMatchObject({
      status,
      request_id: response.headers['x-request-id'],
    });
    expect(response.headers['content-type']).toBe('application/json; charset=utf-8');
    expect(response.headers['cache-control']).toBe('no-store');
  });

  it("shows a refusal's public parts: headers, members, no ETag of the answer it replaces, and not its cause", async () => {
    const response = await client.get('/refused');
    expect(response.body).toEqual({
      title: 'Conflict',
      status: 409,
      detail: 'The issue is closed.',
      code: 'illegal_transition',
      request_id: expect.any(String),
      current_status: 'CLOSED',
    });
    expect(response.headers['x-hint']).toBe('reopen');
    expect(response.headers.etag).not.toBe('"kept"');
    expect(response.text).not.toContain('private-cause');
  });

  it('adds the refused fields to a 422 and Retry-After to a 503', async () => {
    expect((await client.get('/invalid')).body.errors).toEqual([{ field: 'email', message: 'is required' }]);
    expect((await client.get('/unavailable')).headers['retry-after']).toBe('7');
  });

  it.each([['/broken'], ['/throws-text']])(
    'hides the internals of %s and logs them with the id',
    async (path) => {
      const response = await client.get(path);
      expect(response.text).not.toContain('secret-internals');
      const line = lines.findLast((line) => line.msg === 'request failed');
      expect(line).toMatchObject({ level: 'error', request_id: response.body.request_id, status: 500 });
      expect(JSON.stringify(line?.err)).toContain('secret-internals');
    },
  );

  it('cuts an answer off that fails after it began, so that it cannot pass for a whole one', async () => {
    await expect(client.get('/half')).rejects.toThrow(/aborted|hang up/);
    expect((await client.get('/things/1')).status).toBe(200);
  });

  it.each([
    ['application/problem+json', 'application/problem+json; charset=utf-8'],
    ['application/problem+json, application/json;q=0.5', 'application/problem+json; charset=utf-8'],
    ['application/json, application/problem+json', 'application/json; charset=utf-8'],
    ['text/html', 'application/json; charset=utf-8'],
    ['*/*', 'application/json; charset=utf-8'],
    ['not a media type', 'application/json; charset=utf-8'],
  ])('to Accept: %s answers %s', async (accept, contentType) => {
    const response = await client.get('/refused').set('Accept', accept);
    expect(response.headers['content-type']).toBe(contentType);
  });

  it("lets the service translate a library's errors, and add members of its own", async () => {
    const own = express();
    own.get('/', () => {
      throw new RangeError('private');
    });
    own.use(
      errorHandler({
        logger,
        translate: (error) =>
          error instanceof RangeError
            ? new ProblemError({ status: 400, code: 'out_of_range', detail: 'Too far.' })
            : undefined,
        extraMembers: (problem) => ({ error: 'invalid_request', error_description: problem.detail }),
      }),
    );
    const response = await supertest(own).get('/');
    expect(response.body).toMatchObject({
      code: 'out_of_range',
      error: 'invalid_request',
      error_description: 'Too far.',
    });
  });
});

describe('readBody', () => {
  it.each([['application/json'], ['application/json; charset=utf-8'], ['APPLICATION/JSON;charset="UTF-8"']])(
    'takes %s',
    async (type) => {
      const response = await client.post('/json').set('Content-Type', type).send('{"a":"é"}');
      expect(response.body).toEqual({ got: { a: 'é' } });
    },
  );

  it.each([['{"a":'], ['{"a":1}}'], ["{'a':1}"], ['\u0000'], ['{"a":NaN}']])(
    '400s %j as malformed',
    async (body) => {
      const response = await client.post('/json').set('Content-Type', 'application/json').send(body);
      expect(response).toMatchObject(problem(400, 'malformed_body'));
    },
  );

  it('400s bytes that are not UTF-8, in JSON and in a form, also written with %', async () => {
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

  it('413s a body over the limit, and takes one that fills it', async () => {
    const bodyOf = (length: number) => `"${'x'.repeat(length - 2)}"`;
    const send = (body: string) => client.post('/json').set('Content-Type', 'application/json').send(body);
    expect(await send(bodyOf(1001))).toMatchObject(problem(413, 'body_too_large'));
    expect((await send(bodyOf(1000))).status).toBe(200);
  });

  it('413s a form of more than a thousand parameters', async () => {
    const form = client.post('/form').set('Content-Type', 'application/x-www-form-urlencoded');
    expect(await form.send('a&'.repeat(1001))).toMatchObject(problem(413, 'body_too_large'));
  });

  it.each([['"text"'], ['null'], ['[1]'], ['7'], ['true']])(
    'hands well-formed %s to the handler',
    async (body) => {
      const send = (path: string) => client.post(path).set('Content-Type', 'application/json').send(body);
      expect((await send('/json')).body).toEqual({ got: JSON.parse(body) });
      expect((await send('/shaped')).status).toBe(422);
    },
  );

  it('hands on no body at all as undefined, whatever its type says', async () => {
    expect((await client.post('/json')).body).toEqual({});
    expect((await client.post('/json').set('Content-Type', 'text/plain')).status).toBe(200);
    expect((await client.post('/shaped')).body.errors).toEqual([{ field: 'body', message: 'is required' }]);
  });

  it('reads a form, repeated parameters as a list and brackets as they stand', async () => {
    const form = client.post('/form').set('Content-Type', 'application/x-www-form-urlencoded');
    expect((await form.send('a=%C3%A9+1&b=1&b=2&c[d]=3&__proto__=x')).body.got).toEqual({
      a: 'é 1',
      b: ['1', '2'],
      'c[d]': '3',
    });
  });

  it('logs nothing of a body that it refuses', async () => {
    await client.post('/json').set('Content-Type', 'application/json').send('{"password":"hunter2-hunter2"');
    expect(logText()).not.toContain('hunter2');
  });
});
