import type { IncomingMessage, ServerResponse } from 'node:http';
import {
  type BodyOf,
  type HeadersOf,
  ignoredMemberFinder,
  type Operation,
  type ParamsOf,
  type QueryOf,
} from '@tessera/contracts';
import { type BodyOptions, readBody } from './body.ts';
import { sendCompressed, withoutCodings } from './compressed-response.ts';
import { type ResponseOf, sendJson } from './json-response.ts';
import { parse, parseQuery } from './parse.ts';
import { type PreparedDocument, sendPreparedDocument } from './prepared-document.ts';
import { validationProblem } from './problem.ts';

/** The members of an operation that routing needs. */
type RoutedOperation = Pick<Operation, 'method' | 'path'> &
  Partial<Pick<Operation, 'id' | 'oauth' | 'body' | 'upload'>> & {
    /** Whether browsers open it, so that its errors are pages. */
    page?: boolean;
  };

declare module 'node:http' {
  interface IncomingMessage {
    /** The operation whose path the request matched; set by `createApp`. */
    operation?: RoutedOperation;
    /** The pace of a body that is a file, and the bytes that have arrived. They give it more time than other bodies have. */
    pace?: { bytesPerSecond: number; arrived: number };
    /** Path parameters, decoded; set by Express. */
    params?: Record<string, string | string[]>;
    /** The path of the URL, without its query; set by Express. */
    path?: string;
  }
}

/** The other origins that may read responses (CORS). */
export interface CrossOrigin {
  origins: '*' | string[];
  methods: string[];
  exposedHeaders?: string[];
}

/**
 * The access rule of a route: authenticates the caller, and defines which origins may read and which caches may store
 * responses.
 */
export interface Access<Actor> {
  /** Returns the caller, or throws the problem that refuses the request. */
  identify: (request: IncomingMessage, response: ServerResponse) => Actor | Promise<Actor>;
  crossOrigin?: CrossOrigin;
  /** Headers of every response. */
  headers?: Record<string, string>;
  /** Adds headers to a response of a handler, before it is written. */
  answered?: ((request: IncomingMessage, response: ServerResponse) => void | Promise<void>) | undefined;
  /**
   * Returns the caller as known now, if a handler has failed because it knew an older state of the caller, and throws any other error. The
   * handler then runs once more, so it must not have read the request's stream itself.
   */
  renew?(error: unknown, actor: Actor): Actor | Promise<Actor>;
}

/** Access without authentication. */
export const everyone: Access<undefined> = { identify: () => undefined };

/** A rate limit per caller. Its functions throw a 429 problem if the quota is exceeded. */
export interface Limit<Actor> {
  /** Counts a request before its body is read. */
  request: (actor: Actor, response: ServerResponse) => void | Promise<void>;
  /** Counts the bytes of a request's body before it is parsed. */
  body?: (actor: Actor, response: ServerResponse, bytes: number) => void | Promise<void>;
}

interface Admission<Actor> {
  access: Access<Actor>;
  limit?: Limit<Actor> | undefined;
}

interface RouteOptions<Actor> extends Admission<Actor> {
  /** Throws a problem for a caller without the right to this operation, before the input is read. */
  authorize?: (actor: Actor, request: IncomingMessage) => void;
  body?: BodyOptions;
  /**
   * Whether successful responses to a caller are compressed. Not for a body that contains a secret and text of another person: its size tells how much
   * they have in common (BREACH).
   */
  compress?: ((actor: Actor) => boolean) | undefined;
}

/** The argument of a handler: the input as parsed by the operation's schemas, and the caller. */
export interface Call<Params, Query, Headers, Body, Actor> {
  params: Params;
  query: Query;
  headers: Headers;
  body: Body;
  actor: Actor;
  requestId: string;
  request: IncomingMessage;
  response: ServerResponse;
}

/** Handles one operation: returns one of the responses that it declares, or throws a problem. */
export type Handler<Op extends Operation, Actor = undefined> = (
  call: Call<ParamsOf<Op>, QueryOf<Op>, HeadersOf<Op>, BodyOf<Op>, Actor>,
) => ResponseOf<Op> | Promise<ResponseOf<Op>>;

/** Authentication and rate limiting. */
export interface Guard {
  access: Access<unknown>;
  admit: (request: IncomingMessage, response: ServerResponse) => unknown;
}

/** An operation bound to its handler; `createApp` serves it. */
export interface Route extends Guard {
  operation: RoutedOperation;
  /** Runs all steps from authentication to the response. */
  serve: (request: IncomingMessage, response: ServerResponse) => Promise<void> | void;
}

// Continues synchronously if the value is not a promise. The response is then written before Node parses the next
// request of the connection, which may be malformed and end the connection.
function chain<Value, Result>(
  value: Value | Promise<Value>,
  next: (value: Value) => Result | Promise<Result>,
): Result | Promise<Result> {
  return value instanceof Promise ? value.then(next) : next(value);
}

/** Composes authentication and rate limiting. */
export function guard<Actor>({ access, limit }: Admission<Actor>) {
  return {
    access,
    admit: (request: IncomingMessage, response: ServerResponse): Actor | Promise<Actor> =>
      chain(access.identify(request, response), (actor) =>
        limit === undefined ? actor : chain(limit.request(actor, response), () => actor),
      ),
  };
}

/**
 * Binds a handler to an operation. A request passes, in this order: authentication, rate limit, authorisation, body,
 * parsing of path, query, headers and body, handler.
 */
