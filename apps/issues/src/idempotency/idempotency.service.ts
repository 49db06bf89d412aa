import { type JsonResponse, ProblemError, problemBody } from '@tessera/service-kit';
import type { Transaction } from '../database.ts';
import { type IdempotencyRepository, isLockTimeout, type ReservedRequest } from './idempotency.repository.ts';
import type { IdempotencyRequest } from './idempotency-request.ts';

/** Carries out a request, in the transaction if one is given. */
export type Effect<Response extends JsonResponse> = (transaction?: Transaction) => Promise<Response>;

/** The response of an effect. `refusal` is the problem that the effect threw, if any. */
interface Outcome {
  response: JsonResponse;
  refusal?: ProblemError;
}

/** Makes retried requests take effect once (draft-ietf-httpapi-idempotency-key-header). */
export class IdempotencyService {
  readonly #repository: IdempotencyRepository;

  constructor({ repository }: { repository: IdempotencyRepository }) {
    this.#repository = repository;
  }

  /**
   * Runs the effect and returns its response; returns the stored response if the request was already processed. The
   * reservation, the effect and the response are written in one transaction: a crash leaves all or nothing, and a
   * concurrent request with the same key waits and gets the same response. `prepare` runs before the transaction, for
   * calls to other services.
   */
  async once<Response extends JsonResponse>(
    request: IdempotencyRequest | undefined,
    requestId: string,
    prepare: () => Effect<Response> | Promise<Effect<Response>>,
  ): Promise<Response> {
    if (request === undefined) return (await prepare())();
    const reserved = await this.#repository.find(request);
    if (reserved !== undefined) return responseOrThrow({ response: replay(reserved, request) });
    const effect = await prepare();
    const outcome = await this.#repository
      .transaction(async (transaction) => {
        if (!(await this.#repository.reserve(request, transaction))) {
          return this.#replayReserved(request, transaction);
        }
        const done = await outcomeOf(() => effect(transaction), requestId);
        await this.#repository.storeResponse(request, done.response, transaction);
        return done;
      })
      .catch((error: unknown) => {
        throw isLockTimeout(error) ? requestInProgress() : error;
      });
    return responseOrThrow(outcome);
  }

  /**
   * Like `once`, for an effect outside the database that a transaction cannot roll back. The reservation is committed
   * before the effect. If the process dies, the reservation expires after a minute.
   */
  async onceWithSideEffects<Response extends JsonResponse>(
    request: IdempotencyRequest | undefined,
    requestId: string,
    effect: () => Promise<Response>,
  ): Promise<Response> {
    if (request === undefined) return effect();
    if (!(await this.#repository.reserve(request)))
      return responseOrThrow(await this.#replayReserved(request));
    const outcome = await outcomeOf(effect, requestId).catch(async (error: unknown) => {
      await this.#repository.release(request);
      throw error;
    });
    await this.#repository.storeResponse(request, outcome.response);
    return responseOrThrow(outcome);
  }

  async #replayReserved(request: IdempotencyRequest, within?: Transaction): Promise<Outcome> {
    const reserved = await this.#repository.find(request, within);
    if (reserved === undefined) throw requestInProgress();
    return { response: replay(reserved, request) };
  }
}

// A 4xx problem is stored as the response. A 5xx problem is not: a retry may succeed.
async function outcomeOf(effect: () => Promise<JsonResponse>, requestId: string): Promise<Outcome> {
  try {
    return { response: await effect() };
  } catch (error) {
    if (!(error instanceof ProblemError) || error.status >= 500) throw error;
    const body = JSON.stringify(problemBody(error, requestId));
    return { response: { status: error.status, headers: error.headers, body }, refusal: error };
  }
}

// Method and path identify the operation, so the stored response has its type.
function responseOrThrow<Response extends JsonResponse>({ response, refusal }: Outcome): Response {
  if (refusal !== undefined) throw refusal;
  return response as Response;
}

function replay({ fingerprint, response }: ReservedRequest, request: IdempotencyRequest): JsonResponse {
  if (fingerprint !== request.fingerprint) {
    throw new ProblemError({
      status: 422,
      code: 'idempotency_key_reused',
      detail: 'This Idempotency-Key was used with a different body.',
      errors: [{ field: 'Idempotency-Key', message: 'was used with a different body' }],
    });
  }
  if (response === undefined) throw requestInProgress();
  return { ...response, headers: { ...response.headers, 'Idempotency-Replayed': 'true' } };
}

function requestInProgress(): ProblemError {
  return new ProblemError({
    status: 409,
    code: 'request_in_progress',
    detail: 'A request with this Idempotency-Key is still running.',
    headers: { 'Retry-After': '1' },
  });
}
