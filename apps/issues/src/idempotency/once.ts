import { createHash } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { BodyOf, HeadersOf, Operation, ParamsOf, QueryOf } from '@tessera/contracts';
import { type Call, type Handler, type ResponseOf, validationProblem } from '@tessera/service-kit';
import type { Actor } from '../issue-core/actor.ts';
import type { IssueReference } from '../issue-core/issue-reference.ts';
import type { IdempotencyRequest } from './idempotency.repository.ts';
import type { Done, Effect, IdempotencyService } from './idempotency.service.ts';

type CallOf<Op extends Operation> = Call<ParamsOf<Op>, QueryOf<Op>, HeadersOf<Op>, BodyOf<Op>, Actor>;

interface Repeatable<Op extends Operation> {
  /** Runs for every request, also for a repeated one. */
  before?: (call: CallOf<Op>) => Promise<void>;
  /** Returns the issue in the path, so that a retry may use another of its keys. */
  issueOf?: (call: CallOf<Op>) => IssueReference;
  /** Returns what a repeated request must have in common with the first one; by default its body. */
  fingerprintOf?: (call: CallOf<Op>) => unknown;
  /** Returns the response to a repeated request, with the current state of its resource. */
  present?: (resourceId: string, call: CallOf<Op>) => Promise<ResponseOf<Op>>;
}

/**
 * A request that takes effect once. `prepare` runs before the transaction, for calls to other services; it returns the effect,
 * which runs in the transaction that also stores the response.
 */
export interface OnceHandler<Op extends Operation> extends Repeatable<Op> {
  prepare: (call: CallOf<Op>) => Effect<ResponseOf<Op>> | Promise<Effect<ResponseOf<Op>>>;
}

/** A request that takes effect once, outside of the database as well. */
export interface SideEffectHandler<Op extends Operation> extends Repeatable<Op> {
  effect: (call: CallOf<Op>) => Promise<Done<ResponseOf<Op>>>;
}

/**
 * Makes a handler whose requests take effect once for each `Idempotency-Key`. The list of routes in `app.ts` shows which do.
 */
export function once<Op extends Operation>(
  idempotency: IdempotencyService,
  handler: OnceHandler<Op> | SideEffectHandler<Op>,
): Handler<Op, Actor> {
  const { issueOf, present, fingerprintOf = ({ body }) => body } = handler;
  return async (call) => {
    await handler.before?.(call);
    const request = idempotencyRequest(call, fingerprintOf(call), issueOf?.(call));
    const presented = present && ((resourceId: string) => present(resourceId, call));
    return 'effect' in handler
      ? idempotency.onceWithSideEffects(request, call.requestId, {
          effect: () => handler.effect(call),
          present: presented,
        })
      : idempotency.once(request, call.requestId, {
          prepare: () => handler.prepare(call),
          present: presented,
        });
  };
}

interface KeyedRequest {
  request: IncomingMessage;
  actor: Actor;
}

/**
 * Returns the idempotency request, or undefined if the header is absent. The fingerprint covers the parsed body, so
 * unknown members do not change it. Throws a 422 problem if the key is invalid.
 */
function idempotencyRequest(
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
