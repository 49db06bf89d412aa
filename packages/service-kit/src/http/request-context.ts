import { randomUUID } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Logger } from '../observability/logger.ts';
import type { Metrics } from '../observability/metrics.ts';

declare module 'node:http' {
  interface IncomingMessage {
    /** The request's id, set by `requestContext`. */
    requestId?: string;
    /** The client's address as far as the trusted-proxy setting reaches; set by Express. */
    ip?: string | undefined;
  }
}

/** Where a request comes from, for the audit trail and the limits; never used to authenticate. */
export interface RequestOrigin {
  requestId: string;
  ip: string;
  userAgent: string | null;
}

const acceptableRequestId = /^[A-Za-z0-9._-]{1,64}$/;

/**
 * Gives each request its id, answered as `X-Request-Id`, and one access-log line when it is over. A well-formed
 * id from the caller is kept, so that ids join across services. The line holds the route's template rather than
 * the URL: a path may carry an e-mail address, and a query a credential. pino directly: pino-http would make
 * three child loggers for each request. With metrics, the request is counted there too.
 */
export function requestContext(logger: Logger, metrics?: Metrics) {
  // The line's members are fixed and none is secret; to search each line for secrets costs ten times the line itself.
  const accessLog = logger.child({}, { redact: [] });
  return function startRequest(request: IncomingMessage, response: ServerResponse): void {
    const given = request.headers['x-request-id'];
    const requestId = typeof given === 'string' && acceptableRequestId.test(given) ? given : randomUUID();
    const startedAt = performance.now();
    request.requestId = requestId;
    response.setHeader('X-Request-Id', requestId);
    response.once('close', () => {
      const { method = '' } = request;
      const route = request.operation?.path ?? null;
      const status = response.statusCode;
      const durationMs = performance.now() - startedAt;
      metrics?.observeRequest({ method, route, status, durationSeconds: durationMs / 1000 });
      accessLog.info(
        {
          request_id: requestId,
          method,
          route,
          status,
          duration_ms: Math.round(durationMs * 10) / 10,
          ...(request.traceId === undefined ? {} : { trace_id: request.traceId }),
          ...(response.writableFinished ? {} : { aborted: true }),
        },
        'request',
      );
    });
  };
}

/** Where a request came from. The address is the client's only as far as the trusted-proxy setting reaches. */
export function originOf(request: IncomingMessage): RequestOrigin {
  return {
    requestId: request.requestId ?? '',
    ip: request.ip ?? '',
    userAgent: request.headers['user-agent']?.slice(0, 400) ?? null,
  };
}

/** Aborted when the client disconnects before the response is written. */
export function abortSignalOf(response: ServerResponse): AbortSignal {
  const controller = new AbortController();
  response.once('close', () => {
    if (!response.writableFinished) controller.abort();
  });
  return controller.signal;
}
