import type { IncomingHttpHeaders, OutgoingHttpHeaders } from 'node:http';

/** A request as passed to an operation. */
export interface TrackerRequest {
  readonly method: string;
  /** The path as sent: percent-encoded, with the base path and without the query. */
  readonly path: string;
  /** The decoded path parameters. */
  readonly params: Readonly<Record<string, string>>;
  readonly query: Readonly<Record<string, string | readonly string[] | undefined>>;
  readonly headers: IncomingHttpHeaders;
  readonly body: unknown;
}

export interface TrackerResponse {
  readonly status: number;
  /** Names in lower case. */
  readonly headers?: OutgoingHttpHeaders;
  /** A string is sent unchanged, other values as JSON, undefined as an empty body. */
  readonly body?: unknown;
}

/** Processes a request. @throws ErrorResponse for an error response */
export type Operation = (call: TrackerRequest) => TrackerResponse;

/** An error response. */
export class ErrorResponse extends Error {
  override readonly name = 'ErrorResponse';
  readonly response: TrackerResponse;

  constructor(response: TrackerResponse) {
    super(`responded with ${response.status}`);
    this.response = response;
  }
}

/** The operation's response, or its error response. */
export function attempt(operation: Operation, call: TrackerRequest): TrackerResponse {
  try {
    return operation(call);
  } catch (error) {
    if (error instanceof ErrorResponse) return error.response;
    throw error;
  }
}

/** The members of a JSON object; empty for other values. */
export function membersOf(body: unknown): Readonly<Record<string, unknown>> {
  return typeof body === 'object' && body !== null && !Array.isArray(body) ? { ...body } : {};
}

/** A query parameter; the last one if it is repeated. */
export function single(call: TrackerRequest, name: string): string | undefined {
  const value = call.query[name];
  return typeof value === 'string' ? value : value?.at(-1);
}

/** A query parameter as a whole number; undefined if it is none. */
export function wholeNumber(call: TrackerRequest, name: string): number | undefined {
  const value = single(call, name);
  return value !== undefined && /^\d{1,9}$/.test(value) ? Number(value) : undefined;
}
