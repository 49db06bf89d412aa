import { isUtf8 } from 'node:buffer';
import type { IncomingMessage, ServerResponse } from 'node:http';
import express from 'express';
import typeis from 'type-is';
import { closeInStages, IncomingBodies } from '../server/index.ts';
import { ProblemError } from './problem.ts';
import type { ConnectHandler } from './security-headers.ts';

declare module 'node:http' {
  interface IncomingMessage {
    /** Set by `readBody`. */
    body?: unknown;
  }
}

export interface BodyOptions {
  /** Maximum size of the body, in bytes; 256 KiB by default. */
  limitBytes?: number;
  /** Accepts any media type and keeps the bytes as a `Buffer`, for a body with a signature over its bytes. */
  raw?: boolean;
  /** Returns the input for the body's schema; by default the body. */
  from?: (request: IncomingMessage) => unknown;
}

const formType = 'application/x-www-form-urlencoded';

// Shared by all requests of the process.
const incomingBodies = new IncomingBodies();

/**
 * Reads a request body into `request.body`: 415 for another media type, 413 above the limit (at once if `Content-Length`
 * is above it), 400 for a body that is not UTF-8 or not JSON, 408 while the bodies of all requests take too much memory.
 * `form` also accepts `application/x-www-form-urlencoded` (RFC 6749 4.3.2). `count` gets the size of a body before it is
 * parsed, because parsing 1 MiB takes 0.2 s.
 */
export function readBody(
  { form }: { form?: unknown },
  { limitBytes = 256 * 1024, raw = false }: BodyOptions = {},
): (
  request: IncomingMessage,
  response: ServerResponse,
  count?: (bytes: number) => void | Promise<void>,
) => Promise<void> {
  const accepted = form === undefined ? ['application/json'] : ['application/json', formType];
  const options = { limit: limitBytes, inflate: false };
  const readBytes: ConnectHandler = express.raw({ ...options, type: () => true });
  const readForm: ConnectHandler = express.urlencoded({
    ...options,
    extended: false,
    verify: assertUtf8Form,
  });
  const read = (request: IncomingMessage, response: ServerResponse, reader: ConnectHandler): Promise<void> =>
    new Promise((resolve, reject) => {
      if (Number(request.headers['content-length']) > limitBytes) {
        closeInStages(request.socket);
        reject(tooLarge());
        return;
      }
      const { expect } = request.headers;
      if (expect?.toLowerCase() === '100-continue' && request.httpVersion === '1.1') response.writeContinue();
      let isRead = false;
      let stopWatching: (() => void) | undefined;
      reader(request, response, (error) => {
        isRead = true;
        stopWatching?.();
        if (error === undefined) resolve();
        else reject(error);
      });
      const isHeld = !isRead && !request.complete;
      const refuse = (problem: ProblemError) => {
        // The rest of the body is ignored and not parsed.
        request.removeAllListeners('data');
        request.socket.pause();
        reject(problem);
      };
      if (isHeld) stopWatching = incomingBodies.watch(request, limitBytes, refuse);
    });
  return async (request, response, count) => {
    if (!raw && hasBody(request) && typeis(request, accepted) === false) {
      throw unsupportedMediaType(`The body must be ${accepted.join(' or ')}.`);
    }
    if (!raw) assertCharsetUtf8(request);
    if (!raw && isForm(request)) {
      // The reader knows `utf-8` only, not the other names of UTF-8.
      request.headers['content-type'] = formType;
      await read(request, response, readForm);
      if (hasRepeatedParameter(request.body)) throw repeatedParameter();
      return;
    }
    if (!hasBody(request) && !raw) return;
    await read(request, response, readBytes);
    if (!Buffer.isBuffer(request.body)) return;
    const bytes = request.body;
    await count?.(bytes.length);
    if (!raw) request.body = await parseInTurn(bytes);
  };
}

const largeBytes = 64 * 1024;
let isParsing = false;
const largeBodies: { bytes: number; parse: () => void }[] = [];

// Large bodies are parsed one at a time, the smallest first. After each, other requests get as much time as the parsing
// took.
async function parseInTurn(body: Buffer): Promise<unknown> {
  if (body.length <= largeBytes) return parseJson(body);
  if (isParsing) {
    await new Promise<void>((parse) => {
      largeBodies.push({ bytes: body.length, parse });
      largeBodies.sort((left, right) => left.bytes - right.bytes);
    });
  }
  isParsing = true;
  const startedAt = performance.now();
  try {
    return parseJson(body);
  } finally {
    setTimeout(() => {
      const next = largeBodies.shift();
      if (next === undefined) isParsing = false;
      else next.parse();
    }, performance.now() - startedAt);
  }
}

// An empty chunked body is an empty object.
function parseJson(bytes: Buffer): unknown {
  if (!isUtf8(bytes)) throw notUtf8();
  if (bytes.length === 0) return {};
  try {
    // RFC 8259 8.1: parsers may ignore a byte order mark.
    return JSON.parse(bytes.toString().replace(/^\ufeff/, ''));
  } catch {
    throw new ProblemError({ status: 400, code: 'malformed_body', detail: 'The body is not valid JSON.' });
  }
}

// RFC 8259 8.1 permits no other encoding of JSON. The Encoding standard (4.2) has these and older names for UTF-8.
function assertCharsetUtf8({ headers }: IncomingMessage): void {
  const charset = /;\s*charset\s*=\s*"?([^\s;"]*)/i.exec(headers['content-type'] ?? '')?.[1];
  if (charset !== undefined && !/^utf-?8$/i.test(charset))
    throw unsupportedMediaType('The body must be UTF-8.');
}

function tooLarge(): ProblemError {
  return new ProblemError({
    status: 413,
    code: 'body_too_large',
    detail: 'The body is too large.',
    headers: { Connection: 'close' },
  });
}

function unsupportedMediaType(detail: string): ProblemError {
  return new ProblemError({ status: 415, code: 'unsupported_media_type', detail });
}

/** Whether a request's body is a form. */
export function isForm(request: IncomingMessage): boolean {
  return typeof typeis(request, [formType]) === 'string';
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

// A lenient decoder would replace invalid bytes, which could make two different passwords equal. A form may also encode
// bytes as `%C3%A9`.
function assertUtf8Form(_request: IncomingMessage, _response: unknown, body: Buffer): void {
  if (!isUtf8(body)) throw notUtf8();
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
