import type { IncomingHttpHeaders, OutgoingHttpHeaders } from 'node:http';

/** A request as an operation sees it. */
export interface Call {
  readonly method: string;
  /** With the base path, without the query; as sent, so still percent-encoded. */
  readonly path: string;
  /** Decoded. */
  readonly params: Readonly<Record<string, string>>;
  readonly query: Readonly<Record<string, string | readonly string[] | undefined>>;
  readonly headers: IncomingHttpHeaders;
  readonly body: unknown;
}

export interface Answer {
  readonly status: number;
  /** Names in lower case. */
  readonly headers?: OutgoingHttpHeaders;
  /** A string is sent as it is, anything else as JSON; nothing when undefined. */
  readonly body?: unknown;
}

/** Carries a request out and says what is answered. @throws Refused */
export type Operation = (call: Call) => Answer;

/** Thrown by an operation that ends with an answer other than its own. */
export class Refused extends Error {
  override readonly name = 'Refused';
  readonly answer: Answer;

  constructor(answer: Answer) {
    super(`answered ${answer.status}`);
    this.answer = answer;
  }
}

/** The operation's answer, also when it is a refusal. */
export function attempt(operation: Operation, call: Call): Answer {
  try {
    return operation(call);
  } catch (error) {
    if (error instanceof Refused) return error.answer;
    throw error;
  }
}

/** The members of a JSON object; none when the body is anything else. */
export function membersOf(body: unknown): Readonly<Record<string, unknown>> {
  return typeof body === 'object' && body !== null && !Array.isArray(body) ? { ...body } : {};
}

/** A query parameter that is given once. */
export function single(call: Call, name: string): string | undefined {
  const value = call.query[name];
  return typeof value === 'string' ? value : value?.at(-1);
}

/** A query parameter that is a whole number; undefined when it is not. */
export function wholeNumber(call: Call, name: string): number | undefined {
  const value = single(call, name);
  return value !== undefined && /^\d{1,9}$/.test(value) ? Number(value) : undefined;
}
