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
export function readBody({ limitBytes, form = false }: BodyOptions): RequestHandler[] {
  const accepted = form ? ['application/json', 'application/x-www-form-urlencoded'] : ['application/json'];
  const requireMediaType: RequestHandler = (request, _response, next) => {
    if (hasBody(request) && request.is(accepted) === false) {
      throw new ProblemError({
        status: 415,
        code: 'unsupported_media_type',
        detail: `The body must be ${accepted.join(' or ')}.`,
      });
    }
    next();
  };
  const parsers: RequestHandler[] = [
    // Not strict: a JSON string or null is well-formed and refused as the wrong shape, not as bad syntax.
    express.json({ limit: limitBytes, strict: false, inflate: false, verify: assertUtf8 }),
  ];
  if (form)
    parsers.push(
      express.urlencoded({ limit: limitBytes, extended: false, inflate: false, verify: assertUtf8 }),
    );
  return [requireMediaType, ...parsers];
}

function hasBody(request: IncomingMessage): boolean {
  const length = request.headers['content-length'];
  return request.headers['transfer-encoding'] !== undefined || (length !== undefined && length !== '0');
}

// A lenient decoder would replace bad bytes, and two different passwords could become one.
function assertUtf8(_request: IncomingMessage, _response: unknown, body: Buffer): void {
  if (!isUtf8(body)) {
    throw new ProblemError({ status: 400, code: 'malformed_body', detail: 'The body is not valid UTF-8.' });
  }
}
