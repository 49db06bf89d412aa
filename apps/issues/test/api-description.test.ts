import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { issuesApi, type Operation, problemsOf } from '@tessera/contracts';
import { readApiDocument } from '@tessera/service-kit';
import { createRoutes } from '../src/app.ts';
import { aPerson } from './support/people.ts';
import { startTestApp, type TestApp } from './support/test-app.ts';

let app: TestApp;
beforeAll(async () => {
  app = await startTestApp();
});
afterAll(() => app.close());

describe('the route list', () => {
  it('has one route for each operation and for each file of the documentation', () => {
    const operations = createRoutes(app.dependencies).map(({ operation }) => operation);
    expect(operations.flatMap(({ id }) => id ?? []).toSorted()).toEqual(
      issuesApi.operations.map(({ id }) => id).toSorted(),
    );
    const documents = operations.filter(({ id }) => id === undefined);
    expect(documents.map(({ method, path }) => `${method} ${path}`)).toEqual([
      'GET /',
      'GET /api/openapi.json',
      'GET /api/docs/',
      'GET /api/docs/swagger-ui.css',
      'GET /api/docs/swagger-ui-bundle.js',
      'GET /api/docs/favicon-32x32.png',
      'GET /api/docs/start.js',
      'GET /api/problems',
      'GET /api/problems/:code',
    ]);
  });

  it('has an entry for each code, to which the type of an error refers', async () => {
    const { body } = await app.http.get('/api/v1/issues/');
    const type = new URL(body.type);
    expect(type.origin).toBe(app.dependencies.config.publicBaseUrl);
    const page = await app.http.get(type.pathname).set('Accept', 'text/html').expect(200);
    expect(page.text).toContain('<code>unauthorized</code>');
  });

  it('requires a token exactly where the operation declares one', async () => {
    for (const { id, method, path, security } of routedOperations()) {
      const url = path.replaceAll(/:\w+/g, 'x');
      const { status, body } = await app.http[method](url);
      expect([id, status === 401 && body.code]).toEqual([
        id,
        security === undefined ? false : 'unauthorized',
      ]);
    }
  });

  it('requires a verified identity, and documents it, exactly where the operation declares a token', async () => {
    const strict = await startTestApp({ REQUIRE_VERIFIED: 'all' }, app);
    const { token } = await aPerson(app);
    for (const { id, method, path, security, operation } of routedOperations()) {
      const url = path.replaceAll(/:\w+/g, 'x');
      const { status, body } = await strict.http[method](url).auth(token, { type: 'bearer' });
      const documented = problemsOf(operation).find((problem) => problem.status === 403)?.codes ?? [];
      expect([id, status === 403 && body.code, documented.includes('unverified')]).toEqual(
        security === undefined ? [id, false, false] : [id, 'unverified', true],
      );
    }
    await strict.close();
  });
});

describe('the OpenAPI document', () => {
  it('is served as OpenAPI 3.1 with an interactive page', async () => {
    const { body } = await app.http.get('/api/openapi.json').expect(200);
    expect(body.openapi).toBe('3.1.0');
    expect(body).toEqual(readApiDocument('issues'));
    expect(Object.keys(body.paths)).toContain('/api/v1/issues/{id}/status/');
    expect(Object.keys(body.components.schemas)).toEqual(
      expect.arrayContaining([
        'CreateIssue',
        'UpdateIssue',
        'Issue',
        'Comment',
        'Link',
        'Activity',
        'Problem',
      ]),
    );
    for (const path of ['/api/docs', '/api/docs/']) {
      expect((await app.http.get(path).expect(200)).text).toContain('<title>Tessera issues</title>');
    }
  });
});

const methods = {
  GET: 'get',
  POST: 'post',
  PUT: 'put',
  PATCH: 'patch',
  DELETE: 'delete',
  OPTIONS: 'options',
} as const;

function routedOperations() {
  return issuesApi.operations.map((operation: Operation) => {
    const { id, method, path, security } = operation;
    return { id, method: methods[method], path, security, operation };
  });
}
