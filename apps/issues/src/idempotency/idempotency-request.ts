import { createHash } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { validationProblem } from '@tessera/service-kit';
import type { Actor } from '../issue-core/actor.ts';
import type { IssueReference } from '../issue-core/issue-reference.ts';

/** A request with an `Idempotency-Key`. Its user, operation, issue and key identify it. */
export interface IdempotencyRequest {
  userId: string;
  method: string;
  /** The operation's path, with `:id` for the issue and without the trailing slash. */
  path: string;
  /** The id or the number of the issue, as in the path. */
  issue: IssueReference | undefined;
  key: string;
  /** Hash of the parsed body. Reusing a key with a different body is an error. */
  fingerprint: string;
}

interface KeyedRequest {
  request: IncomingMessage;
  actor: Actor;
}

/**
 * Returns the idempotency request, or undefined if the header is absent. The fingerprint covers the parsed body, so
 * unknown members do not change it. Throws a 422 problem if the key is invalid.
 */
export function idempotencyRequest(
  { request, actor }: KeyedRequest,
  body: unknown,
  issue?: IssueReference,
): IdempotencyRequest | undefined {
  const key = request.headers['idempotency-key'];
  if (typeof key !== 'string') return undefined;
  // Node joins repeated headers with ", ", and a key must not contain a space: a repeated header is refused too.
  if (!/^[\x21-\x7e]{1,255}$/.test(key)) {
    throw validationProblem([
      { field: 'Idempotency-Key', message: 'must be given once, as 1 to 255 visible ASCII characters' },
    ]);
  }
  return {
    userId: actor.id,
    method: request.method ?? '',
    path: (request.operation?.path ?? '').replace(/\/$/, ''),
    issue,
    key,
    fingerprint: createHash('sha256').update(JSON.stringify(body)).digest('base64url'),
  };
}
