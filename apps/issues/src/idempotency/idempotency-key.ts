import { createHash } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { validationProblem } from '@tessera/service-kit';
import type { Actor } from '../authentication/actor.ts';

/** A request with an `Idempotency-Key`: it takes effect once. */
export interface IdempotencyClaim {
  userId: string;
  method: string;
  /** Without query and without the slash at its end. */
  path: string;
  key: string;
  /** Hash of the request's content: the same key with another content is a mistake. */
  fingerprint: string;
}

interface KeyedRequest {
  request: IncomingMessage;
  headers: { 'Idempotency-Key'?: string | undefined };
  actor: Actor;
}

/**
 * The claim of a request, or undefined for one without the header. `content` is its body as parsed: members that this
 * service does not read make no difference. Throws a 422 problem for an invalid key.
 */
export function claimOf(
  { request, headers, actor }: KeyedRequest,
  content: unknown,
): IdempotencyClaim | undefined {
  const key = headers['Idempotency-Key'];
  if (key === undefined) return undefined;
  // Node joins the values of a header that is given twice with a space, which no key contains.
  if (!/^[\x21-\x7e]{1,255}$/.test(key)) {
    throw validationProblem([
      { field: 'Idempotency-Key', message: 'must be given once, as 1 to 255 visible ASCII characters' },
    ]);
  }
  return {
    userId: actor.id,
    method: request.method ?? '',
    path: (request.path ?? '').replace(/\/$/, ''),
    key,
    fingerprint: createHash('sha256').update(JSON.stringify(content)).digest('base64url'),
  };
}
