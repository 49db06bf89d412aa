import assert from 'node:assert/strict';
import type { RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createHttpServer, type Logger } from '@tessera/service-kit';
import fc from 'fast-check';
import { AnswerRules } from './answer-rules.ts';
import { ApiSurface, type Operation } from './operation.ts';
import { bytesOf, exchange, type RawAnswer } from './raw-http.ts';
import { type FuzzRequest, type HeaderField, requestsOf } from './request.arbitrary.ts';
import type { State } from './state.ts';

/** A service that is to hold out. */
export interface FuzzTarget {
  /** Its OpenAPI document, such as `@tessera/contracts/openapi/identity.json`. */
  document: object;
  listener: RequestListener;
  logger: Logger;
  /** The header fields of valid credentials by security scheme; `{{name}}` stands for a known value. */
  credentials: Record<string, HeaderField[]>;
  /**
   * Values that the service knows (ids, credentials), read at the moment of sending. A parameter or member gets one by
   * its name, or by `operationId.name` before that.
   */
  known: Record<string, () => string>;
  /** What refused requests may not change. */
  state: () => Promise<State>;
  /** Tables that a refusal of an operation changes by design, by `operationId`. */
  writtenByRefusals?: Record<string, string[]>;
  /** Told of each success, so that later requests can name what it made. */
  learn?: (operationId: string, body: unknown) => void;
}

/** How much to try. */
export interface FuzzSettings {
  /** Requests for each operation. */
  runs: number;
  /** Decides which requests are made; undefined: others each time. */
  seed: number | undefined;
}

/**
 * `FUZZ_RUNS` and `FUZZ_SEED`. Without a seed the requests are the same each time: what is red is so because of the
 * change at hand. `FUZZ_SEED=random` (`pnpm fuzz`) looks for what nobody has found yet.
 */
export function fuzzSettings(variables: Record<string, string | undefined>): FuzzSettings {
  const { FUZZ_RUNS: runs = 300, FUZZ_SEED: seed = 1 } = variables;
  return { runs: Number(runs), seed: seed === 'random' ? undefined : Number(seed) };
}

/** Sends requests that nobody sensible sends, and looks at each answer and at what is left behind. */
export class Fuzzer {
  readonly surface: ApiSurface;
  readonly #target: FuzzTarget;
  readonly #rules: AnswerRules;
  readonly #server;
  readonly #outcomes = new Set<string>();

  constructor(target: FuzzTarget) {
    this.#target = target;
    this.surface = new ApiSurface(target.document);
    this.#rules = new AnswerRules(this.surface);
    this.#server = createHttpServer(target.listener, target.logger);
  }

  async start(): Promise<void> {
    await new Promise<void>((resolve) => this.#server.listen(0, '127.0.0.1', resolve));
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  /** Throws with the seed and the smallest request found that breaks a rule. */
  async run(operationId: string, { runs, seed }: FuzzSettings): Promise<void> {
    const operation = this.surface.operations.find((one) => one.operationId === operationId);
    if (operation === undefined) throw new Error(`There is no operation ${operationId}.`);
    const { credentials } = this.#target;
    const known = (name: string) => this.#placeholder(operationId, name);
    const requests = requestsOf(operation, { surface: this.surface, credentials, known });
    let before = await this.#target.state();
    const property = fc.asyncProperty(requests, async (request) => {
      const sent = this.#fill(request);
      const answer = await this.#send(sent);
      const after = await this.#target.state();
      const changed = Object.keys(after).filter((table) => after[table] !== before[table]);
      before = after;
      this.#rules.check(sent, answer);
      this.#checkState(sent, answer, changed);
    });
    const details = await fc.check(property, { numRuns: runs, ...(seed === undefined ? {} : { seed }) });
    if (!details.failed) return;
    const [smallest] = details.counterexample ?? [];
    throw new Error(
      `${operationId} does not hold out: FUZZ_SEED=${details.seed} (${details.numRuns} requests, ${details.numShrinks} times made smaller)\n` +
        `${smallest === undefined ? '' : describeRequest(smallest)}\n${messageOf(details.errorInstance)}`,
    );
  }

  /** What did not come to pass: success of an operation, or its refusal. Where there is any, the requests say little. */
  findUntried(): string[] {
    const wanted = this.surface.operations.flatMap(({ operationId }) => [
      `${operationId}: success`,
      `${operationId}: refusal`,
    ]);
    return wanted.filter((outcome) => !this.#outcomes.has(outcome));
  }

  async #send(request: FuzzRequest): Promise<RawAnswer> {
    const { port } = this.#server.address() as AddressInfo;
    const answer = await exchange(port, bytesOf(request), request.method);
    const operation: Operation | undefined = this.surface.find(request.method, request.target);
    this.#outcomes.add(`${operation?.operationId}: ${answer.status < 300 ? 'success' : 'refusal'}`);
    if (operation !== undefined && answer.status < 300 && answer.body.length > 0) {
      this.#target.learn?.(operation.operationId, JSON.parse(answer.body.toString()));
    }
    return answer;
  }

  #checkState(request: FuzzRequest, answer: RawAnswer, changed: string[]): void {
    const isSafe = ['GET', 'HEAD', 'OPTIONS', 'TRACE'].includes(request.method);
    if (answer.status < 300 && !isSafe) return;
    const operationId = this.surface.find(request.method, request.target)?.operationId ?? '';
    const allowed = this.#target.writtenByRefusals?.[operationId] ?? [];
    const unexpected = changed.filter((table) => !allowed.includes(table));
    assert.deepEqual(unexpected, [], `it is answered with ${answer.status} and has written all the same`);
  }

  #placeholder(operationId: string, name: string): string | undefined {
    const key = [`${operationId}.${name}`, name].find((one) => Object.hasOwn(this.#target.known, one));
    // A dot is no part of a placeholder.
    return key === undefined ? undefined : `{{${key.replace('.', '__')}}}`;
  }

  #fill(request: FuzzRequest): FuzzRequest {
    const fill = (text: string) =>
      text.replace(/\{\{(\w+)\}\}/g, (whole, key: string) => {
        const known = this.#target.known;
        const name = [key, key.replace('__', '.')].find((one) => Object.hasOwn(known, one));
        return (name === undefined ? undefined : known[name]?.()) ?? whole;
      });
    return {
      ...request,
      target: fill(request.target),
      headers: request.headers.map(([name, value]): HeaderField => [name, fill(value)]),
      body: request.body && Buffer.from(fill(request.body.toString('latin1')), 'latin1'),
    };
  }
}

function describeRequest({ method, target, headers, body }: FuzzRequest): string {
  const cut = (text: string) =>
    JSON.stringify(text.length > 500 ? `${text.slice(0, 500)}… (${text.length})` : text);
  return [
    `${method} ${cut(target)}`,
    ...headers.map(([name, value]) => `${name}: ${cut(value)}`),
    ...(body === undefined ? [] : [`body ${cut(body.toString('latin1'))}`]),
  ].join('\n');
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
