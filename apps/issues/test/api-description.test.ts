import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { issuesApi } from '@tessera/contracts';
import { readApiDocument } from '@tessera/service-kit';
import { createRoutes } from '../src/app.ts';
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
    ]);
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
  return issuesApi.operations.map(({ id, method, path, ...operation }) => ({
    id,
    method: methods[method],
    path,
    security: 'security' in operation ? operation.security : undefined,
  }));
}
