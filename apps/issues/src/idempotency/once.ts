import { createHash } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { BodyOf, HeadersOf, Operation, ParamsOf, Problem, QueryOf } from '@tessera/contracts';
import {
  bodyText,
  type Call,
  type Handler,
  type JsonResponse,
  ProblemError,
  problemBody,
  type ResponseOf,
  validationProblem,
} from '@tessera/service-kit';
import type { Transaction } from '../database.ts';
import type { Actor } from '../issue-core/actor.ts';
import type { IssueReference } from '../issue-core/issue-reference.ts';
import {
  type IdempotencyRepository,
  type IdempotencyRequest,
  isLockTimeout,
  type ReservedRequest,
  type StoredResponse,
} from './idempotency.repository.ts';

/**
 * The response of a request that took effect, and the id of the issue, comment or label in it. Without an id, a replay
 * returns the same body, which must be short.
 */
interface Done<Response extends JsonResponse> {
  resourceId: string | null;
  response: Response;
}

/** Carries out a request, in the transaction if one is given. */
type Effect<Response extends JsonResponse> = (transaction?: Transaction) => Promise<Done<Response>>;

/** Returns the response to a request with the current state of its issue, comment or label. */
type Present<Response extends JsonResponse> = (resourceId: string) => Promise<Response>;

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

/** Makes a handler whose requests take effect once for each `Idempotency-Key`. The routes show which do. */
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
      ? idempotency.onceWithSideEffects(request, call.requestId, () => handler.effect(call), presented)
      : idempotency.once(request, call.requestId, () => handler.prepare(call), presented);
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

/** The response of an effect, the problem that it threw, or the response of an earlier request. */
type Outcome<Response extends JsonResponse> =
  | { response: Response; stored: StoredResponse }
  | { refusal: ProblemError; stored: StoredResponse }
  | { replayed: StoredResponse };

/** Maximum size of a stored error body, in bytes. */
const bodyMaxBytes = 2048;

/** Makes retried requests take effect once (draft-ietf-httpapi-idempotency-key-header). */
export class IdempotencyService {
  readonly #repository: IdempotencyRepository;
  readonly #problemsUrl: string;

  /** @param problemsUrl where the errors of this service are explained */
  constructor({ repository, problemsUrl }: { repository: IdempotencyRepository; problemsUrl: string }) {
    this.#repository = repository;
    this.#problemsUrl = problemsUrl;
  }

