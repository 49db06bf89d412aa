import { isUtf8 } from 'node:buffer';
import type { IncomingMessage, ServerResponse } from 'node:http';
import express from 'express';
import typeis from 'type-is';
import { IncomingBodies } from './incoming-bodies.ts';
import { ProblemError } from './problem.ts';
import type { ConnectHandler } from './security-headers.ts';

declare module 'node:http' {
  interface IncomingMessage {
    /** Set by `readBody`. */
    body?: unknown;
    /** The size of the body as it was sent; set by `readBody`. */
    bodyBytes?: number;
  }
}

export interface BodyOptions {
  /** Maximum size of the body, in bytes; 256 KiB by default. */
  limitBytes?: number;
  /** Keeps the bytes as a `Buffer`, of any media type: for a body with a signature over its bytes. */
  raw?: boolean;
  /** Makes the input of the body's schema from the request; by default it is the body. */
  from?: (request: IncomingMessage) => unknown;
}

// Of the whole process.
const incomingBodies = new IncomingBodies();

/**
 * Reads a request body into `request.body`: 415 for another media type, 413 above the limit, 400 for a body that is not
 * UTF-8 or not JSON, 408 while the bodies of all requests take too much memory. `form` also accepts `application/x-www-form-urlencoded` (RFC 6749 4.3.2).
 */
export function readBody(
  { form }: { form?: unknown },
  { limitBytes = 256 * 1024, raw = false }: BodyOptions = {},
): (request: IncomingMessage, response: ServerResponse) => Promise<void> {
  const accepted =
    form === undefined ? ['application/json'] : ['application/json', 'application/x-www-form-urlencoded'];
  const options = { limit: limitBytes, inflate: false };
  const readRaw: ConnectHandler = express.raw({ ...options, type: () => true, verify: noteSize });
  // Not strict: a JSON string or null is valid syntax; the schema refuses it.
  const readJson: ConnectHandler = express.json({ ...options, strict: false, verify: assertUtf8 });
  const readForm: ConnectHandler = express.urlencoded({
    ...options,
    extended: false,
    verify: assertUtf8Form,
  });
  return (request, response) => {
    if (!raw && hasBody(request) && typeis(request, accepted) === false) {
      throw new ProblemError({
        status: 415,
        code: 'unsupported_media_type',
        detail: `The body must be ${accepted.join(' or ')}.`,
      });
    }
    const read = raw ? readRaw : isForm(request) ? readForm : readJson;
    return new Promise((resolve, reject) => {
      let isRead = false;
      let stopWatching: (() => void) | undefined;
      read(request, response, (error) => {
        isRead = true;
        stopWatching?.();
        if (error !== undefined) reject(error);
        else if (read === readForm && hasRepeatedParameter(request.body)) reject(repeatedParameter());
        else resolve();
      });
      // A body that is too large is discarded and takes no memory.
      const isHeld =
        !isRead && !request.complete && !(Number(request.headers['content-length']) > limitBytes);
      if (isHeld) stopWatching = incomingBodies.watch(request, limitBytes, reject);
    });
  };
}

/** Whether a request's body is a form. */
export function isForm(request: IncomingMessage): boolean {
  return typeof typeis(request, ['application/x-www-form-urlencoded']) === 'string';
}

function hasRepeatedParameter(form: unknown): boolean {
  return typeof form === 'object' && form !== null && Object.values(form).some(Array.isArray);
}

// RFC 6749 3.2
function repeatedParameter(): ProblemError {
  return new ProblemError({
    status: 400,
    code: 'invalid_request',
    detail: 'A parameter is given more than once.',
  });
}

function hasBody(request: IncomingMessage): boolean {
  const length = request.headers['content-length'];
  return request.headers['transfer-encoding'] !== undefined || (length !== undefined && length !== '0');
}

// A lenient decoder would replace invalid bytes, which could make two different passwords equal. RFC 8259 8.1 permits
// no other encoding of JSON.
function assertUtf8(request: IncomingMessage, response: unknown, body: Buffer, charset: string): void {
  noteSize(request, response, body);
  if (charset !== 'utf-8') {
    throw new ProblemError({
      status: 415,
      code: 'unsupported_media_type',
      detail: 'The body must be UTF-8.',
    });
  }
  if (!isUtf8(body)) throw notUtf8();
}

// A form may also encode bytes as `%C3%A9`.
function assertUtf8Form(request: IncomingMessage, response: unknown, body: Buffer, charset: string): void {
  assertUtf8(request, response, body, charset);
  try {
    for (const [escapes] of body.toString('latin1').matchAll(/(?:%[0-9a-f]{2})+/gi))
      decodeURIComponent(escapes);
  } catch {
    throw notUtf8();
  }
}

function noteSize(request: IncomingMessage, _response: unknown, body: Buffer): void {
  request.bodyBytes = body.length;
}

function notUtf8(): ProblemError {
  return new ProblemError({ status: 400, code: 'malformed_body', detail: 'The body is not valid UTF-8.' });
}
