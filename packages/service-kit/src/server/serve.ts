import { createServer, IncomingMessage, type RequestListener, type Server, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Duplex } from 'node:stream';
import type { Express } from 'express';
import { problemsUrlOf, problemsUrlSetting } from '../http/problem.ts';
import { fixedHeadersSetting } from '../http/security-headers.ts';
import type { Logger } from '../observability/logger.ts';
import type { Health } from '../process/health.ts';
import { closeInStages, refuseClientError, refuseMalformed } from './client-error.ts';
import { paceInput } from './paced-input.ts';
import { ServerConnections } from './server-connections.ts';
import { SlowBodies } from './slow-bodies.ts';
import { UnsentResponses } from './unsent-responses.ts';

interface ServeOptions {
  app: Express;
  /** The listener for requests: the app or a wrapper of the app. Default: the app. */
  listener?: RequestListener;
  host: string;
  port: number;
  health: Health;
  logger: Logger;
  /**
   * How long the service serves requests after it became unready, in milliseconds. Kubernetes removes endpoints
   * asynchronously.
   */
  shutdownDelayMs: number;
  /** Timeout of the whole shutdown, in milliseconds. Must be below Kubernetes' terminationGracePeriodSeconds. */
  shutdownTimeoutMs: number;
  http?: HttpTimeouts;
  /** Ends the responses that stay open, when no connection is accepted any more. */
  endStreams?: (() => void) | undefined;
  /** Releases the service's resources, after the last response. */
  close: () => Promise<void>;
}

/** Timeouts of clients, in milliseconds. */
export interface HttpTimeouts {
  /** Maximum time until the header is complete. Also closes connections that send nothing. */
  headersTimeoutMs: number;
  /** Maximum time until the request is complete. */
  requestTimeoutMs: number;
  /** Maximum time between a response and the next request. */
  keepAliveTimeoutMs: number;
  /** Maximum time until the client has received a response. */
  drainTimeoutMs: number;
}

/**
 * The keep-alive timeout exceeds the 60 s of a load balancer, so that it never uses a connection that is being closed.
 */
export const defaultHttpTimeouts: HttpTimeouts = {
  headersTimeoutMs: 10_000,
  requestTimeoutMs: 15_000,
  keepAliveTimeoutMs: 65_000,
  drainTimeoutMs: 30_000,
};

// Distributes long-lived connections over new replicas. Node's maxRequestsPerSocket does not close the connection and
// responds 503 to further requests; this limit closes the connection with the last response.
const maxRequestsPerConnection = 1000;

/** Twice the number of streams of events that a process serves. */
const maxConnections = 20_000;

/** A connection is closed after a larger body, because a refusal leaves the rest of the body unread. */
const reusableBodyMax = 1024 * 1024;

interface Connection {
  latest: ServerResponse<IncomingMessage>;
  requests: number;
  /** Number of requests that wait for an earlier response. */
  waiting: number;
  /** Continues the input when no request waits any more. */
  resume?: (() => void) | undefined;
}

interface HttpServerOptions {
  timeouts?: HttpTimeouts | undefined;
  app?: Express;
  /** Maximum of `UnsentResponses`. */
  unsentMax?: number;
}

/**
 * Creates a server with limits on time, sizes and connections, which responds to malformed requests with the common
 * error body. For an Express app, pass `app`, so that requests and responses get their prototypes at creation.
 */
