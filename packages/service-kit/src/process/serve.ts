import { createServer, IncomingMessage, type RequestListener, type Server, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Duplex } from 'node:stream';
import type { Express } from 'express';
import { refuseClientError, refuseMalformed } from '../http/client-error.ts';
import type { Logger } from '../observability/logger.ts';
import type { Health } from './health.ts';

interface ServeOptions {
  app: Express;
  /** Calls the app; the app itself unless something wraps it. */
  listener?: RequestListener;
  host: string;
  port: number;
  health: Health;
  logger: Logger;
  /** How long the service goes on after it said it is not ready, in milliseconds: endpoint removal is asynchronous. */
  shutdownDelayMs: number;
  /** Hard bound on the whole shutdown, in milliseconds; below Kubernetes' terminationGracePeriodSeconds. */
  shutdownTimeoutMs: number;
  http?: HttpTimeouts;
  /** Releases what the service holds, after the last request was answered. */
  close: () => Promise<void>;
}

/** How long a client may take, in milliseconds. */
export interface HttpTimeouts {
  /** Until the last header field has come; a connection that stays silent is closed after it too. */
  headersTimeoutMs: number;
  /** Until the whole request has come. */
  requestTimeoutMs: number;
  /** Between an answer and the next request. */
  keepAliveTimeoutMs: number;
}

/** Idle connections outlive the 60 s of a load balancer, so that it never writes into one that is being closed. */
export const defaultHttpTimeouts: HttpTimeouts = {
  headersTimeoutMs: 10_000,
  requestTimeoutMs: 15_000,
  keepAliveTimeoutMs: 65_000,
};

// So that long-lived connections spread over new replicas. Node's own maxRequestsPerSocket announces the end without
// closing, and answers 503 to a client that goes on; this closes with the last answer.
const maxRequestsPerConnection = 1000;

/**
 * Slow senders are cut off, nothing grows without bound, and what is not HTTP is refused in the one error shape.
 */
export function createHttpServer(
  listener: RequestListener,
  logger: Logger,
  { timeouts = defaultHttpTimeouts, app }: { timeouts?: HttpTimeouts | undefined; app?: Express } = {},
): Server {
  const connections = new WeakMap<Duplex, { latest: ServerResponse<IncomingMessage>; requests: number }>();
  const answer: RequestListener = (request, response) => {
    const requests = (connections.get(request.socket)?.requests ?? 0) + 1;
    connections.set(request.socket, { latest: response, requests });
    if (requests >= maxRequestsPerConnection) response.setHeader('Connection', 'close');
    if (!isOfKnownLength(request)) {
      // Node's parser refuses most of these itself, but only after it has announced the request.
      setImmediate(() => request.socket.writable && refuseMalformed(logger, response));
    } else if (request.headers.host === undefined && request.httpVersion === '1.1') {
      refuseMalformed(logger, response);
    } else listener(request, response);
  };
  const server = createServer(
    {
      ...(app === undefined ? {} : bornWithPrototypesOf(app)),
      requestTimeout: timeouts.requestTimeoutMs,
      // Node refuses a longer time for a part than for the whole.
      headersTimeout: Math.min(timeouts.headersTimeoutMs, timeouts.requestTimeoutMs),
      keepAliveTimeout: timeouts.keepAliveTimeoutMs,
      // Slow senders are found by looking, and so are cut off this much late at most.
      connectionsCheckingInterval: Math.min(2_000, Math.ceil(timeouts.headersTimeoutMs / 2)),
      maxHeaderSize: 16_384,
      requireHostHeader: false,
    },
    answer,
  );
  // An expectation that is not known is ignored, as RFC 9110 10.1.1 permits: Node's own 417 has no body.
  server.on('checkExpectation', answer);
  const isBusy = (socket: Duplex) => {
    const latest = connections.get(socket)?.latest;
    return latest !== undefined && isUnderWay(latest);
  };
  server.on('clientError', refuseClientError(logger, isBusy));
  server.maxHeadersCount = 100;
  server.maxConnections = 10_000;
  return server;
}

