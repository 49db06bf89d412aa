import { validationProblem } from '@tessera/service-kit';

/** The id or the number of an issue in a path. */
export type IssueReference = { id: string } | { number: number };

const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;
// Above the maximum of the sequence: well-formed, but no issue has this number.
const beyondNumbers = 2 ** 31;

/**
 * Parses `{id}` of a path: a UUID, a key such as `ISS-42` in any case, or a number. Throws a 422 problem for any other
 * text.
 */
export function parseIssueReference(text: string, keyPrefix: string, field = 'id'): IssueReference {
  if (uuid.test(text)) return { id: text.toLowerCase() };
  const number = parseIssueNumber(text, keyPrefix);
  if (number !== undefined) return { number };
  throw validationProblem([{ field, message: `must be a UUID, a key such as ${keyPrefix}-42, or a number` }]);
}

/** Returns the number in `42` or `ISS-42`; undefined for any other text. */
export function parseIssueNumber(text: string, keyPrefix: string): number | undefined {
  const digits = new RegExp(`^(?:${keyPrefix}-)?([1-9]\\d{0,18})$`, 'i').exec(text)?.[1];
  return digits === undefined ? undefined : Math.min(Number(digits), beyondNumbers);
}
