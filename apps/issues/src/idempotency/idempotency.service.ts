import { type JsonResponse, ProblemError, problemBody } from '@tessera/service-kit';
import type { Transaction } from '../database.ts';
import { type IdempotencyRepository, isStillClaiming, type KnownClaim } from './idempotency.repository.ts';
import type { IdempotencyClaim } from './idempotency-key.ts';

/** What a request does, within a transaction if there is one. */
export type Effect<Response extends JsonResponse> = (transaction?: Transaction) => Promise<Response>;

/** The result of an effect: its response, and the problem behind it if it was refused. */
interface Outcome {
  response: JsonResponse;
  refusal?: ProblemError;
}

/** Requests that take effect once, however often they are sent (draft-ietf-httpapi-idempotency-key-header). */
export class IdempotencyService {
  readonly #repository: IdempotencyRepository;

  constructor({ repository }: { repository: IdempotencyRepository }) {
    this.#repository = repository;
  }

  /**
   * Returns the effect's response, or the response of the first time. Claim, effect and response are one transaction: a
   * crash leaves all or nothing, and the same request at the same moment waits and gets the same response. `prepare` may
   * ask other services, which no transaction should wait for.
   */
  async once<Response extends JsonResponse>(
    claim: IdempotencyClaim | undefined,
    requestId: string,
    prepare: () => Effect<Response> | Promise<Effect<Response>>,
  ): Promise<Response> {
    if (claim === undefined) return (await prepare())();
    const known = await this.#repository.find(claim);
    if (known !== undefined) return responseOrThrow({ response: replay(known, claim) });
    const effect = await prepare();
    const outcome = await this.#repository
      .transaction(async (transaction) => {
        if (!(await this.#repository.claim(claim, transaction))) {
          return this.#replayKnown(claim, transaction);
        }
        const done = await outcomeOf(() => effect(transaction), requestId);
        await this.#repository.settle(claim, done.response, transaction);
        return done;
      })
      .catch((error: unknown) => {
        throw isStillClaiming(error) ? stillRunning() : error;
      });
    return responseOrThrow(outcome);
  }

  /**
   * The same for an effect that reaches beyond the database and cannot be undone with a transaction: the claim is made
   * before it, and a claim whose process died is free again after a minute.
   */
  async onceBeyond<Response extends JsonResponse>(
    claim: IdempotencyClaim | undefined,
    requestId: string,
    effect: () => Promise<Response>,
  ): Promise<Response> {
    if (claim === undefined) return effect();
    if (!(await this.#repository.claim(claim))) return responseOrThrow(await this.#replayKnown(claim));
    const outcome = await outcomeOf(effect, requestId).catch(async (error: unknown) => {
      await this.#repository.release(claim);
      throw error;
    });
    await this.#repository.settle(claim, outcome.response);
    return responseOrThrow(outcome);
  }

  async #replayKnown(claim: IdempotencyClaim, within?: Transaction): Promise<Outcome> {
    const known = await this.#repository.find(claim, within);
    if (known === undefined) throw stillRunning();
    return { response: replay(known, claim) };
  }
}

// A refusal of the request is its response; a failure of the service is not, and the next attempt may succeed.
async function outcomeOf(effect: () => Promise<JsonResponse>, requestId: string): Promise<Outcome> {
  try {
    return { response: await effect() };
  } catch (error) {
    if (!(error instanceof ProblemError) || error.status >= 500) throw error;
    const body = JSON.stringify(problemBody(error, requestId));
    return { response: { status: error.status, headers: error.headers, body }, refusal: error };
  }
}

// The method, path and key of a claim belong to one operation: what was stored is one of its responses, or its problem.
function responseOrThrow<Response extends JsonResponse>({ response, refusal }: Outcome): Response {
  if (refusal !== undefined) throw refusal;
  return response as Response;
}

function replay({ fingerprint, response }: KnownClaim, claim: IdempotencyClaim): JsonResponse {
  if (fingerprint !== claim.fingerprint) {
    throw new ProblemError({
      status: 422,
      code: 'idempotency_key_reused',
      detail: 'This Idempotency-Key was used with another body.',
      errors: [{ field: 'Idempotency-Key', message: 'was used with another body' }],
    });
  }
  if (response === undefined) throw stillRunning();
  return { ...response, headers: { ...response.headers, 'Idempotency-Replayed': 'true' } };
}

function stillRunning(): ProblemError {
  return new ProblemError({
    status: 409,
    code: 'request_in_progress',
    detail: 'The same request is still running.',
    headers: { 'Retry-After': '1' },
  });
}
