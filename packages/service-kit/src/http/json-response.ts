import type { ServerResponse } from 'node:http';
import type { Operation, OperationResponse } from '@tessera/contracts';
import type { z } from 'zod';

declare const represented: unique symbol;

/** JSON text that represents a `T`: a value that is serialised once and sent many times. */
export type JsonText<T> = string & { readonly [represented]: T };

/** Serialises a value and keeps its type. */
export function jsonText<T>(value: T): JsonText<T> {
  return JSON.stringify(value) as JsonText<T>;
}

/** Joins serialised values to a JSON array. */
export function jsonArray<T>(items: readonly JsonText<T>[]): JsonText<T[]> {
  return `[${items.join(',')}]` as JsonText<T[]>;
}

/** Joins serialised members to a JSON object. */
export function jsonObject<T extends object>(members: { [Name in keyof T]: JsonText<T[Name]> }): JsonText<T> {
  const texts = Object.entries(members).map(([name, text]) => `${JSON.stringify(name)}:${text}`);
  return `{${texts.join(',')}}` as JsonText<T>;
}

/** Maximum size of a page of a list, in bytes of UTF-8, unless one item alone exceeds it. */
export const pageBytesMax = 512 * 1024;

/**
 * Presents the first rows as a page that ends after `size` items, or before the item that would exceed `pageBytesMax`.
 * `end` is the last row of the page if more rows are given.
 */
export function jsonPage<Row, Item>(
  rows: readonly Row[],
  size: number,
  present: (row: Row) => Item,
): { body: JsonText<Item[]>; end: Row | undefined } {
  const items: JsonText<Item>[] = [];
  let bytes = 0;
  for (const row of rows.slice(0, size)) {
    const item = jsonText(present(row));
    bytes += Buffer.byteLength(item) + 1;
    if (items.length > 0 && bytes > pageBytesMax) break;
    items.push(item);
  }
  return { body: jsonArray(items), end: rows.length > items.length ? rows[items.length - 1] : undefined };
}

/** A response as a value. The body is a value to serialise, or a string of JSON text; absent if there is none. */
export interface JsonResponse<Status extends number = number> {
  status: Status;
  headers?: Record<string, string>;
  body?: unknown;
  /** Writes the body, for a response that is a stream. It is not called for HEAD. */
  stream?: (response: ServerResponse) => void;
}

// `sendJson` sends strings as they are, so a string value has to be given as JSON text.
type WithBody<Response extends OperationResponse> = Response extends { readonly schema: infer Schema }
  ? Schema extends z.ZodType
    ? { body: Exclude<z.output<Schema>, string> | JsonText<z.output<Schema>> }
    : never
  : Response extends { readonly eventStream: z.ZodType } | { readonly bytes: true }
    ? { body?: undefined; stream: (response: ServerResponse) => void }
    : { body?: undefined };

/** The responses that an operation declares. */
export type ResponseOf<Op extends Operation> = {
  [Status in keyof Op['responses'] & number]: JsonResponse<Status> & WithBody<Op['responses'][Status]>;
}[keyof Op['responses'] & number];

/** Returns the JSON text of a response's body. */
export function bodyText({ body }: JsonResponse): string {
  return typeof body === 'string' ? body : JSON.stringify(body);
}

/** Writes a response; caches may store it only if its own headers permit it. */
export function sendJson(response: ServerResponse, answer: JsonResponse): void {
  if (answer.body === undefined) {
    response.writeHead(answer.status, answer.headers);
    if (answer.stream === undefined || response.req.method === 'HEAD') response.end();
    else answer.stream(response);
    return;
  }
  const body = bodyText(answer);
  response.writeHead(answer.status, {
    'Cache-Control': 'no-store',
    'Content-Type': 'application/json; charset=utf-8',
    'Content-Length': Buffer.byteLength(body),
    ...answer.headers,
  });
  response.end(response.req.method === 'HEAD' ? undefined : body);
}
