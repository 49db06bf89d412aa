import { expect } from '@jest/globals';
import { problemSchema } from '@tessera/contracts';
import type { Response } from 'supertest';

/** Asserts an error body with its status and code, and that it is not cacheable. */
export function expectProblem(response: Response, status: number, code: string): void {
  expect({ status: response.status, code: response.body.code }).toEqual({ status, code });
  expect(response.type).toBe('application/json');
  const problem = problemSchema.parse(response.body);
  expect(problem.status).toBe(status);
  expect(problem.type).toMatch(new RegExp(`^https?://[^?#]+/api/problems/${code}$`));
  expect(problem.request_id).toBe(response.headers['x-request-id']);
  expect(response.headers['cache-control']).toBe('no-store');
  expect(JSON.stringify(problem)).not.toMatch(
    /\bat .*(?::\d+:\d+|\(<anonymous>\))|node_modules|prisma|postgres/i,
  );
}

/** Asserts an error body of an OAuth endpoint, which also has the members of RFC 6749 5.2. */
export function expectOAuthProblem(response: Response, status: number, error: string): void {
  expect({ status: response.status, error: response.body.error }).toEqual({ status, error });
  expectProblem(response, status, response.body.code);
  expect(response.body.error_description).toBe(response.body.detail);
  // RFC 6749 5.2: the allowed characters.
  expect(response.body.error_description).toMatch(/^[\x20-\x21\x23-\x5b\x5d-\x7e]+$/);
}

/** Asserts a 422 and the names of its invalid fields. */
export function expectInvalidFields(
  response: Response,
  fields: string[],
  code: 'validation_failed' | 'unknown_identity' = 'validation_failed',
): void {
  expectProblem(response, 422, code);
  const named = response.body.errors.map((error: { field: string }) => error.field);
  expect([...new Set(named)].sort()).toEqual([...fields].sort());
}
