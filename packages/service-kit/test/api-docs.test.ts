import { describe, expect, it } from '@jest/globals';
import { problemReference } from '@tessera/contracts';
import { renderPage } from '../src/http/api-docs.ts';
import { apiDocsRoutes, readApiDocument } from '../src/index.ts';
import { startApp } from './support/test-app.ts';

const routes = apiDocsRoutes({ api: 'issues', documentPath: '/api/openapi.json', pagePath: '/api/docs/' });
const { client } = startApp(routes);

async function urlsOnPage(): Promise<string[]> {
  const { text } = await client.get('/api/docs');
  return [...text.matchAll(/(?:src|href)="([^"]*)"/g)].map(([, url]) => url ?? '');
}

describe('apiDocsRoutes', () => {
  it('serves the committed document, cacheable for five minutes and by ETag', async () => {
    const response = await client.get('/api/openapi.json');
    expect(response.headers['content-type']).toBe('application/json; charset=utf-8');
    expect(response.headers['cache-control']).toBe('public, max-age=300');
    expect(response.body).toEqual(readApiDocument('issues'));
    expect(response.body).toMatchObject({ openapi: '3.1.0', info: { title: 'Tessera issues' } });
    const again = await client.get('/api/openapi.json').set('If-None-Match', response.headers.etag ?? '');
    expect(again.status).toBe(304);
  });

  it.each(['/api/docs', '/api/docs/'])(
    'serves the page with and without a trailing slash, without a redirect, when its path is given as %s',
    async (pagePath) => {
      const { client } = startApp(
        apiDocsRoutes({ api: 'issues', documentPath: '/api/openapi.json', pagePath }),
      );
      const [bare, slashed] = [await client.get('/api/docs'), await client.get('/api/docs/')];
      expect([bare.status, slashed.status]).toEqual([200, 200]);
      expect(bare.headers['content-type']).toBe('text/html; charset=utf-8');
      expect(slashed.text).toBe(bare.text);
      expect((await client.get('/api/docs/start.js')).status).toBe(200);
    },
  );

  it("allows the page's own scripts, styles and requests, and nothing inline or of another origin", async () => {
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

  it('links from the root to the documents, as a page for browsers and as JSON for other clients', async () => {
    const links = {
      docs: '/api/docs/',
      openapi: '/api/openapi.json',
      problems: '/api/problems',
      health: '/healthz',
      readiness: '/readyz',
    };
    const { body, headers } = await client.get('/');
    expect(body).toEqual({ title: 'Tessera issues', version: expect.any(String), links });
    expect(headers.vary).toContain('Accept');
    const page = await client.get('/').set('Accept', 'text/html,application/xhtml+xml,*/*;q=0.8');
    expect(page.headers['content-type']).toBe('text/html; charset=utf-8');
    expect(page.headers['content-security-policy']).toContain("default-src 'none'");
    expect([...page.text.matchAll(/href="([^"]*)"/g)].map(([, url]) => url)).toEqual(Object.values(links));
  });

  it("writes the document's title, as text", async () => {
    expect((await client.get('/api/docs')).text).toContain('<title>Tessera issues</title>');
    expect(renderPage('<Tickets> & "more"', '/docs', new Map())).toContain(
      '<title>&#60;Tickets&#62; &#38; &#34;more&#34;</title>',
    );
  });

  it('serves every file of the page as immutable, at a URL that contains its hash', async () => {
    const urls = await urlsOnPage();
    expect(urls).toHaveLength(4);
    const types = new Set<string | undefined>();
    for (const url of urls) {
      expect(url).toMatch(/^\/api\/docs\/[a-z0-9.-]+\?v=[\w-]{12}$/);
      const response = await client.get(url);
      expect(response.status).toBe(200);
      expect(response.headers['cache-control']).toBe('public, max-age=31536000, immutable');
      expect(response.headers.etag).toContain(url.split('?v=')[1]);
      types.add(response.headers['content-type']);
      expect(Number(response.headers['content-length'])).toBeLessThan(1024 * 1024);
    }
    expect(types).toEqual(
      new Set(['image/png', 'text/css; charset=utf-8', 'text/javascript; charset=utf-8']),
    );
  });

  it('loads the document from its own origin and sends it to no validator', async () => {
    const start = (await urlsOnPage()).find((url) => url.includes('start.js')) ?? '';
    const { text } = await client.get(start).buffer(true);
    expect(text).toContain('"url":"/api/openapi.json"');
    expect(text).toContain('"validatorUrl":null');
  });

  it.each([
    '/api/docs/package.json',
    '/api/docs/swagger-ui.js',
    '/api/docs/../openapi.json',
    '/api/docs/%2e%2e/x',
  ])('does not serve other files of the library: %s', async (path) => {
    expect((await client.get(path)).status).not.toBe(200);
  });

  it('explains each code on a page without scripts, to which the list links', async () => {
    const list = await client.get('/api/problems');
    const urls = [...list.text.matchAll(/href="([^"]*)"/g)].map(([, url]) => url ?? '');
    expect(urls).toEqual(Object.keys(problemReference).map((code) => `/api/problems/${code}`));
    for (const [code, { meaning, action }] of Object.entries(problemReference)) {
      const { status, headers, text } = await client.get(`/api/problems/${code}`);
      expect([status, headers['content-type']]).toEqual([200, 'text/html; charset=utf-8']);
      expect(headers['content-security-policy']).toBe("default-src 'none';frame-ancestors 'none'");
      expect(text).not.toMatch(/<(?:script|style|link|img|[^>]* style=)|undefined/);
      const shown = text
        .replaceAll(/<[^>]*>/g, '')
        .replaceAll(/&#(\d+);/g, (_, char) => String.fromCharCode(char));
      for (const words of [code, meaning, action]) expect(shown).toContain(words.replaceAll('`', ''));
    }
    expect((await client.get('/api/problems/version_conflict')).text).toContain(
      '<title>Version conflict</title>',
    );
  });

  it.each(['nothing', 'constructor', 'Version_Conflict'])('has no page for the code %s', async (code) => {
    const { status, body } = await client.get(`/api/problems/${code}`).set('Accept', 'text/html');
    expect([status, body.code]).toEqual([404, 'not_found']);
  });

  it('is where the type of each error of the service refers to, also of a service below a path', async () => {
    const urls = {
      '': '/api',
      'https://id.example/': 'https://id.example/api',
      'https://x.example/id': 'https://x.example/id/api',
    };
    for (const [publicUrl, base] of Object.entries(urls)) {
      const { body } = await startApp(routes, { publicUrl }).client.get('/nowhere');
      expect(body.type).toBe(`${base}/problems/not_found`);
    }
  });

  it('accepts no other method, and serves no operation of the API', async () => {
    expect((await client.post('/api/docs/start.js')).status).toBe(405);
    expect((await client.post('/api/docs')).status).toBe(405);
    expect(routes.map(({ operation }) => `${operation.id} ${operation.method} ${operation.path}`)).toEqual([
      'undefined GET /',
      'undefined GET /api/openapi.json',
      'undefined GET /api/docs/',
      'undefined GET /api/docs/swagger-ui.css',
      'undefined GET /api/docs/swagger-ui-bundle.js',
      'undefined GET /api/docs/favicon-32x32.png',
      'undefined GET /api/docs/start.js',
      'undefined GET /api/problems',
      'undefined GET /api/problems/:code',
    ]);
  });
});
