import { isUtf8 } from 'node:buffer';
import type { IncomingMessage, ServerResponse } from 'node:http';
import express from 'express';
import typeis from 'type-is';
import { ProblemError } from './problem.ts';
import type { ConnectHandler } from './security-headers.ts';

declare module 'node:http' {
  interface IncomingMessage {
    /** Set by `readBody`. */
    body?: unknown;
  }
}

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
export function readBody({ limitBytes, form = false }: BodyOptions): ConnectHandler {
  const accepted = form ? ['application/json', 'application/x-www-form-urlencoded'] : ['application/json'];
  const options = { limit: limitBytes, inflate: false };
  // Not strict: a JSON string or null is well-formed and refused as the wrong shape, not as bad syntax.
  const readJson = express.json({ ...options, strict: false, verify: assertUtf8 });
  const readForm = express.urlencoded({ ...options, extended: false, verify: assertUtf8Form });
  return (request, response, next) => {
    if (hasBody(request) && typeis(request, accepted) === false) {
      throw new ProblemError({
        status: 415,
        code: 'unsupported_media_type',
        detail: `The body must be ${accepted.join(' or ')}.`,
      });
    }
    const read: ConnectHandler = isForm(request) ? readForm : readJson;
    read(request, response, next);
  };
}

/** Whether a request's body is a form. */
export function isForm(request: IncomingMessage): boolean {
  return typeof typeis(request, ['application/x-www-form-urlencoded']) === 'string';
}

/** Reads the body with a `readBody` where no Express calls it. */
export function bodyRead(
  read: ConnectHandler,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  return new Promise((resolve, reject) => {
    read(request, response, (error) => (error === undefined ? resolve() : reject(error)));
  });
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
