import { readdirSync, readFileSync } from 'node:fs';
import { extname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';
import {
  documentRoute,
  type PreparedDocument,
  ProblemError,
  prepareBytes,
  type Route,
  sendPreparedDocument,
} from '@tessera/service-kit';

/** The result of the Vite build. The path is the same from `src` and from `dist`. */
const builtFolder = fileURLToPath(new URL('../../dist/web/', import.meta.url));

/** The paths of the app's pages besides `/`. */
export const pagePaths = [
  '/issues',
  '/issues/:key',
  '/inbox',
  '/my',
  '/board',
  '/settings',
  '/settings/:section',
  '/sign-in',
];

const contentTypes: Readonly<Record<string, string>> = {
  '.css': 'text/css; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.md': 'text/markdown; charset=utf-8',
  '.svg': 'image/svg+xml',
};

// The name of a file contains its hash.
const forever = { 'Cache-Control': 'public, max-age=31536000, immutable' };

const pagePolicy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "connect-src 'self'",
  "img-src 'self' data:",
  "font-src 'self'",
  "base-uri 'none'",
  "form-action 'self'",
  "frame-ancestors 'none'",
  // Only DOMPurify may create HTML from a string.
  "require-trusted-types-for 'script'",
  'trusted-types dompurify',
].join('; ');

/** Reads the built page of the web app, once at start. @throws if the app was not built */
export function readWebAppPage(folder = builtFolder): PreparedDocument {
  return prepareBytes(readFileSync(join(folder, 'index.html')), 'text/html; charset=utf-8', {
    // Names the files of one build, so an old page would request files that no longer exist.
    'Cache-Control': 'no-store',
    'Content-Security-Policy': pagePolicy,
    Vary: 'Accept',
  });
}

/**
 * Returns the routes of the web app's pages and files. A page answers requests of browsers, which accept HTML; for other
 * clients its path does not exist.
 */
export function webAppRoutes(page: PreparedDocument, folder = builtFolder): Route[] {
  const assets = join(folder, 'assets');
  return [
    ...pagePaths.map(
      (path): Route => ({
        ...documentRoute({ method: 'GET', path }, page),
        serve: (request, response) => {
          if (request.headers.accept?.includes('text/html') !== true)
            throw new ProblemError({ status: 404, code: 'not_found', detail: 'Resource not found.' });
          sendPreparedDocument(request, response, page);
        },
      }),
    ),
    ...readdirSync(assets).map((name) => assetRoute(`/assets/${name}`, readFileSync(join(assets, name)))),
  ];
}

function assetRoute(path: string, content: Buffer): Route {
  const type = contentTypes[extname(path)];
  if (type === undefined) throw new Error(`${path} has no content type.`);
  const headers = { ...forever, Vary: 'Accept-Encoding' };
  const plain = prepareBytes(content, type, headers);
  const compressed = prepareBytes(gzipSync(content, { level: 9 }), type, {
    ...headers,
    'Content-Encoding': 'gzip',
  });
  return {
    ...documentRoute({ method: 'GET', path }, plain),
    serve: (request, response) => {
      const accepts = /(?:^|[\s,])(?:x-)?gzip(?!\s*;\s*q=0(?:\.0*)?(?:\s|,|$))/i;
      const isCompressed = accepts.test(request.headers['accept-encoding']?.toString() ?? '');
      sendPreparedDocument(request, response, isCompressed ? compressed : plain);
    },
  };
}
