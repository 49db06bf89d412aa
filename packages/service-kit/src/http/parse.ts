import querystring from 'node:querystring';
import type { FieldError } from '@tessera/contracts';
import type { z } from 'zod';
import { validationProblem } from './problem.ts';

// Limits the response to a body with many unknown keys.
const maxReportedErrors = 50;

/**
 * Parses input by a schema: returns its output, or throws a 422 problem that names the invalid fields (the first fifty)
 * by their wire names. Messages never contain values.
 */
export function parse<Schema extends z.ZodType>(
  schema: Schema,
  input: unknown,
  unknownMessage = 'is not a known field',
): z.output<Schema> {
  const result = schema.safeParse(input, { error: describeIssue });
  if (!result.success) {
    const errors = result.error.issues.flatMap((issue) => toFieldErrors(issue, unknownMessage));
    throw validationProblem(errors.slice(0, maxReportedErrors));
  }
  return result.data;
}

/**
 * Parses the query of a request's URL. Unknown parameters are refused with the list of the known ones when the schema
 * is strict. A parameter that is given more than once is an array.
 */
export function parseQuery<Schema extends z.ZodType & { shape: Record<string, unknown> }>(
  schema: Schema,
  url: string,
): z.output<Schema> {
  const start = url.indexOf('?');
  const query = start === -1 ? {} : { ...querystring.parse(url.slice(start + 1)) };
  const known = Object.keys(schema.shape).join(', ');
  return parse(
    schema,
    query,
    known === '' ? 'is not a known parameter' : `is not a known parameter; known are ${known}`,
  );
}

function toFieldErrors(issue: z.core.$ZodIssue, unknownMessage: string): FieldError[] {
  if (issue.code === 'unrecognized_keys') {
    return issue.keys.map((key) => ({
      field: fieldName([...issue.path, key]),
      message: unknownMessage,
    }));
  }
  return [{ field: fieldName(issue.path), message: issue.message }];
}

// A key can be text from the client. Limits its length and removes characters that affect a log line or a terminal.
function fieldName(path: readonly PropertyKey[]): string {
  if (path.length === 0) return 'body';
  return path
    .map(String)
    .join('.')
    .slice(0, 100)
    .replace(/[^\x20-\x7e]/g, '?');
}

const units: Record<string, string> = { string: ' characters', array: ' items', set: ' items' };

// Descriptions for Zod's type names that JSON does not have.
const typeNames: Record<string, string> = { record: 'an object', int: 'a whole number' };

function describeIssue(issue: z.core.$ZodRawIssue): string | undefined {
  if (issue.input === undefined && /^invalid_(type|value|union)$/.test(issue.code)) return 'is required';
  switch (issue.code) {
    case 'invalid_type':
      return `must be ${typeNames[issue.expected] ?? `of type ${issue.expected}`}`;
    case 'too_big':
      return `must be ${issue.inclusive === false ? 'less than' : 'at most'} ${issue.maximum}${units[issue.origin] ?? ''}`;
    case 'too_small':
      return `must be ${issue.inclusive === false ? 'more than' : 'at least'} ${issue.minimum}${units[issue.origin] ?? ''}`;
    case 'invalid_value':
      return `must be ${issue.values.length > 1 ? 'one of ' : ''}${issue.values.map(String).join(', ')}`;
    default:
      return undefined;
  }
}
