import type { ServerResponse } from 'node:http';
import type { Operation, OperationResponse } from '@tessera/contracts';
import type { z } from 'zod';
import type { JsonText } from './json-text.ts';

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
  : Response extends { readonly eventStream: z.ZodType }
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
