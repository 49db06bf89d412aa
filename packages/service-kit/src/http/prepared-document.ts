import { createHash } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';

/** A document that never changes while the process lives, with everything about its answer made at start. */
export interface PreparedDocument {
  /** Its bytes, a character each: Node sends a text together with the header, and a buffer after it. */
  body: string;
  headers: Record<string, string>;
  /** Those of a 304, which says nothing of a body. */
  unchangedHeaders: Record<string, string>;
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
  const unchangedHeaders = { ETag: etag, ...headers };
  const bodyHeaders = { 'Content-Type': contentType, 'Content-Length': String(body.length) };
  return {
    body: body.toString('latin1'),
    etag,
    headers: { ...bodyHeaders, ...unchangedHeaders },
    unchangedHeaders,
  };
}

/** Answers GET and HEAD with the document, and 304 where the client has it already (RFC 9110 13.1.2). */
export function sendPreparedDocument(
  request: IncomingMessage,
  response: ServerResponse,
  document: PreparedDocument,
): void {
  if (matchesEtag(request.headers['if-none-match'], document.etag)) {
    response.writeHead(304, document.unchangedHeaders).end();
    return;
  }
  response.writeHead(200, document.headers);
  if (request.method === 'HEAD') response.end();
  else response.end(document.body, 'latin1');
}

function matchesEtag(header: string | undefined, etag: string): boolean {
  if (header === undefined) return false;
  return header.split(',').some((item) => item.trim() === '*' || item.trim().replace(/^W\//, '') === etag);
}
