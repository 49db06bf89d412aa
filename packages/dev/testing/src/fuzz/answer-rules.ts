import assert from 'node:assert/strict';
import { problemSchema } from '@tessera/contracts';
import { Ajv2020 } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import type { ApiSurface, Operation } from './operation.ts';
import type { RawAnswer } from './raw-http.ts';
import type { FuzzRequest } from './request.arbitrary.ts';

// A request that is not valid HTTP never reaches an operation, so the operation does not describe its error.
const codesOfTransport = new Set(['malformed_request', 'headers_too_large']);

/** The rules for every response. */
export class AnswerRules {
  readonly #surface: ApiSurface;
  readonly #ajv = new Ajv2020({ strict: false });

  constructor(surface: ApiSurface) {
    this.#surface = surface;
    addFormats.default(this.#ajv);
    this.#ajv.addSchema(surface.document, 'api');
  }

  /** @throws AssertionError with the rule that a response breaks */
  check(request: FuzzRequest, answer: RawAnswer): void {
    const { status, headers, body } = answer;
    const shown = body.toString('utf8', 0, 600);
    assert.ok(status < 500, `the status is ${status}: ${shown}`);
    assert.match(headers.get('x-request-id') ?? '', /^[A-Za-z0-9._-]{1,64}$/, 'its answer has no request id');
    assert.equal(headers.get('x-powered-by'), undefined);
    const code = status >= 400 && request.method !== 'HEAD' ? checkRefusal(answer) : '';
    if (status === 204 && isPreflight(request)) {
      assert.equal(body.length, 0, 'the response to a preflight has a body');
      return;
    }
    const operation = this.#surface.find(request.method, request.target);
    if (operation !== undefined && !codesOfTransport.has(code)) this.#checkDescribed(operation, answer);
  }

  #checkDescribed(operation: Operation, { status, headers, body }: RawAnswer): void {
    const described = operation.answers.get(status);
    assert.ok(described !== undefined, `${operation.operationId} does not describe ${status}: ${body}`);
    const missing = described.requiredHeaders.filter((name) => !headers.has(name.toLowerCase()));
    assert.deepEqual(missing, [], `the ${status} of ${operation.operationId} lacks headers`);
    if (described.isFile) return;
    if (described.bodyPointer === undefined) {
      assert.equal(body.length, 0, `the ${status} of ${operation.operationId} has a body`);
      return;
    }
    // Compiled once: ajv keeps the validators that getSchema returns.
    const validate = this.#ajv.getSchema(`api${described.bodyPointer}`);
    assert.ok(validate !== undefined, `there is no schema at ${described.bodyPointer}`);
    assert.ok(
      validate(JSON.parse(body.toString())),
      `the ${status} of ${operation.operationId} does not match its schema: ${JSON.stringify(validate.errors)} ${body}`,
    );
  }
}

// CORS answers preflights before the operations, so the document does not describe them.
function isPreflight({ method, headers }: FuzzRequest): boolean {
  const names = new Set(headers.map(([name]) => name.toLowerCase()));
  return method === 'OPTIONS' && names.has('origin') && names.has('access-control-request-method');
}

// Checks the error body: one of its two media types, never cached. Returns its code.
function checkRefusal({ status, headers, body }: RawAnswer): string {
  const shown = `the ${status} is not a valid error body: ${body.toString('utf8', 0, 600)}`;
  assert.match(headers.get('content-type') ?? '', /^application\/(problem\+)?json; charset=utf-8$/, shown);
  assert.equal(headers.get('cache-control'), 'no-store', shown);
  const problem = problemSchema.safeParse(JSON.parse(body.toString()));
  assert.ok(problem.success, shown);
  assert.equal(problem.data.status, status, shown);
  assert.ok(problem.data.type.endsWith(`/api/problems/${problem.data.code}`), shown);
  assert.equal(problem.data.request_id, headers.get('x-request-id'), shown);
  assert.doesNotMatch(problem.data.detail, /\bat .*\(|node_modules|prisma|postgres/i);
  return problem.data.code;
}
