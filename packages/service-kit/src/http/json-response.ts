import type { ServerResponse } from 'node:http';
import type { Operation, OperationResponse } from '@tessera/contracts';
import type { z } from 'zod';
import type { JsonText } from './json-text.ts';

/** A response as a value. The body is serialised as JSON, or is JSON text already; absent, there is none. */
export interface JsonResponse<Status extends number = number> {
  status: Status;
  headers?: Record<string, string>;
  body?: unknown;
}

// A string is JSON text already, so a value that is a string has to be given as its JSON text.
type WithBody<Response extends OperationResponse> = Response extends { readonly schema: infer Schema }
  ? Schema extends z.ZodType
    ? { body: Exclude<z.output<Schema>, string> | JsonText<z.output<Schema>> }
    : never
  : { body?: undefined };

/** The responses that an operation declares. */
export type ResponseOf<Op extends Operation> = {
  [Status in keyof Op['responses'] & number]: JsonResponse<Status> & WithBody<Op['responses'][Status]>;
}[keyof Op['responses'] & number];

/** The JSON text of a response's body. */
export function bodyText({ body }: JsonResponse): string {
  return typeof body === 'string' ? body : JSON.stringify(body);
}

/** Writes a response; caches keep it only when its own headers say so. */
export function sendJson(response: ServerResponse, answer: JsonResponse): void {
  if (answer.body === undefined) {
    response.writeHead(answer.status, answer.headers).end();
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
