import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { Router } from 'express';
import type { OpenApiDocument } from './api-document.ts';
import {
  type PreparedDocument,
  prepareBytes,
  prepareDocument,
  sendPreparedDocument,
} from './prepared-document.ts';

interface ApiDocsOptions {
  /** Where the OpenAPI document is served, such as `/openapi.json`. */
  documentPath: string;
  /** Where the page is served, with or without a slash at its end; its files lie below. */
  pagePath: string;
  document: OpenApiDocument;
  title: string;
}

const forMinutes = { 'Cache-Control': 'public, max-age=300' };
// A file's address names its content (`?v=`), so a copy of it never grows old.
const forEver = { 'Cache-Control': 'public, max-age=31536000, immutable' };

// What Swagger UI needs and no more.
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
 * The OpenAPI document, and an interactive page for it by Swagger UI. The page asks no other origin for anything, and
 * sends its requests to the origin that it came from.
 */
export function apiDocsRouter({ documentPath, pagePath, document, title }: ApiDocsOptions): Router {
  const basePath = pagePath.replace(/\/$/, '');
  const files = prepareFiles(documentPath);
  const preparedDocument = prepareDocument(document, forMinutes);
  const page = prepareBytes(Buffer.from(renderPage(title, basePath, files)), 'text/html; charset=utf-8', {
    ...forMinutes,
    'Content-Security-Policy': pagePolicy,
  });
  const router = Router();
  router.get(documentPath, (request, response) => sendPreparedDocument(request, response, preparedDocument));
  router.get(basePath, (request, response) => sendPreparedDocument(request, response, page));
  // Not a route: the page's files are no part of the API.
  router.use(basePath, (request, response, next) => {
    const file = request.method === 'GET' || request.method === 'HEAD' ? files.get(request.path) : undefined;
    if (file === undefined) next();
    else sendPreparedDocument(request, response, file);
  });
  return router;
}

function prepareFiles(documentPath: string): Map<string, PreparedDocument> {
  const folder = dirname(createRequire(import.meta.url).resolve('swagger-ui-dist/package.json'));
  const read = (name: string) => readFileSync(join(folder, name));
  return new Map([
    ['/swagger-ui.css', prepareBytes(read('swagger-ui.css'), 'text/css; charset=utf-8', forEver)],
    [
      '/swagger-ui-bundle.js',
      prepareBytes(read('swagger-ui-bundle.js'), 'text/javascript; charset=utf-8', forEver),
    ],
    ['/favicon-32x32.png', prepareBytes(read('favicon-32x32.png'), 'image/png', forEver)],
    [
      '/start.js',
      prepareBytes(Buffer.from(renderStart(documentPath)), 'text/javascript; charset=utf-8', forEver),
    ],
  ]);
}

// validatorUrl: by default the document would be sent to a public validator.
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

function renderPage(title: string, basePath: string, files: Map<string, PreparedDocument>): string {
  const addressOf = (name: string) => `${basePath}${name}?v=${files.get(name)?.etag.slice(1, 13)}`;
  return `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escapeHtml(title)}</title>
<link rel="icon" type="image/png" href="${addressOf('/favicon-32x32.png')}">
<link rel="stylesheet" href="${addressOf('/swagger-ui.css')}">
<div id="page"></div>
<script src="${addressOf('/swagger-ui-bundle.js')}"></script>
<script src="${addressOf('/start.js')}"></script>
</html>
`;
}

function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
}
