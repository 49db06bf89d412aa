import type { z } from 'zod';
import type { identityApi } from './identity/api.ts';
import type { issuesApi } from './issues/api.ts';
import type { appClientOperations } from './issues/app-client.operations.ts';
import type { webSessionOperations } from './issues/web-session.operations.ts';
import type { ResponseBodyOf } from './operation.ts';

// Without a schema at run time, for clients in browsers.
export * from './operation-paths.ts';

type Declared =
  | (typeof identityApi.operations)[number]
  | (typeof issuesApi.operations)[number]
  | (typeof webSessionOperations)[number]
  | (typeof appClientOperations)[number];

/** All operations by id. */
export type OperationsById = { [Op in Declared as Op['id']]: Op };

type Id = keyof OperationsById;

export type ParameterValue = string | number | boolean | Date | readonly (string | number)[] | undefined;

type ParametersOf<Op> = Op extends { readonly params: { readonly shape: infer Shape } }
  ? { readonly params: { readonly [Name in keyof Shape]: string | number } }
  : { readonly params?: undefined };

// A query without parameters accepts every name.
type QueryOf<Input> = string extends keyof Input
  ? { readonly query?: undefined }
  : Record<never, never> extends Input
    ? { readonly query?: { readonly [Name in keyof Input]: ParameterValue } | undefined }
    : { readonly query: { readonly [Name in keyof Input]: ParameterValue } };

type Sent<Value> = Value extends readonly (infer Item)[]
  ? readonly Sent<Item>[]
  : Value extends object
    ? { readonly [Name in keyof Value]: Sent<Value[Name]> }
    : Value;

type BodyOf<Op> = Op extends { readonly body: { readonly schema: infer Schema extends z.ZodType } }
  ? Op extends { readonly body: { readonly optional: true } }
    ? { readonly body?: Sent<z.input<Schema>> }
    : { readonly body: Sent<z.input<Schema>> }
  : { readonly body?: undefined };

/**
 * A request of an operation, as a client gives it: the parameters of the path and the query, and the body. A wrong name
 * does not compile.
 */
export type RequestOf<One extends Id> = ParametersOf<OperationsById[One]> &
  QueryOf<
    OperationsById[One] extends { readonly query: infer Schema extends z.ZodType }
      ? z.input<Schema>
      : Record<string, never>
  > &
  BodyOf<OperationsById[One]>;

/** The body of the successful responses of an operation; undefined for one without a body. */
export type ResultOf<One extends Id> = ResponseBodyOf<OperationsById[One]>;

/** The ids of the operations with an `Idempotency-Key`. */
export type KeyedId = {
  [One in Id]: OperationsById[One] extends {
    readonly headers: { readonly shape: { readonly 'Idempotency-Key': unknown } };
  }
    ? One
    : never;
}[Id];

/** The parameters of a request. Arrays become repeated parameters; undefined values are omitted. */
export interface RequestParts {
  readonly params?: Readonly<Record<string, string | number>> | undefined;
  readonly query?: Readonly<Record<string, ParameterValue>> | undefined;
}

/**
 * Returns the method and the path of a request, with its query. `operation`: its entry in the table, such as
 * `GET /api/v1/issues/:id/`.
 * @throws TypeError for an id that is empty, `.` or `..`; RangeError for an invalid date
 */
export function requestLine(
  operation: string,
  { params = {}, query = {} }: RequestParts,
): { method: string; path: string } {
  const [method = '', template = ''] = operation.split(' ');
  const path = template.replace(/:(\w+)/g, (_, name) => segmentOf(params[name]));
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    for (const item of [value].flat())
      if (item !== undefined)
        parameters.append(name, item instanceof Date ? item.toISOString() : String(item));
  }
  // A space as %20, which every parser of queries understands.
  const search = String(parameters).replaceAll('+', '%20');
  return { method, path: search === '' ? path : `${path}?${search}` };
}

// URLs are normalized before they are sent, so a dot segment would make the path that of another operation. Without
// `toWellFormed`, a lone surrogate would be an error; its replacement character matches no id.
function segmentOf(value: string | number | undefined): string {
  const text = String(value);
  if (/^\.{0,2}$/.test(text)) throw new TypeError('An id must not be empty, "." or "..".');
  return encodeURIComponent(text.toWellFormed());
}
