import type { Answer } from './connection.ts';
import type { Expectation } from './load.ts';

/** What is wrong with an answer, or undefined. Bodies are not shown: they hold tokens. */
export function problemOf({ status, body }: Answer, expected: Expectation): string | undefined {
  if (status !== expected.status) return `status ${status} instead of ${expected.status}`;
  if (expected.bytes !== undefined && body.length !== expected.bytes) {
    return `a body of ${body.length} bytes instead of ${expected.bytes}`;
  }
  if (expected.contains !== undefined && !body.includes(expected.contains)) {
    return `a body without ${expected.contains}`;
  }
  return undefined;
}
