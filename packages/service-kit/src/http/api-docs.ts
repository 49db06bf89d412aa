import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { getLiveness, getReadiness, problemsPath } from '@tessera/contracts';
import {
  type PreparedDocument,
  prepareBytes,
  prepareDocument,
  sendPreparedDocument,
} from './prepared-document.ts';
import { escapeHtml, problemPageRoutes } from './problem-pages.ts';
import { documentRoute, type Route } from './route.ts';

interface ApiDocsOptions {
  api: 'identity' | 'issues';
  /** The path of the OpenAPI document, such as `/openapi.json`. */
  documentPath: string;
  /** The path of the page, with or without a trailing slash. The page's files are below it. */
  pagePath: string;
  /** Where an earlier release served both; they stay there, too. */
  earlier?: { documentPath: string; pagePath: string };
  /** The response to browsers at `/`. Default: a page with links. */
  homePage?: PreparedDocument | undefined;
}

const forMinutes = { 'Cache-Control': 'public, max-age=300' };
// A file's URL contains its hash (`?v=`), so caches may keep it.
const forever = { 'Cache-Control': 'public, max-age=31536000, immutable' };

const pagePolicy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ');

/**
 * Returns the routes of the OpenAPI document of `@tessera/contracts` and of an interactive page for it by Swagger UI.
 * The page loads no resources from other origins and sends its requests to its own origin. Also returns the reference of errors.
 * `/` links to all, or shows the given home page to browsers.
 */
export function apiDocsRoutes(options: ApiDocsOptions): Route[] {
  const { api, documentPath, pagePath, homePage: given, earlier } = options;
  const document = readApiDocument(api);
  const files = prepareFiles(documentPath);
  const basePath = pagePath.replace(/\/$/, '');
  const page = renderPage(document.info.title, basePath, files);
  const preparePage = (html: string, headers?: Record<string, string>) =>
    prepareBytes(Buffer.from(html), 'text/html; charset=utf-8', {
      ...forMinutes,
      'Content-Security-Policy': pagePolicy,
      ...headers,
    });
  const links = {
    docs: pagePath,
    openapi: documentPath,
    problems: problemsPath,
    health: getLiveness.path,
    readiness: getReadiness.path,
  };
  const { title, version } = document.info;
  const home = prepareDocument({ title, version, links }, { ...forMinutes, Vary: 'Accept' });
  const homePage = given ?? preparePage(renderHome(title, links), { Vary: 'Accept' });
  const served = earlier === undefined ? [options] : [options, earlier];
  return [
    {
      ...documentRoute({ method: 'GET', path: '/' }, home),
      serve: (request, response) => {
        const isBrowser = request.headers.accept?.includes('text/html') === true;
        sendPreparedDocument(request, response, isBrowser ? homePage : home);
      },
    },
    ...served.flatMap((paths) => [
      documentRoute({ method: 'GET', path: paths.documentPath }, prepareDocument(document, forMinutes)),
      documentRoute({ method: 'GET', path: paths.pagePath }, preparePage(page)),
    ]),
    ...[...files].map(([name, file]) => documentRoute({ method: 'GET', path: `${basePath}${name}` }, file)),
    ...problemPageRoutes(),
  ];
}

/** Reads a committed OpenAPI document. */
export function readApiDocument(api: ApiDocsOptions['api']): { info: { title: string; version: string } } {
  const path = createRequire(import.meta.url).resolve(`@tessera/contracts/openapi/${api}.json`);
  return JSON.parse(readFileSync(path, 'utf8'));
}

function prepareFiles(documentPath: string): Map<string, PreparedDocument> {
  const folder = dirname(createRequire(import.meta.url).resolve('swagger-ui-dist/package.json'));
  const read = (name: string) => readFileSync(join(folder, name));
  return new Map([
    ['/swagger-ui.css', prepareBytes(read('swagger-ui.css'), 'text/css; charset=utf-8', forever)],
    [
      '/swagger-ui-bundle.js',
      // 1.7 MB uncompressed. Every browser accepts gzip.
      prepareBytes(gzipSync(read('swagger-ui-bundle.js')), 'text/javascript; charset=utf-8', {
        ...forever,
        'Content-Encoding': 'gzip',
      }),
    ],
    ['/favicon-32x32.png', prepareBytes(read('favicon-32x32.png'), 'image/png', forever)],
    [
      '/start.js',
      prepareBytes(Buffer.from(renderStart(documentPath)), 'text/javascript; charset=utf-8', forever),
    ],
  ]);
}

// `validatorUrl: null` is required, because by default Swagger UI sends the document to a public validator.
function renderStart(documentPath: string): string {
  const settings = JSON.stringify({
    url: documentPath,
    dom_id: '#page',
    deepLinking: true,
    displayRequestDuration: true,
    validatorUrl: null,
  });
  return `SwaggerUIBundle(${settings});\n`;
}

/** Returns the HTML of the page. The URL of each file contains the beginning of its ETag from `files`. */
export function renderPage(title: string, basePath: string, files: Map<string, PreparedDocument>): string {
  const urlOf = (name: string) => `${basePath}${name}?v=${files.get(name)?.etag.slice(1, 13)}`;
  return `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escapeHtml(title)}</title>
<link rel="icon" type="image/png" href="${urlOf('/favicon-32x32.png')}">
<link rel="stylesheet" href="${urlOf('/swagger-ui.css')}">
<div id="page"></div>
<script src="${urlOf('/swagger-ui-bundle.js')}"></script>
<script src="${urlOf('/start.js')}"></script>
</html>
`;
}

function renderHome(title: string, links: Readonly<Record<string, string>>): string {
  const items = Object.entries(links).map(([name, path]) => `<li><a href="${path}">${name}</a></li>`);
  return `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escapeHtml(title)}</title>
<h1>${escapeHtml(title)}</h1>
<ul>
${items.join('\n')}
</ul>
</html>
`;
}
