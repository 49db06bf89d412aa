import { AsyncLocalStorage } from 'node:async_hooks';
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import {
  type Attributes,
  type Context,
  defaultTextMapGetter,
  defaultTextMapSetter,
  ROOT_CONTEXT,
  type Span,
  SpanKind,
  SpanStatusCode,
  type Tracer,
  trace,
} from '@opentelemetry/api';
import { W3CTraceContextPropagator } from '@opentelemetry/core';
import { getLiveness, getReadiness, listIdentityEvents } from '@tessera/contracts';
import type pg from 'pg';

declare module 'node:http' {
  interface IncomingMessage {
    /** The trace of the request, for its log line. */
    traceId?: string;
  }
}

interface TracingOptions {
  tracer: Tracer;
  /** Sends the remaining spans. */
  shutdown: () => Promise<void>;
}

/** Programs request these every few seconds, mostly without a result. They have a span only in the trace of a caller. */
const untracedPaths = new Set<string>([getLiveness.path, getReadiness.path, listIdentityEvents.path]);

type Query = (...args: unknown[]) => unknown;

/**
 * OpenTelemetry spans of incoming requests, requests to the other service and SQL statements, joined by the W3C trace
 * context. Written by hand, because instrumentation that patches modules has to be loaded before them.
 */
export class Tracing {
  readonly #tracer: Tracer;
  readonly #current = new AsyncLocalStorage<Context>();
  readonly #propagator = new W3CTraceContextPropagator();
  readonly shutdown: () => Promise<void>;

  constructor({ tracer, shutdown }: TracingOptions) {
    this.#tracer = tracer;
    this.shutdown = shutdown;
  }

  /** Wraps a listener. Each request but probes and polls becomes a span, in the caller's trace if there is one. */
  traceRequests(listener: RequestListener): RequestListener {
    return (request, response) => {
      const parent = this.#propagator.extract(ROOT_CONTEXT, request.headers, defaultTextMapGetter);
      const { method = '', url = '' } = request;
      const [path = ''] = url.split('?', 1);
      if (parent === ROOT_CONTEXT && untracedPaths.has(path.replace(/\/$/, ''))) {
        listener(request, response);
        return;
      }
      const attributes = { 'http.request.method': method };
      const span = this.#tracer.startSpan(method, { kind: SpanKind.SERVER, attributes }, parent);
      request.traceId = span.spanContext().traceId;
      response.once('close', () => endRequest(span, request, response));
      this.#current.run(trace.setSpan(parent, span), () => listener(request, response));
    };
  }

  /** Traces a request to another service. `call` receives the headers that propagate the trace. */
  traceCall<Result>(
    name: string,
    attributes: Attributes,
    call: (headers: Record<string, string>) => Promise<Result>,
  ): Promise<Result> {
    return this.#trace(name, SpanKind.CLIENT, attributes, (context) => {
      const headers: Record<string, string> = {};
      this.#propagator.inject(context, headers, defaultTextMapSetter);
      return call(headers);
    });
  }

  /** Traces the statements of requests, with their text; values are parameters and not recorded. */
  tracePool(pool: pg.Pool): void {
    this.#traceQueries(pool);
    pool.on('connect', (client) => this.#traceQueries(client));
  }

  #traceQueries(target: object): void {
    const query: Query = Reflect.get(target, 'query').bind(target);
    Reflect.set(target, 'query', (...args: unknown[]) => {
      // A call with a callback comes from the pool itself, for a statement that already has a span.
      if (typeof args.at(-1) === 'function' || this.#current.getStore() === undefined) return query(...args);
      const text = textOf(args[0]);
      const operation = /^\s*(\w+)/.exec(text)?.[1]?.toUpperCase() ?? 'query';
      const attributes = { 'db.system.name': 'postgresql', 'db.query.text': text };
      return this.#trace(operation, SpanKind.CLIENT, attributes, async () => query(...args));
    });
  }

  async #trace<Result>(
    name: string,
    kind: SpanKind,
    attributes: Attributes,
    call: (context: Context) => Promise<Result>,
  ): Promise<Result> {
    const parent = this.#current.getStore() ?? ROOT_CONTEXT;
    const span = this.#tracer.startSpan(name, { kind, attributes }, parent);
    try {
      return await call(trace.setSpan(parent, span));
    } catch (error) {
      // Records only the class, because the message may contain a value.
      span.setAttribute('error.type', error instanceof Error ? error.name : 'unknown');
      span.setStatus({ code: SpanStatusCode.ERROR });
      throw error;
    } finally {
      span.end();
    }
  }
}

function endRequest(span: Span, request: IncomingMessage, response: ServerResponse): void {
  const route = request.operation?.path;
  if (route !== undefined) span.updateName(`${request.method} ${route}`).setAttribute('http.route', route);
  span.setAttribute('http.response.status_code', response.statusCode);
  if (request.requestId !== undefined) span.setAttribute('request_id', request.requestId);
  if (response.statusCode >= 500) span.setStatus({ code: SpanStatusCode.ERROR });
  span.end();
}

function textOf(query: unknown): string {
  if (typeof query === 'string') return query;
  const text: unknown = typeof query === 'object' && query !== null ? Reflect.get(query, 'text') : undefined;
  return typeof text === 'string' ? text : '';
}
