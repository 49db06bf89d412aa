import {
  type Api,
  identityApi,
  issuesApi,
  oauthProblemSchema,
  problemSchema,
  problemsOf,
} from '@tessera/contracts';
import { z } from 'zod';

const apis: readonly Api[] = [identityApi, issuesApi];

/** The bodies of the error responses of all operations, by `<operation> <status>`. */
const documented = new Map(
  apis.flatMap(({ operations, secured }) =>
    operations.flatMap((operation) =>
      problemsOf(operation, secured).map(({ status, codes, members = {} }) => {
        const { shape } = operation.oauth ? oauthProblemSchema : problemSchema;
        const body = z.strictObject({ ...shape, code: z.enum(codes), ...z.object(members).partial().shape });
        return [`${operation.id} ${status}`, body];
      }),
    ),
  ),
);
/** The error responses with a body of their own, such as that of `/readyz`, as `<operation> <status>`. */
const withoutCode = new Set(
  apis.flatMap(({ operations }) =>
    operations.flatMap(({ id, responses }) => Object.keys(responses).map((status) => `${id} ${status}`)),
  ),
);
const undocumented = new Set<string>();

/** An error response of an operation. */
interface ErrorResponse {
  operationId: string;
  status: number;
  body: string;
}

/** Checks that the operation documents the code and the members of its error response. */
export function recordErrorCode({ operationId, status, body }: ErrorResponse): void {
  const response = `${operationId} ${status}`;
  if (withoutCode.has(response)) return;
  const parsed = parse(body);
  const result = documented.get(response)?.safeParse(parsed);
  if (result?.success) return;
  const problems = parsed === undefined ? [] : (result?.error.issues ?? []);
  const places = problems
    .filter(({ path }) => path[0] !== 'code')
    .map(({ path, message }) => `${message} at /${path.join('/')}`);
  undocumented.add([response, codeOf(parsed), ...places].join(' '));
}

/** The recorded error responses that no operation documents. */
export function findUndocumentedCodes(): string[] {
  return [...undocumented];
}

/** Clears the recorded error responses; only for the tests of this module. */
export function forgetCodes(): void {
  undocumented.clear();
}

function parse(body: string): unknown {
  try {
    return JSON.parse(body);
  } catch {
    return undefined;
  }
}

function codeOf(body: unknown): unknown {
  return typeof body === 'object' && body !== null ? Reflect.get(body, 'code') : 'without JSON';
}
