import { z } from 'zod';
import { type CommonCodes, commonCodes } from './problem.schemas.ts';
import type { ProblemCode } from './problem-reference.ts';

/** A schema of an object whose members become parameters. */
type ParametersSchema = z.ZodType<unknown, Record<string, unknown>> & { shape: Record<string, z.ZodType> };

/** A response of an operation: a success, or a status whose body is not the common error body. */
export interface OperationResponse {
  readonly description: string;
  /** The JSON body; absent for a response without a body. */
  readonly schema?: z.ZodType;
  /** The data of each event, for a body that is a stream of server-sent events. */
  readonly eventStream?: z.ZodType;
  /** The body is the bytes of a file. */
  readonly bytes?: true;
  /** Headers besides `X-Request-Id`, by name. */
  readonly headers?: Readonly<Record<string, z.ZodType>>;
}

/** The JSON body of a request. `form`: the schema of the same body as a form, for operations that accept forms. */
export interface OperationBody {
  readonly schema: z.ZodType;
  readonly form?: z.ZodType;
  /** A further body, JSON or form, that the operation accepts in some configurations. For the documentation. */
  readonly configurable?: z.ZodType;
  readonly optional?: boolean;
  /** A body that the operation accepts, for the documentation. */
  readonly example?: unknown;
}

/** An error response whose codes are not exactly the common ones of its status. */
export interface OperationProblem {
  readonly status: number;
  /** All values of `code`. For a status that is always possible, those in addition to the common ones. */
  readonly codes: readonly ProblemCode[];
  /** The description of the status by default. */
  readonly description?: string;
  /** Members of the body in addition to the common error body. Each is present with some codes. */
  readonly members?: Readonly<Record<string, z.ZodType>>;
}

/** An operation of an HTTP API. The OpenAPI document, the routes and typed clients are derived from it. */
export interface Operation {
  /** The unique name of the operation. Generated clients use it as the function name. */
  readonly id: string;
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE' | 'OPTIONS';
  /** Path template in the syntax of Express, such as `/issues/:id`. */
  readonly path: string;
  readonly summary: string;
  /** Markdown. */
  readonly description?: string;
  readonly tags: readonly string[];
  /** Security schemes, any one of which is sufficient; absent for a public operation. */
  readonly security?: readonly string[];
  readonly params?: ParametersSchema;
  readonly query?: ParametersSchema;
  readonly headers?: ParametersSchema;
  readonly body?: OperationBody;
  /** The body of a request that is a file: the handler reads it. */
  readonly upload?: { readonly description: string };
  readonly responses: Readonly<Record<number, OperationResponse>>;
  /**
   * Further error statuses; a number stands for the common codes of the status. 400, 500 and 503, and 408, 413 and 415
   * with a body, are always possible.
   */
  readonly problems?: readonly (number | OperationProblem)[];
  /** Error bodies also carry `error` and `error_description` (RFC 6749 5.2). */
  readonly oauth?: boolean;
}

/** An HTTP API with all data of its OpenAPI document. */
export interface Api {
  readonly title: string;
  readonly version: string;
  /** Markdown. */
  readonly description: string;
  /** The tags of the operations, with their descriptions. */
  readonly tags: Readonly<Record<string, string>>;
  readonly securitySchemes: Readonly<Record<string, SecurityScheme>>;
  readonly operations: readonly Operation[];
  /** The schemas of the events that are sent to webhooks, by type. */
  readonly sentEvents?: Readonly<Record<string, z.ZodType>>;
  /** Headers and errors of every operation with security, such as rate limits. */
  readonly secured?: {
    readonly headers: Readonly<Record<string, z.ZodType>>;
    readonly problems: readonly (number | OperationProblem)[];
  };
}

type SecurityScheme =
  | { readonly type: 'http'; readonly scheme: 'bearer'; readonly bearerFormat: string }
  | { readonly type: 'apiKey'; readonly in: 'header'; readonly name: string; readonly description: string };

/** Declares an operation and keeps its exact type. */
export function operation<const Declared extends Operation>(declared: Declared): Declared {
  return declared;
}

type Output<Schema, Otherwise> = Schema extends z.ZodType ? z.output<Schema> : Otherwise;

/** The parsed path parameters of an operation. */
export type ParamsOf<Op extends Operation> = Output<Op['params'], Record<never, never>>;
/** The parsed query of an operation. */
export type QueryOf<Op extends Operation> = Output<Op['query'], Record<never, never>>;
/** The parsed headers of an operation, by the names that it declares. */
export type HeadersOf<Op extends Operation> = Output<Op['headers'], Record<never, never>>;
/** The parsed body of an operation. */
export type BodyOf<Op extends Operation> = Op extends { readonly body: { readonly schema: infer Schema } }
  ? Output<Schema, undefined>
  : undefined;

/** The body of the successful responses of an operation; undefined for one without a body. */
export type ResponseBodyOf<Op extends Operation> = {
  [Status in keyof Op['responses']]: Op['responses'][Status] extends { readonly schema: infer Schema }
    ? Output<Schema, undefined>
    : undefined;
}[keyof Op['responses'] & (200 | 201 | 202 | 204)];

type DeclaredCode<Problem> = Problem extends { readonly codes: readonly (infer Code)[] }
  ? Code
  : Problem extends keyof CommonCodes
    ? CommonCodes[Problem][number]
    : string;

/** The values of `code` in the error responses of an operation. */
export type ProblemCodeOf<Op extends Operation> =
  | CommonCodes[400 | 408 | 413 | 415 | 429 | 500 | 503][number]
  | (Op extends { readonly problems: readonly (infer Problem)[] } ? DeclaredCode<Problem> : never);

/**
 * Returns all error responses of an operation with their codes, one for each status: those that are always possible,
 * the declared ones, and those of `secured`. The documents and the tests use this list.
 */
export function problemsOf(operation: Operation, secured?: Api['secured']): OperationProblem[] {
  const always = operation.body === undefined ? [400, 500, 503] : [400, 408, 413, 415, 500, 503];
  const further = operation.security === undefined ? [] : (secured?.problems ?? []);
  const problems = new Map<number, OperationProblem>();
  for (const given of [...always, ...(operation.problems ?? []), ...further]) {
    const problem = typeof given === 'number' ? { status: given, codes: codesOf(given) } : given;
    const known = problems.get(problem.status);
    const codes = [...new Set([...(known?.codes ?? []), ...problem.codes])];
    problems.set(problem.status, { ...known, ...problem, codes });
  }
  return [...problems.values()];
}

function codesOf(status: number): readonly ProblemCode[] {
  const entry = Object.entries(commonCodes).find(([known]) => Number(known) === status);
  if (entry === undefined) throw new Error(`The status ${status} has no common codes.`);
  return entry[1];
}

/**
 * Lists the members of a body that the operation does not know. Otherwise a misspelled optional member would go
 * unnoticed.
 */
export const ignoredFieldsHeader = {
  'X-Ignored-Fields': z
    .string()
    .optional()
    .describe(
      'The members of the body that were ignored because neither the request nor the response has a member of this name, separated by commas, nested names joined with dots; at most 20. With `Prefer: handling=strict` they are a 422.',
    ),
  'Preference-Applied': z
    .literal('handling=strict')
    .optional()
    .describe('Present if the request has this preference (RFC 7240).'),
};

/** `Link` to the next page, if there is one. */
export const nextLinkHeader = {
  Link: z
    .string()
    .optional()
    .describe(
      'RFC 8288, `rel="next"`: the URL of the next page, which may be relative. Absent on the last page.',
    ),
};
