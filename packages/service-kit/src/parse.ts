import type { FieldError } from '@tessera/contracts';
import type { z } from 'zod';
import { validationProblem } from './problem.ts';

/**
 * Parses input at a border: answers the schema's output, or throws a 422 problem that names every refused
 * field by its wire name. Values never appear in the messages.
 */
export function parse<Schema extends z.ZodType>(schema: Schema, input: unknown): z.output<Schema> {
  const result = schema.safeParse(input, { error: describeIssue });
  if (!result.success) {
    throw validationProblem(result.error.issues.flatMap(toFieldErrors));
  }
  return result.data;
}

function toFieldErrors(issue: z.core.$ZodIssue): FieldError[] {
  const path = issue.path.map(String).join('.');
  if (issue.code === 'unrecognized_keys') {
    return issue.keys.map((key) => ({
      field: printable([path, key].filter(Boolean).join('.')),
      message: 'is not a known field',
    }));
  }
  return [{ field: path === '' ? 'body' : path, message: issue.message }];
}

// A key is the client's text: bounded, and never able to break a log line or a terminal.
function printable(key: string): string {
  return key.slice(0, 100).replace(/[^\x20-\x7e]/g, '?');
}

function describeIssue(issue: z.core.$ZodRawIssue): string | undefined {
  if (issue.code === 'invalid_type') {
    return issue.input === undefined ? 'is required' : `must be of type ${issue.expected}`;
  }
  if (issue.code === 'too_big')
    return `must be at most ${issue.maximum}${issue.origin === 'string' ? ' characters' : ''}`;
  if (issue.code === 'too_small')
    return `must be at least ${issue.minimum}${issue.origin === 'string' ? ' characters' : ''}`;
  if (issue.code === 'invalid_value') return `must be one of ${issue.values.map(String).join(', ')}`;
  return undefined;
}
