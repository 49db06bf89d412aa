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

/** The service under test. */
export interface FuzzTarget {
  /** Its OpenAPI document, such as `@tessera/contracts/openapi/identity.json`. */
  document: object;
  listener: RequestListener;
  logger: Logger;
  /** The header fields of valid credentials by security scheme; `{{name}}` stands for a known value. */
  credentials: Record<string, HeaderField[]>;
  /**
   * Values that exist in the service (ids, credentials), read when a request is sent. A parameter or member gets the value
   * of `operationId.name`, else of its name.
   */
  known: Record<string, () => string>;
  /** The state that an error response must not change. */
  state: () => Promise<State>;
  /** Tables that an operation writes even when it returns an error, by `operationId`. */
  writtenByRefusals?: Record<string, string[]>;
  /** Called for each success, so that later requests can use what it created. */
  learn?: (operationId: string, body: unknown) => void;
}

/** An operation that has not both succeeded and failed yet gets at most this many requests. */
const runsMax = 200;

/** The number of requests, and the seed. */
export interface FuzzSettings {
  /** Requests for each operation; more until it has both succeeded and failed. */
  runs: number;
  /** The seed of the requests; undefined for a random one. */
  seed: number | undefined;
}

/**
 * Reads `FUZZ_RUNS` and `FUZZ_SEED`. By default, every run sends the same requests, so that a failure is caused by a
 * change of the code. `FUZZ_SEED=random` (`pnpm fuzz`) sends new ones.
 */
export function fuzzSettings(variables: Record<string, string | undefined>): FuzzSettings {
  const { FUZZ_RUNS: runs = 10, FUZZ_SEED: seed = 1 } = variables;
  return { runs: Number(runs), seed: seed === 'random' ? undefined : Number(seed) };
}

/** Sends random requests, and checks each response and the state of the database after it. */
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

  /** @throws with the seed and the smallest request that breaks a rule */
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
    for (let sent = 0; sent < runs || (sent < runsMax && !this.#isTried(operationId)); sent += runs) {
      const details = await fc.check(property, {
        numRuns: runs,
        ...(seed === undefined ? {} : { seed: seed + sent }),
      });
      if (!details.failed) continue;
      const [smallest] = details.counterexample ?? [];
      throw new Error(
        `${operationId} breaks a rule: FUZZ_SEED=${details.seed} (${details.numRuns} requests, shrunk ${details.numShrinks} times)\n` +
          `${smallest === undefined ? '' : describeRequest(smallest)}\n${messageOf(details.errorInstance)}`,
      );
    }
  }

  /** The outcomes (success or error of an operation) that never occurred; the requests then test too little. */
  findUntried(): string[] {
    return this.surface.operations.flatMap(({ operationId }) => this.#untriedOf(operationId));
  }

  #isTried(operationId: string): boolean {
    return this.#untriedOf(operationId).length === 0;
  }

  #untriedOf(operationId: string): string[] {
    return [`${operationId}: success`, `${operationId}: refusal`].filter(
      (outcome) => !this.#outcomes.has(outcome),
    );
  }

  async #send(request: FuzzRequest): Promise<RawAnswer> {
    const { port } = this.#server.address() as AddressInfo;
    const answer = await exchange(port, bytesOf(request), request.method);
    const operation: Operation | undefined = this.surface.find(request.method, request.target);
    this.#outcomes.add(`${operation?.operationId}: ${answer.status < 300 ? 'success' : 'refusal'}`);
    const isJson = answer.headers.get('content-type')?.includes('json');
    if (operation !== undefined && answer.status < 300 && isJson === true && answer.body.length > 0) {
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
    assert.deepEqual(unexpected, [], `the ${answer.status} response changed tables`);
  }

  #placeholder(operationId: string, name: string): string | undefined {
    const key = [`${operationId}.${name}`, name].find((one) => Object.hasOwn(this.#target.known, one));
    // Placeholders contain no dots.
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
