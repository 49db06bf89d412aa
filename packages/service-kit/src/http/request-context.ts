import { randomUUID } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { isIP } from 'node:net';
import { setImmediate } from 'node:timers/promises';
import type { Logger } from '../observability/logger.ts';
import type { Metrics } from '../observability/metrics.ts';
import { plainAddress } from './network-of.ts';
import { ProblemError } from './problem.ts';

declare module 'node:http' {
  interface IncomingMessage {
    /** The request's id, set by `requestContext`. */
    requestId?: string;
    /** The client's address, as far as proxies are trusted; set by `createApp`. */
    ip?: string | undefined;
    /** The name of the backend whose service token the request carries. */
    backend?: string;
    /** Further members of the access-log line. */
    logged?: Record<string, string>;
    /** Whether the request is repeated by a program and found nothing: its line is logged at `debug` if it succeeds. */
    isIdle?: boolean;
    /** The time at which a response began that stays open. The metrics count the time until then. */
    streamingSince?: number;
  }
}

/** The origin of a request, for the audit trail and rate limits. It is never used for authentication. */
export interface RequestOrigin {
  requestId: string;
  ip: string;
  userAgent: string | null;
  /** The name of the backend whose service token the request carries, if the token has one. */
  backend?: string | undefined;
}

const acceptableRequestId = /^[A-Za-z0-9._-]{1,64}$/;

/**
 * Gives each request an id, sent as `X-Request-Id`, and writes one access-log line when the response closes. Keeps a
 * well-formed id of the caller, so that logs of several services can be joined. The line contains the operation's path
 * instead of the URL, which may contain an e-mail address or a credential. Does not use pino-http, which creates three
 * child loggers per request. Also counts the request in `metrics`, if given.
 */
export function requestContext(logger: Logger, metrics?: Metrics) {
  // Redaction is disabled, because the line has fixed members without secrets, and redaction takes ten times as long as
  // writing the line.
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
      const servedMs = (request.streamingSince ?? startedAt + durationMs) - startedAt;
      metrics?.observeRequest({ method, route, status, durationSeconds: servedMs / 1000 });
      accessLog[request.isIdle && status < 400 ? 'debug' : 'info'](
        {
          request_id: requestId,
          method,
          route,
          status,
          duration_ms: Math.round(durationMs * 10) / 10,
          ...request.logged,
          ...(request.traceId === undefined ? {} : { trace_id: request.traceId }),
          ...(response.writableFinished || request.streamingSince !== undefined ? {} : { aborted: true }),
        },
        'request',
      );
    });
  };
}

/**
 * Returns the client's address: the first address that is not a trusted proxy, starting with the connection and
 * continuing backwards through `X-Forwarded-For`. Removes the port that some proxies append, because it differs between
 * connections. If the entry is not an address, returns the address of the connection.
 */
export function clientAddress(
  { socket, headers }: Pick<IncomingMessage, 'socket' | 'headers'>,
  isTrusted: (address: string, hop: number) => boolean,
): string {
  const connection = socket.remoteAddress ?? '';
  const forwarded = String(headers['x-forwarded-for'] ?? '').split(',');
  let address = connection;
  for (const [hop, entry] of forwarded.reverse().entries()) {
    if (!isTrusted(address, hop)) return address;
    const next = withoutPort(entry.trim());
    if (isIP(next) === 0) return connection;
    address = next;
  }
  return address;
}

// `203.0.113.9:40001`, `[2001:db8::1]:40001` and `[2001:db8::1]`; an IPv6 address without brackets has no port.
function withoutPort(entry: string): string {
  const [, bracketed, ipv4] = /^\[([^\]]+)\](?::\d+)?$|^([\d.]+):\d+$/.exec(entry) ?? [];
  return bracketed ?? ipv4 ?? entry;
}

/** Returns where a request comes from. The address is the client's only if the proxies before it are trusted. */
export function originOf(request: IncomingMessage): RequestOrigin {
  return {
    requestId: request.requestId ?? '',
    ip: plainAddress(request.ip ?? ''),
    userAgent: request.headers['user-agent']?.slice(0, 400) ?? null,
    backend: request.backend,
  };
}

/**
 * Throws if the client has disconnected. A process that was suspended reads requests whose clients have given up meanwhile.
 */
export async function assertConnected({ socket }: IncomingMessage): Promise<void> {
  // Node reads the end of a connection in the iteration of the event loop after that of its data.
  await setImmediate();
  await setImmediate();
  if (socket.destroyed || socket.readableEnded) throw clientDisconnected();
}

/** The response is never delivered. 408 keeps the request out of the 5xx statistics. */
export function clientDisconnected(): ProblemError {
  return new ProblemError({ status: 408, code: 'client_gone', detail: 'The client closed the connection.' });
}

/** Aborted when the client disconnects before the response is written. */
export function abortSignalOf(response: ServerResponse): AbortSignal {
  const controller = new AbortController();
  response.once('close', () => {
    if (!response.writableFinished) controller.abort();
  });
  return controller.signal;
}
