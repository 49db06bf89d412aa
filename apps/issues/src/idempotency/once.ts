import type { BodyOf, HeadersOf, Operation, ParamsOf, QueryOf } from '@tessera/contracts';
import type { Call, Handler, ResponseOf } from '@tessera/service-kit';
import type { Actor } from '../issue-core/actor.ts';
import type { IssueReference } from '../issue-core/issue-reference.ts';
import type { Done, Effect, IdempotencyService } from './idempotency.service.ts';
import { idempotencyRequest } from './idempotency-request.ts';

type CallOf<Op extends Operation> = Call<ParamsOf<Op>, QueryOf<Op>, HeadersOf<Op>, BodyOf<Op>, Actor>;

interface Repeatable<Op extends Operation> {
  /** Runs for every request, also for a repeated one. */
  before?: (call: CallOf<Op>) => Promise<void>;
  /** Returns the issue in the path, so that a retry may use another of its keys. */
  issueOf?: (call: CallOf<Op>) => IssueReference;
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
  const { issueOf, present } = handler;
  return async (call) => {
    await handler.before?.(call);
    const request = idempotencyRequest(call, call.body, issueOf?.(call));
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