export function route<const Op extends Operation, Actor>(
  operation: Op,
  { authorize, body = {}, compress, ...admission }: RouteOptions<Actor>,
  // Written out instead of `Handler<Op, Actor>`, so that one handler can serve two operations of the same shape.
  handler: (
    call: Call<ParamsOf<Op>, QueryOf<Op>, HeadersOf<Op>, BodyOf<Op>, Actor>,
  ) => ResponseOf<Op> | Promise<ResponseOf<Op>>,
): Route {
  const { access, admit } = guard(admission);
  const countBody = admission.limit?.body;
  const read = operation.body === undefined ? undefined : readBody(operation.body, body);
  const parseInput = inputParser(operation, body);
  const findIgnored = ignoredMemberFinder(operation);
  return {
    operation,
    access,
    admit,
    serve: (request, response) =>
      chain(admit(request, response), (actor) => {
        authorize?.(actor, request);
        const write = compress?.(actor) ? sendCompressed : sendJson;
        const answer = () => {
          const { requestId = '' } = request;
          if (findIgnored !== undefined)
            refuseOrList(findIgnored(request.body).map(headerText), request, response);
          const input = parseInput(request);
          // 1 MiB of JSON can take 20 MiB, which would stay in memory while the handler waits.
          if (!body.raw) request.body = undefined;
          const call = (as: Actor) => handler({ ...input, actor: as, requestId, request, response });
          return chain(orAgain(call, actor, access.renew), (value) =>
            access.answered === undefined
              ? write(response, value)
              : chain(access.answered(request, response), () => write(response, value)),
          );
        };
        if (read === undefined) return answer();
        return chain(
          read(request, response, (bytes) => countBody?.(actor, response, bytes)),
          answer,
        );
      }),
  };
}

function orAgain<Actor, Value>(
  call: (actor: Actor) => Value | Promise<Value>,
  actor: Actor,
  renew: Access<Actor>['renew'],
): Value | Promise<Value> {
  const ready = call(actor);
  return renew !== undefined && ready instanceof Promise
    ? ready.catch(async (error: unknown) => call(await renew(error, actor)))
    : ready;
}

/** Serves a document that never changes. */
export function documentRoute(
  operation: RoutedOperation & { method: 'GET' },
  document: PreparedDocument,
  access: Access<unknown> = everyone,
): Route {
  return {
    operation,
    access,
    admit: async () => undefined,
    serve: (request, response) => sendPreparedDocument(request, response, document),
  };
}

/** Lists the ignored members of a body in a header; refuses them if the client prefers strict handling (RFC 7240 4.4). */
function refuseOrList(ignored: string[], { headers }: IncomingMessage, response: ServerResponse): void {
  const isStrict = prefersStrict(headers.prefer);
  if (isStrict) response.setHeader('Preference-Applied', 'handling=strict');
  if (ignored.length === 0) return;
  if (isStrict) throw validationProblem(ignored.map((field) => ({ field, message: 'is not known' })));
  response.setHeader('X-Ignored-Fields', ignored.join(', '));
}

/** The first value of a preference counts (RFC 7240 2). */
function prefersStrict(prefer: string | string[] | undefined): boolean {
  const preferences = `${prefer ?? ''}`.split(',').map((one) => one.replace(/;.*/, '').trim());
  const handling = preferences.find((one) => /^handling\s*=/i.test(one));
  return handling !== undefined && /^\w+\s*=\s*(strict|"strict")$/.test(handling);
}

/** A name can be any text from the client; a comma separates the names. */
function headerText(name: string): string {
  return name.slice(0, 100).replace(/[^\x21-\x2b\x2d-\x7e]/g, '?');
}

interface Input<Op extends Operation> {
  params: ParamsOf<Op>;
  query: QueryOf<Op>;
  headers: HeadersOf<Op>;
  body: BodyOf<Op>;
}

function bodyReader({ form, optional }: Partial<NonNullable<Operation['body']>> = {}) {
  // An operation that accepts both treats a form without parameters like an empty JSON body.
  if (form !== undefined) return (request: IncomingMessage) => request.body ?? {};
  if (optional) return (request: IncomingMessage) => (request.body === undefined ? {} : request.body);
  return (request: IncomingMessage) => request.body;
}

const conditional: readonly string[] = ['if-match', 'if-none-match'];

function headerOf({ headers }: IncomingMessage, name: string): string | string[] | undefined {
  const value = headers[name];
  return typeof value === 'string' && conditional.includes(name) ? withoutCodings(value) : value;
}

function inputParser<Op extends Operation>(operation: Op, { from }: BodyOptions) {
  const { params, query, headers, body } = operation;
  const readInput = from ?? bodyReader(body);
  const headerNames = Object.keys(headers?.shape ?? {}).map((name) => [name, name.toLowerCase()] as const);
  return (request: IncomingMessage): Input<Op> => {
    const input: Record<keyof Input<Op>, unknown> = {
      params: params === undefined ? {} : parse(params, request.params),
      query: query === undefined ? {} : parseQuery(query, request.url ?? ''),
      headers:
        headers === undefined
          ? {}
          : parse(
              headers,
              Object.fromEntries(headerNames.map(([name, key]) => [name, headerOf(request, key)])),
            ),
      body: body === undefined ? undefined : parse(body.schema, readInput(request)),
    };
    // Each member is the output of the operation's own schema.
    return input as Input<Op>;
  };
}