  /**
   * Runs the effect and returns its response. If the request was already processed, returns the status and the headers
   * of that response with the current state of its resource. The reservation, the effect and the stored response are
   * written in one transaction: a crash leaves all or nothing, and a concurrent request with the same key waits.
   * `prepare` runs before the transaction, for calls to other services.
   */
  async once<Response extends JsonResponse>(
    request: IdempotencyRequest | undefined,
    requestId: string,
    prepare: () => Effect<Response> | Promise<Effect<Response>>,
    present: Present<Response> = withoutResource,
  ): Promise<Response> {
    if (request === undefined) return (await (await prepare())()).response;
    const reserved = await this.#repository.find(request);
    if (reserved !== undefined) return replay(responseTo(reserved, request), present);
    const effect = await prepare();
    const outcome = await this.#repository
      .transaction(async (transaction): Promise<Outcome<Response>> => {
        if (!(await this.#repository.reserve(request, transaction))) {
          return this.#findReserved<Response>(request, transaction);
        }
        const done = await this.#outcomeOf(() => effect(transaction), requestId);
        await this.#repository.storeResponse(request, done.stored, transaction);
        return done;
      })
      .catch((error: unknown) => {
        throw isLockTimeout(error) ? requestInProgress() : error;
      });
    return responseOrThrow(outcome, present);
  }

  /**
   * Like `once`, for an effect outside the database that a transaction cannot roll back. The reservation is committed
   * before the effect. If the process dies, the reservation expires after a minute.
   */
  async onceWithSideEffects<Response extends JsonResponse>(
    request: IdempotencyRequest | undefined,
    requestId: string,
    effect: () => Promise<Done<Response>>,
    present: Present<Response> = withoutResource,
  ): Promise<Response> {
    if (request === undefined) return (await effect()).response;
    if (!(await this.#repository.reserve(request)))
      return responseOrThrow(await this.#findReserved<Response>(request), present);
    const outcome = await this.#outcomeOf(effect, requestId).catch(async (error: unknown) => {
      await this.#repository.release(request);
      throw error;
    });
    await this.#repository.storeResponse(request, outcome.stored);
    return responseOrThrow(outcome, present);
  }

  async #findReserved<Response extends JsonResponse>(
    request: IdempotencyRequest,
    within?: Transaction,
  ): Promise<Outcome<Response>> {
    const reserved = await this.#repository.find(request, within);
    if (reserved === undefined) throw requestInProgress();
    return { replayed: responseTo(reserved, request) };
  }

  // A 4xx problem is stored as the response. A 5xx problem is not: a retry may succeed.
  async #outcomeOf<Response extends JsonResponse>(
    effect: () => Promise<Done<Response>>,
    requestId: string,
  ): Promise<Outcome<Response> & { stored: StoredResponse }> {
    try {
      const { resourceId, response } = await effect();
      const { status, headers = {} } = response;
      const body = resourceId === null ? bodyText(response) : null;
      return { response, stored: { status, headers, resourceId, body } };
    } catch (error) {
      if (!(error instanceof ProblemError) || error.status >= 500) throw error;
      return {
        refusal: error,
        stored: storedRefusal(error, problemBody(error, requestId, this.#problemsUrl)),
      };
    }
  }
}

// A conflict response contains the issue, so only its id is stored.
function storedRefusal({ status, headers }: ProblemError, problem: Problem): StoredResponse {
  const { issue, ...body } = { issue: undefined, ...problem };
  const resourceId = idOf(issue);
  const text = JSON.stringify(body);
  if (Buffer.byteLength(text) <= bodyMaxBytes) return { status, headers, resourceId, body: text };
  const { type, title, detail, code, request_id } = body;
  const short = { type, title, status, detail: detail.slice(0, 200), code, request_id };
  return { status, headers, resourceId, body: JSON.stringify(short) };
}

function idOf(issue: unknown): string | null {
  const id = typeof issue === 'object' && issue !== null ? Reflect.get(issue, 'id') : null;
  return typeof id === 'string' ? id : null;
}

async function responseOrThrow<Response extends JsonResponse>(
  outcome: Outcome<Response>,
  present: Present<Response>,
): Promise<Response> {
  if ('replayed' in outcome) return replay(outcome.replayed, present);
  if ('refusal' in outcome) throw outcome.refusal;
  return outcome.response;
}

// Runs after the transaction. Within it, the request would hold one connection while `present` waits for another.
async function replay<Response extends JsonResponse>(
  { status, headers, resourceId, body }: StoredResponse,
  present: Present<Response>,
): Promise<Response> {
  const current = resourceId === null ? undefined : await present(resourceId);
  const replayed: JsonResponse = {
    status,
    // The ETag must be that of the body which is sent.
    headers: { ...headers, ...etagOf(status, current), 'Idempotency-Replayed': 'true' },
    body: body === null ? current?.body : withIssue(body, current),
  };
  // Method and path identify the operation, so the stored response has its type.
  return replayed as Response;
}

function etagOf(status: number, current: JsonResponse | undefined): Record<string, string> {
  const etag = current?.headers?.ETag;
  return etag === undefined || status >= 400 ? {} : { ETag: etag };
}

function withIssue(body: string, current: JsonResponse | undefined): string {
  if (current === undefined) return body;
  return JSON.stringify({ ...JSON.parse(body), issue: JSON.parse(bodyText(current)) });
}

function responseTo({ fingerprint, response }: ReservedRequest, request: IdempotencyRequest): StoredResponse {
  if (fingerprint !== request.fingerprint) {
    throw new ProblemError({
      status: 422,
      code: 'idempotency_key_reused',
      detail: 'This Idempotency-Key was used with a different body.',
      errors: [{ field: 'Idempotency-Key', message: 'was used with a different body' }],
    });
  }
  if (response === undefined) throw requestInProgress();
  return response;
}

// Effects without a resource have nothing to present.
function withoutResource(): never {
  throw new Error('the response has no resource');
}

function requestInProgress(): ProblemError {
  return new ProblemError({
    status: 409,
    code: 'request_in_progress',
    detail: 'A request with this Idempotency-Key, or another change of the same issue, is still running.',
    headers: { 'Retry-After': '1' },
  });
}
