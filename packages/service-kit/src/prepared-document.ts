import { createHash } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { DirectRoute } from './direct-route.ts';
import { type ConnectHandler, headersSetBy } from './security-headers.ts';

/** A document that never changes while the process lives, with everything about its answer made at start. */
export interface PreparedDocument {
  body: Buffer;
  headers: Record<string, string>;
  etag: string;
}

/** A JSON document, serialised once. */
export function prepareDocument(content: unknown, headers: Record<string, string> = {}): PreparedDocument {
  return prepareBytes(Buffer.from(JSON.stringify(content)), 'application/json; charset=utf-8', headers);
}

/** Any other document; the ETag is strong, over the bytes. */
export function prepareBytes(
  body: Buffer,
  contentType: string,
  headers: Record<string, string> = {},
): PreparedDocument {
  const etag = `"${createHash('sha256').update(body).digest('base64url')}"`;
  return { body, etag, headers: { 'Content-Type': contentType, ETag: etag, ...headers } };
}

/** Answers GET and HEAD with the document, and 304 where the client has it already (RFC 9110 13.1.2). */
export function sendPreparedDocument(
  request: IncomingMessage,
  response: ServerResponse,
  document: PreparedDocument,
): void {
  if (matchesEtag(request.headers['if-none-match'], document.etag)) {
    const { 'Content-Type': _, ...headers } = document.headers;
    response.writeHead(304, headers).end();
    return;
  }
  response.writeHead(200, { ...document.headers, 'Content-Length': document.body.length });
  response.end(request.method === 'HEAD' ? undefined : document.body);
}

/** The document as a route that needs no Express; `protect` sets the headers that every answer has. */
export function directDocument(
  path: string,
  document: PreparedDocument,
  protect: ConnectHandler,
): DirectRoute {
  return {
    method: 'GET',
    path,
    target: new RegExp(`^${path.replaceAll('.', '\\.')}$`),
    headers: headersSetBy(protect),
    variesByOrigin: false,
    answer: (request, response) => sendPreparedDocument(request, response, document),
  };
}

function matchesEtag(header: string | undefined, etag: string): boolean {
  if (header === undefined) return false;
  return header.split(',').some((item) => item.trim() === '*' || item.trim().replace(/^W\//, '') === etag);
}
