import { createHash } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { validationProblem } from '@tessera/service-kit';
import type { Actor } from '../authentication/actor.ts';

/** What a request with an `Idempotency-Key` lays claim to: that it takes effect once. */
export interface IdempotencyClaim {
  userId: string;
  method: string;
  path: string;
  key: string;
  /** Of the request's content: the same key with another content is a mistake. */
  fingerprint: string;
}

/**
 * The claim of a request, or undefined for one without the header. `content` is its body as parsed: what this service
 * does not read makes no difference. Throws a 422 problem for a key that cannot be one.
 */
export function claimOf(
  request: IncomingMessage,
  actor: Actor,
  content: unknown,
): IdempotencyClaim | undefined {
  const keys = request.headersDistinct['idempotency-key'];
  if (keys === undefined) return undefined;
  const [key] = keys;
  if (key === undefined || keys.length > 1 || !/^[\x21-\x7e]{1,255}$/.test(key)) {
    throw validationProblem([
      { field: 'Idempotency-Key', message: 'must be given once, as 1 to 255 visible ASCII characters' },
    ]);
  }
  return {
    userId: actor.id,
    method: request.method ?? '',
    path: (request.url ?? '').replace(/\/?(?:\?.*)?$/, ''),
    key,
    fingerprint: createHash('sha256').update(JSON.stringify(content)).digest('base64url'),
  };
}