/**
 * Classes whose objects have the app's prototypes from birth, so that Express does not change them. Changing the prototype
 * of each request and response makes V8 discard its inline caches: 149 instead of 46 µs of CPU a request on Node 20, 166
 * instead of 46 on Node 22; Node 24 does not mind (41 µs). Delete this when the lowest supported Node is 24.
 */
function bornWithPrototypesOf(app: Express) {
  if (Number.parseInt(process.versions.node, 10) >= 24) return {};
  class AppRequest extends IncomingMessage {}
  class AppResponse<Request extends IncomingMessage> extends ServerResponse<Request> {}
  Object.setPrototypeOf(AppRequest.prototype, app.request);
  Object.setPrototypeOf(AppResponse.prototype, app.response);
  Object.assign(app, { request: AppRequest.prototype, response: AppResponse.prototype });
  return { IncomingMessage: AppRequest, ServerResponse: AppResponse };
}

// RFC 9112 6.1: what ends in another coding than `chunked` has no end, and other codings are not known here.
function isOfKnownLength({ headers }: IncomingMessage): boolean {
  const coding = headers['transfer-encoding'];
  return coding === undefined || coding.toLowerCase() === 'chunked';
}

// While a body is being read nothing has been done yet, and what is wrong with it can be said.
function isUnderWay(response: ServerResponse<IncomingMessage>): boolean {
  if (response.writableFinished) return false;
  const isReadingBody = !response.req.complete && response.req.readableFlowing === true;
  return response.headersSent || (isOfKnownLength(response.req) && !isReadingBody);
}

/** Listens, and on SIGTERM or SIGINT drains: not ready, wait, finish what was accepted, release, exit 0. */
export async function serve(options: ServeOptions): Promise<void> {
  const { health, logger } = options;
  const server = createHttpServer(
    (request, response) => {
      if (health.draining) response.setHeader('Connection', 'close');
      (options.listener ?? options.app)(request, response);
    },
    logger,
    { timeouts: options.http, app: options.app },
  );
  await listen(server, options.port, options.host);
  server.on('error', (error) => logger.error({ err: error }, 'server error'));
  let stopping = false;
  const stop = (signal: string) => {
    if (stopping) return;
    stopping = true;
    logger.info({ signal }, 'draining');
    shutDown(server, options).then(
      () => exitAfterFlush(logger, 0),
      (error: unknown) => {
        logger.error({ err: error }, 'shutdown failed');
        exitAfterFlush(logger, 1);
      },
    );
  };
  process.on('SIGTERM', stop);
  process.on('SIGINT', stop);
  const { port } = server.address() as AddressInfo;
  logger.info({ host: options.host, port }, 'listening');
}

function listen(server: Server, port: number, host: string): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen({ port, host, backlog: 1024 }, () => {
      server.off('error', reject);
      resolve();
    });
  });
}

async function shutDown(server: Server, options: ServeOptions): Promise<void> {
  const hardStop = setTimeout(() => {
    options.logger.error('shutdown took too long');
    exitAfterFlush(options.logger, 1);
  }, options.shutdownTimeoutMs);
  hardStop.unref();
  options.health.drain();
  await new Promise((resolve) => setTimeout(resolve, options.shutdownDelayMs));
  await closeServer(server);
  await options.close();
}

// A connection that was busy when the server closed is kept open by Node when its answer is out, until the client
// leaves or the keep-alive time ends.
async function closeServer(server: Server): Promise<void> {
  const sweep = setInterval(() => server.closeIdleConnections(), 50);
  try {
    await new Promise((resolve) => server.close(resolve));
  } finally {
    clearInterval(sweep);
  }
}

// Log lines are written asynchronously; the last ones say why a process ended.
function exitAfterFlush(logger: Logger, code: number): void {
  process.exitCode = code;
  const end = () => process.exit(code);
  setTimeout(end, 1000).unref();
  logger.flush(end);
}
