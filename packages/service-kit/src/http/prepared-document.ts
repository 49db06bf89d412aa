import { createHash } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';

/** A document that does not change while the process runs. Its response is prepared at start. */
export interface PreparedDocument {
  /** The bytes as latin1, because Node sends a string and the header in one write, and a buffer in a second write. */
  body: string;
  headers: Record<string, string>;
  /** Headers of a 304. */
  unchangedHeaders: Record<string, string>;
  etag: string;
}

/** Prepares a JSON document. */
export function prepareDocument(content: unknown, headers: Record<string, string> = {}): PreparedDocument {
  return prepareBytes(Buffer.from(JSON.stringify(content)), 'application/json; charset=utf-8', headers);
}

/** Prepares a document of any media type. Its ETag is strong: a hash of the bytes. */
export function prepareBytes(
  body: Buffer,
  contentType: string,
  headers: Record<string, string> = {},
): PreparedDocument {
  const etag = `"${createHash('sha256').update(body).digest('base64url')}"`;
  const unchangedHeaders = { ETag: etag, ...headers };
  const bodyHeaders = { 'Content-Type': contentType, 'Content-Length': String(body.length) };
  return {
    body: body.toString('latin1'),
    etag,
    headers: { ...bodyHeaders, ...unchangedHeaders },
    unchangedHeaders,
  };
}

/** Answers GET and HEAD with the document, or with 304 if `If-None-Match` matches (RFC 9110 13.1.2). */
export function sendPreparedDocument(
  request: IncomingMessage,
  response: ServerResponse,
  document: PreparedDocument,
  status = 200,
): void {
  if (status === 200 && matchesEtag(request.headers['if-none-match'], document.etag)) {
    response.writeHead(304, document.unchangedHeaders).end();
    return;
  }
  response.writeHead(status, document.headers);
  if (request.method === 'HEAD') response.end();
  else response.end(document.body, 'latin1');
}

function matchesEtag(header: string | undefined, etag: string): boolean {
  if (header === undefined) return false;
  return header.split(',').some((item) => item.trim() === '*' || item.trim().replace(/^W\//, '') === etag);
}
