import { describe, expect, it } from '@jest/globals';
import supertest from 'supertest';
import { apiDocsRouter, describeApi, listRoutes, securityHeaders } from '../src/index.ts';
import { operations } from './support/operations.ts';
import { buildApp } from './support/test-app.ts';

const document = describeApi({ title: 'Tickets', version: '1', description: '', operations });
const app = buildApp((app) => {
  app.use(securityHeaders({ hsts: false }));
  app.use(
    apiDocsRouter({
      documentPath: '/api/openapi.json',
      pagePath: '/api/docs/',
      document,
      title: '<Tickets> & "more"',
    }),
  );
});
const client = supertest(app);

async function addressesOnPage(): Promise<string[]> {
  const { text } = await client.get('/api/docs');
  return [...text.matchAll(/(?:src|href)="([^"]*)"/g)].map(([, address]) => address ?? '');
}

describe('apiDocsRouter', () => {
  it('serves the document, for five minutes and by ETag', async () => {
    const response = await client.get('/api/openapi.json');
    expect(response.headers['content-type']).toBe('application/json; charset=utf-8');
    expect(response.headers['cache-control']).toBe('public, max-age=300');
    expect(response.body).toEqual(JSON.parse(JSON.stringify(document)));
    const again = await client.get('/api/openapi.json').set('If-None-Match', response.headers.etag ?? '');
    expect(again.status).toBe(304);
  });

  it('serves the same page with and without a slash at its end, without a redirect', async () => {
    const [bare, slashed] = [await client.get('/api/docs'), await client.get('/api/docs/')];
    expect([bare.status, slashed.status]).toEqual([200, 200]);
    expect(bare.headers['content-type']).toBe('text/html; charset=utf-8');
    expect(slashed.text).toBe(bare.text);
  });

  it('allows the page its own scripts, styles and requests, and nothing inline or foreign', async () => {
    const { headers, text } = await client.get('/api/docs');
    const policy = headers['content-security-policy'] ?? '';
    expect(policy).toContain("default-src 'none'");
    for (const directive of ['script-src', 'style-src', 'connect-src']) {
      expect(policy).toContain(`${directive} 'self';`);
    }
    expect(policy).toContain("frame-ancestors 'none'");
    expect(policy).not.toMatch(/unsafe|https?:|\*/);
    expect(text).not.toMatch(/<script>|<style|style=|onload|https?:/);
  });

  it('writes the title as text', async () => {
    expect((await client.get('/api/docs')).text).toContain(
      '<title>&#60;Tickets&#62; &#38; &#34;more&#34;</title>',
    );
  });

  it('serves every file that the page names, for good, under an address that names its content', async () => {
    const addresses = await addressesOnPage();
    expect(addresses).toHaveLength(4);
    const types = new Set<string | undefined>();
    for (const address of addresses) {
      expect(address).toMatch(/^\/api\/docs\/[a-z0-9.-]+\?v=[\w-]{12}$/);
      const response = await client.get(address);
      expect(response.status).toBe(200);
      expect(response.headers['cache-control']).toBe('public, max-age=31536000, immutable');
      expect(response.headers.etag).toContain(address.split('?v=')[1]);
      types.add(response.headers['content-type']);
    }
    expect(types).toEqual(
      new Set(['image/png', 'text/css; charset=utf-8', 'text/javascript; charset=utf-8']),
    );
  });

  it('starts the page with the document of this origin, and no validator elsewhere', async () => {
    const start = (await addressesOnPage()).find((address) => address.includes('start.js')) ?? '';
    const { text } = await client.get(start).buffer(true);
    expect(text).toContain('"url":"/api/openapi.json"');
    expect(text).toContain('"validatorUrl":null');
  });

  it.each([
    '/api/docs/package.json',
    '/api/docs/swagger-ui.js',
    '/api/docs/../openapi.json',
    '/api/docs/%2e%2e/x',
  ])('serves nothing else of the library: %s', async (path) => {
    expect((await client.get(path)).status).not.toBe(200);
  });

  it('takes no other method, and lists its two routes and not its files', async () => {
    expect((await client.post('/api/docs/start.js')).status).toBe(404);
    expect((await client.post('/api/docs')).status).toBe(405);
    expect(listRoutes(app).map(({ method, path }) => `${method} ${path}`)).toEqual([
      'GET /api/openapi.json',
      'GET /api/docs',
    ]);
  });
});
