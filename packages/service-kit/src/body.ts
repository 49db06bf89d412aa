import { isUtf8 } from 'node:buffer';
import type { IncomingMessage } from 'node:http';
import express, { type RequestHandler } from 'express';
import { ProblemError } from './problem.ts';

interface BodyOptions {
  /** Upper bound of the body, in bytes. */
  limitBytes: number;
  /** Also take `application/x-www-form-urlencoded` (RFC 6749 4.3.2). */
  form?: boolean;
}

/**
 * Reads a request body into `request.body`: 415 for another media type, 413 over the limit, 400 for what is not
 * UTF-8 or not JSON. Stands in a route, never before it, so that an unknown path or method is answered first.
 */
export function readBody({ limitBytes, form = false }: BodyOptions): RequestHandler {
  const accepted = form ? ['application/json', 'application/x-www-form-urlencoded'] : ['application/json'];
  const options = { limit: limitBytes, inflate: false };
  // Not strict: a JSON string or null is well-formed and refused as the wrong shape, not as bad syntax.
  const readJson = express.json({ ...options, strict: false, verify: assertUtf8 });
  const readForm = express.urlencoded({ ...options, extended: false, verify: assertUtf8Form });
  return (request, response, next) => {
    if (hasBody(request) && request.is(accepted) === false) {
      throw new ProblemError({
        status: 415,
        code: 'unsupported_media_type',
        detail: `The body must be ${accepted.join(' or ')}.`,
      });
    }
    const read = request.is('application/x-www-form-urlencoded') ? readForm : readJson;
    read(request, response, next);
  };
}

function hasBody(request: IncomingMessage): boolean {
  const length = request.headers['content-length'];
  return request.headers['transfer-encoding'] !== undefined || (length !== undefined && length !== '0');
}

// A lenient decoder would replace bad bytes, and two different passwords could become one. RFC 8259 8.1 knows no other
// encoding of JSON.
function assertUtf8(_request: IncomingMessage, _response: unknown, body: Buffer, charset: string): void {
  if (charset !== 'utf-8') {
    throw new ProblemError({
      status: 415,
      code: 'unsupported_media_type',
      detail: 'The body must be UTF-8.',
    });
  }
  if (!isUtf8(body)) throw notUtf8();
}

// A form may write its bytes as `%C3%A9` too.
function assertUtf8Form(request: IncomingMessage, response: unknown, body: Buffer, charset: string): void {
  assertUtf8(request, response, body, charset);
  try {
    for (const [escapes] of body.toString('latin1').matchAll(/(?:%[0-9a-f]{2})+/gi))
      decodeURIComponent(escapes);
  } catch {
    throw notUtf8();
  }
}

function notUtf8(): ProblemError {
  return new ProblemError({ status: 400, code: 'malformed_body', detail: 'The body is not valid UTF-8.' });
}