export function createHttpServer(
  listener: RequestListener,
  logger: Logger,
  { timeouts = defaultHttpTimeouts, app, unsentMax }: HttpServerOptions = {},
): Server {
  const unsent = new UnsentResponses({ drainTimeoutMs: timeouts.drainTimeoutMs, max: unsentMax, logger });
  const fixedHeaders: ReadonlyMap<string, string> = app?.get(fixedHeadersSetting) ?? new Map();
  const problemsUrl: string = app?.get(problemsUrlSetting) ?? problemsUrlOf('');
  const refusal = { logger, fixedHeaders, problemsUrl };
  const connections = new WeakMap<Duplex, Connection>();
  const answer: RequestListener = (request, response) => {
    const { socket } = request;
    // The parser emits all requests of a read, even if an earlier request closed the connection.
    if (socket.destroyed) return;
    const connection = connections.get(socket) ?? { latest: response, requests: 0, waiting: 0 };
    const { latest } = connection;
    connection.latest = response;
    connection.requests += 1;
    connections.set(socket, connection);
    unsent.watch(response);
    slow.watch(request);
    if (connection.requests >= maxRequestsPerConnection) response.setHeader('Connection', 'close');
    if (Number(request.headers['content-length']) > reusableBodyMax) {
      response.setHeader('Connection', 'close');
      closeInStages(socket);
    }
    if (!isOfKnownLength(request)) {
      // Node's parser refuses most of these itself, but only after it has emitted the request.
      setImmediate(() => request.socket.writable && refuseMalformed(response, refusal));
    } else if (!hasValidHost(request)) {
      refuseMalformed(response, refusal);
    } else if (latest === response || latest.closed) {
      listener(request, response);
    } else {
      // Each connection has one request processed at a time, so that other connections are served in between.
      connection.waiting += 1;
      latest.once('close', () =>
        setImmediate(() => {
          connection.waiting -= 1;
          if (socket.destroyed) return;
          listener(request, response);
          if (connection.waiting > 0) return;
          connection.resume?.();
          connection.resume = undefined;
        }),
      );
    }
  };
  const slow = new SlowBodies(timeouts.requestTimeoutMs, (error, socket) =>
    server.emit('clientError', error, socket),
  );
  const server: Server = createServer(
    {
      ...(app === undefined ? {} : bornWithPrototypesOf(app)),
      // Node has one for all requests; that of a file depends on its size.
      requestTimeout: 0,
      headersTimeout: Math.min(timeouts.headersTimeoutMs, timeouts.requestTimeoutMs),
      keepAliveTimeout: timeouts.keepAliveTimeoutMs,
      // Node checks the timeouts at this interval.
      connectionsCheckingInterval: Math.min(2_000, Math.ceil(timeouts.headersTimeoutMs / 2)),
      maxHeaderSize: 16_384,
      // A body waits in memory while earlier requests of its client are in progress. With chunks of one byte, each byte
      // takes 200 bytes of memory.
      highWaterMark: 4_096,
      requireHostHeader: false,
    },
    answer,
  );
  // RFC 9110 10.1.1 permits ignoring an unknown expectation; Node would answer 417 without a body.
  server.on('checkExpectation', answer);
  // `readBody` sends 100 (Continue), so that a refusal comes without it. The client may then omit the body.
  server.on('checkContinue', (request, response) => {
    response.setHeader('Connection', 'close');
    answer(request, response);
  });
  const findLatest = (socket: Duplex) => connections.get(socket)?.latest;
  server.on('clientError', refuseClientError({ ...refusal, findLatest, isUnderWay }));
  paceInput(server, {
    isClosing: (socket) => {
      const latest = connections.get(socket)?.latest;
      return latest?.writableEnded === true && latest.getHeader('connection') === 'close';
    },
    isHeld: (socket, resume) => {
      const connection = connections.get(socket);
      if (connection === undefined || connection.waiting === 0) return false;
      connection.resume = resume;
      return true;
    },
  });
  server.maxHeadersCount = 100;
  server.maxConnections = maxConnections;
  return server;
}

/**
 * Returns classes whose instances have the app's prototypes at creation, so that Express does not change them. Changing
 * the prototype of each request and response makes V8 discard its inline caches: 149 instead of 46 µs of CPU per
 * request on Node 20, 166 instead of 46 on Node 22. Node 24 is not affected (41 µs). Delete this when the lowest
 * supported Node is 24.
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

// RFC 9112 6.1: a body whose last coding is not `chunked` has no known end; other codings are not supported.
function isOfKnownLength({ headers }: IncomingMessage): boolean {
  const coding = headers['transfer-encoding'];
  return coding === undefined || coding.toLowerCase() === 'chunked';
}

// RFC 9112 3.2: 400 for HTTP/1.1 without `Host`, and for any request with an invalid one or more than one, of which Node
// keeps the first. RFC 3986 3.2.2 and 3.2.3: the characters of a host and a port.
function hasValidHost({ headers, rawHeaders, httpVersion }: IncomingMessage): boolean {
  if (headers.host === undefined) return httpVersion !== '1.1';
  if (!/^[\w.~!$&'()*+,;=%:[\]-]*$/.test(headers.host)) return false;
  let fields = 0;
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index];
    if (name?.length === 4 && name.toLowerCase() === 'host') fields += 1;
  }
  return fields === 1;
}

// The handler of an operation with a body starts when the body is complete; until then an error can be sent.
function isUnderWay(response: ServerResponse<IncomingMessage>): boolean {
  const { req: request } = response;
  const { body, upload } = request.operation ?? {};
  const isReadingBody =
    !request.complete && (request.readableFlowing === true || body !== undefined || upload !== undefined);
  return response.headersSent || (isOfKnownLength(request) && !isReadingBody);
}

/**
 * Starts the server. On SIGTERM or SIGINT, becomes unready, waits, finishes accepted requests, closes and exits with 0.
 */
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
  const connections = new ServerConnections(server);
  await listen(server, options.port, options.host);
  server.on('error', (error) => logger.error({ err: error }, 'server error'));
  let stopping = false;
  const stop = (signal: string) => {
    if (stopping) return;
    stopping = true;
    logger.info({ signal }, 'draining');
    shutDown(connections, options).then(
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

async function shutDown(connections: ServerConnections, options: ServeOptions): Promise<void> {
  const hardStop = setTimeout(() => {
    options.logger.error('shutdown took too long');
    exitAfterFlush(options.logger, 1);
  }, options.shutdownTimeoutMs);
  hardStop.unref();
  options.health.drain();
  await new Promise((resolve) => setTimeout(resolve, options.shutdownDelayMs));
  await connections.close(options.endStreams);
  await options.close();
}

// Log lines are written asynchronously, and the last ones state why the process ended.
function exitAfterFlush(logger: Logger, code: number): void {
  process.exitCode = code;
  const end = () => process.exit(code);
  setTimeout(end, 1000).unref();
  logger.flush(end);
}
