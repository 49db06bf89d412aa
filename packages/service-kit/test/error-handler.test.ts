import { describe, expect, it } from '@jest/globals';
import { problemSchema } from '@tessera/contracts';
import { ProblemError, unavailableProblem, validationProblem } from '../src/index.ts';
import { getRoute, startApp } from './support/test-app.ts';

const { client, log } = startApp([
  getRoute('/refused', ({ response }) => {
    response.setHeader('Cache-Control', 'public, max-age=300').setHeader('ETag', '"kept"');
    throw new ProblemError({
      status: 409,
      code: 'illegal_transition',
      detail: 'The issue is closed.',
      headers: { 'X-Hint': 'reopen' },
      members: { current_status: 'CLOSED' },
      cause: new Error('private-cause'),
    });
  }),
  getRoute('/invalid', () => {
    throw validationProblem([{ field: 'email', message: 'is required' }]);
  }),
  getRoute('/unavailable', () => {
    throw unavailableProblem('The key set does not answer.', 7, new Error('private-cause'));
  }),
  getRoute('/broken', async () => {
    throw new Error('secret-internals');
  }),
  getRoute('/throws-text', () => {
    throw 'secret-internals';
  }),
  getRoute('/half', ({ response }) => {
    response.writeHead(200, { 'Content-Length': '100' }).write('half of it');
    throw new Error('too late');
  }),
  getRoute('/things/:id', ({ request }) => ({ status: 200, body: request.params })),
]);

describe('errorHandler', () => {
  it.each([
    ['/refused', 409],
    ['/invalid', 422],
    ['/unavailable', 503],
    ['/broken', 500],
    ['/throws-text', 500],
    ['/nowhere', 404],
    ['/things/%zz', 400],
  ])(
    'responds to %s with %d and the common error body, which caches must not store',
    async (path, status) => {
      const response = await client.get(path);
      expect(response.status).toBe(status);
      expect(problemSchema.parse(response.body)).toMatchObject({
        status,
        request_id: response.headers['x-request-id'],
      });
      expect(response.headers['content-type']).toBe('application/json; charset=utf-8');
      expect(response.headers['cache-control']).toBe('no-store');
    },
  );

  it('sends headers and members of a problem, but neither its cause nor an ETag that was set before', async () => {
    const response = await client.get('/refused');
    expect(response.body).toEqual({
      type: '/api/problems/illegal_transition',
      title: 'Conflict',
      status: 409,
      detail: 'The issue is closed.',
      code: 'illegal_transition',
      request_id: expect.any(String),
      current_status: 'CLOSED',
    });
    expect(response.headers['x-hint']).toBe('reopen');
    expect(response.headers).not.toHaveProperty('etag');
    expect(response.text).not.toContain('private-cause');
  });

  it('adds the invalid fields to a 422 and Retry-After to a 503', async () => {
    expect((await client.get('/invalid')).body.errors).toEqual([{ field: 'email', message: 'is required' }]);
    expect((await client.get('/unavailable')).headers['retry-after']).toBe('7');
  });

  it.each([['/broken'], ['/throws-text']])(
    'hides the internals of %s and logs them with the id',
    async (path) => {
      const response = await client.get(path);
      expect(response.text).not.toContain('secret-internals');
      const line = log.lines.findLast((line) => line.msg === 'request failed');
      expect(line).toMatchObject({ level: 'error', request_id: response.body.request_id, status: 500 });
      expect(JSON.stringify(line?.err)).toContain('secret-internals');
    },
  );

  it('destroys a response that fails after it started, so that the client does not take it for complete', async () => {
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
  ])('answers Accept: %s with %s', async (accept, contentType) => {
    const response = await client.get('/refused').set('Accept', accept);
    expect(response.headers['content-type']).toBe(contentType);
  });

  it('lets the service convert errors of libraries, and add members', async () => {
    const { client } = startApp(
      [
        getRoute('/', () => {
          throw new RangeError('private');
        }),
      ],
      {
        translate: (error) =>
          error instanceof RangeError
            ? new ProblemError({ status: 400, code: 'invalid_page', detail: 'Too far.' })
            : undefined,
        extraMembers: (problem) => ({ error: 'invalid_request', error_description: problem.detail }),
      },
    );
    const response = await client.get('/');
    expect(response.body).toMatchObject({
      code: 'invalid_page',
      error: 'invalid_request',
      error_description: 'Too far.',
    });
  });
});
