import { type Answer, ProblemError, problemBody } from '@tessera/service-kit';
import type { Transaction } from '../database.ts';
import { type IdempotencyRepository, isStillClaiming, type KnownClaim } from './idempotency.repository.ts';
import type { IdempotencyClaim } from './idempotency-key.ts';

/** What a request does, within a transaction where there is one. */
export type Effect = (transaction?: Transaction) => Promise<Answer>;

/** What came of an effect: its answer, and the refusal behind it where it was one. */
interface Outcome {
  answer: Answer;
  refusal?: ProblemError;
}

/** Requests that take effect once, however often they are sent (draft-ietf-httpapi-idempotency-key-header). */
export class IdempotencyService {
  readonly #repository: IdempotencyRepository;

  constructor({ repository }: { repository: IdempotencyRepository }) {
    this.#repository = repository;
  }

  /**
   * Answers what the effect answers, or what it answered the first time. Claim, effect and answer are one transaction:
   * a crash leaves all or nothing, and the same request at the same moment waits and is answered alike. `prepare` may
   * ask other services, which no transaction should wait for.
   */
  async once(
    claim: IdempotencyClaim | undefined,
    requestId: string,
    prepare: () => Effect | Promise<Effect>,
  ): Promise<Answer> {
    if (claim === undefined) return (await prepare())();
    const known = await this.#repository.find(claim);
    if (known !== undefined) return replay(known, claim);
    const effect = await prepare();
    const outcome = await this.#repository
      .transaction(async (transaction) => {
        if (!(await this.#repository.claim(claim, transaction))) {
          return this.#replayKnown(claim, transaction);
        }
        const done = await outcomeOf(() => effect(transaction), requestId);
        await this.#repository.settle(claim, done.answer, transaction);
        return done;
      })
      .catch((error: unknown) => {
        throw isStillClaiming(error) ? stillRunning() : error;
      });
    return answerOrThrow(outcome);
  }

  /**
   * The same for an effect that reaches beyond the database and cannot be undone with a transaction: the claim is made
   * before it, and a claim whose process died is free again after a minute.
   */
  async onceBeyond(
    claim: IdempotencyClaim | undefined,
    requestId: string,
    effect: () => Promise<Answer>,
  ): Promise<Answer> {
    if (claim === undefined) return effect();
    if (!(await this.#repository.claim(claim))) return answerOrThrow(await this.#replayKnown(claim));
    const outcome = await outcomeOf(effect, requestId).catch(async (error: unknown) => {
      await this.#repository.release(claim);
      throw error;
    });
    await this.#repository.settle(claim, outcome.answer);
    return answerOrThrow(outcome);
  }

  async #replayKnown(claim: IdempotencyClaim, within?: Transaction): Promise<Outcome> {
    const known = await this.#repository.find(claim, within);
    if (known === undefined) throw stillRunning();
    return { answer: replay(known, claim) };
  }
}

// A refusal of the request is its answer; a failure of ours is none, and the next attempt may succeed.
async function outcomeOf(effect: () => Promise<Answer>, requestId: string): Promise<Outcome> {
  try {
    return { answer: await effect() };
  } catch (error) {
    if (!(error instanceof ProblemError) || error.status >= 500) throw error;
    const body = JSON.stringify(problemBody(error, requestId));
    return { answer: { status: error.status, headers: error.headers, body }, refusal: error };
  }
}

function answerOrThrow({ answer, refusal }: Outcome): Answer {
  if (refusal !== undefined) throw refusal;
  return answer;
}

function replay({ fingerprint, answer }: KnownClaim, claim: IdempotencyClaim): Answer {
  if (fingerprint !== claim.fingerprint) {
    throw new ProblemError({
      status: 422,
      code: 'idempotency_key_reused',
      detail: 'This Idempotency-Key was used with another body.',
      errors: [{ field: 'Idempotency-Key', message: 'was used with another body' }],
    });
  }
  if (answer === undefined) throw stillRunning();
  return { ...answer, headers: { ...answer.headers, 'Idempotency-Replayed': 'true' } };
}

function stillRunning(): ProblemError {
  return new ProblemError({
    status: 409,
    code: 'request_in_progress',
    detail: 'The same request is still running.',
    headers: { 'Retry-After': '1' },
  });
}
