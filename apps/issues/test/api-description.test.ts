import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { findUndocumentedRoutes, listRoutes } from '@tessera/service-kit';
import { describeIssuesApi } from '../src/api-description.ts';
import { createApp } from '../src/app.ts';
import { startTestApp, type TestApp } from './support/test-app.ts';

let app: TestApp;
beforeAll(async () => {
  app = await startTestApp();
});
afterAll(() => app.close());

describe('the OpenAPI document', () => {
  it('describes every route of the whole service, and nothing that is not served', async () => {
    const routes = listRoutes(createApp(app.dependencies)).filter(
      // The document and its page are no part of the API that they describe.
      ({ path }) => path !== '/api/openapi.json' && path !== '/api/docs',
    );
    expect(findUndocumentedRoutes(routes, describeIssuesApi())).toEqual([]);
    const { body } = await app.http.get('/api/openapi.json').expect(200);
    expect(body.openapi).toBe('3.1.0');
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
