import { randomUUID } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { ProblemError, type ProblemOptions, problemBody } from '../http/problem.ts';
import type { Logger } from '../observability/logger.ts';

// Responses by the error codes of Node's parser and timers. All other codes mean malformed HTTP.
const refusals: Record<string, ProblemOptions> = {
  HPE_HEADER_OVERFLOW: { status: 431, code: 'headers_too_large', detail: 'The header is too large.' },
  HPE_CHUNK_EXTENSIONS_OVERFLOW: { status: 413, code: 'body_too_large', detail: 'The body is too large.' },
  ERR_HTTP_REQUEST_TIMEOUT: {
    status: 408,
    code: 'request_timeout',
    detail: 'The request took too long to arrive.',
  },
};
const malformed: ProblemOptions = {
  status: 400,
  code: 'malformed_request',
  detail: 'The request is not valid HTTP.',
};

const lingerMs = 1000;

interface RefusalOptions {
  logger: Logger;
  /** Headers of every response. */
  fixedHeaders: ReadonlyMap<string, string>;
  /** The URL of the entries of the reference. */
  problemsUrl: string;
}

interface ClientErrorOptions extends RefusalOptions {
  /** The response to the latest request of the connection. */
  findLatest: (socket: Duplex) => ServerResponse | undefined;
  /** Whether the request of an unfinished response is in progress. Otherwise, its body is being read. */
  isUnderWay: (response: ServerResponse) => boolean;
}

/**
 * Responds to Node's `clientError` event, for input that is not a valid request, with the common error body, and closes
 * the connection.
 */
export function refuseClientError({ findLatest, isUnderWay, ...options }: ClientErrorOptions) {
  const waiting = new WeakSet<Socket>();
  const refuseInput = (error: NodeJS.ErrnoException, socket: Socket): void => {
    // The connection is closed after the response to the request with `Connection: close`; later requests are ignored (RFC
    // 9112 9.6).
    if (socket.writableEnded || error.code === 'HPE_CLOSED_CONNECTION') return;
    if (error.code === 'ECONNRESET' || !socket.writable) {
      socket.destroy();
      return;
    }
    const latest = findLatest(socket);
    const unanswered = latest?.writableFinished ? undefined : latest;
    // The request has its response already; the error concerns the rest of its body.
    if (latest?.writableFinished && !latest.req.complete) {
      socket.destroySoon();
      return;
    }
    if (unanswered !== undefined && isUnderWay(unanswered)) {
      // The client would take the error for the response that is in progress.
      if (!waiting.has(socket)) unanswered.once('close', () => refuseInput(error, socket));
      waiting.add(socket);
      return;
    }
    const refusal = refusals[error.code ?? ''] ?? malformed;
    closeInStages(socket);
    if (unanswered !== undefined) {
      refuse(unanswered, refusal, options, error);
      // Ends the reading of the body. Node does not do so after the response.
      socket.once('close', () => unanswered.req.destroy());
      return;
    }
    const { problem, headers, body } = refusalOf(refusal, options, randomUUID(), error);
    const fields = [...options.fixedHeaders, ...Object.entries(headers)].map(
      ([name, value]) => `${name}: ${value}`,
    );
    const head = [`HTTP/1.1 ${problem.status} ${problem.title}`, ...fields];
    socket.write(`${head.join('\r\n')}\r\n\r\n${body}`);
    socket.destroySoon();
  };
  return refuseInput;
}

/** Refuses malformed requests that Node emits as requests or would refuse without a body. */
export function refuseMalformed(response: ServerResponse, options: RefusalOptions): void {
  refuse(response, malformed, options);
}

function refuse(
  response: ServerResponse,
  refusal: ProblemOptions,
  options: RefusalOptions,
  cause?: Error,
): void {
  const { requestId = randomUUID() } = response.req;
  const { problem, headers, body } = refusalOf(refusal, options, requestId, cause);
  for (const [name, value] of options.fixedHeaders) response.setHeader(name, value);
  response.writeHead(problem.status, problem.title, headers).end(body);
}

/**
 * Makes the server keep reading for a second after it has sent the last response. If it closed the connection while the
 * client still sends, the client could lose the response (RFC 9112 9.6).
 */
export function closeInStages(socket: Socket): void {
  socket.destroySoon = () => {
    socket.end();
    setTimeout(() => socket.destroy(), lingerMs).unref();
  };
}

function refusalOf(
  refusal: ProblemOptions,
  { logger, problemsUrl }: RefusalOptions,
  requestId: string,
  cause?: Error,
) {
  const problem = new ProblemError(refusal);
  const { code, status } = problem;
  logger.debug({ request_id: requestId, code, status, err: cause }, 'request refused');
  const body = JSON.stringify(problemBody(problem, requestId, problemsUrl));
  const headers = {
    'Content-Type': 'application/json; charset=utf-8',
    'Content-Length': String(Buffer.byteLength(body)),
    'X-Request-Id': requestId,
    'Cache-Control': 'no-store',
    Date: new Date().toUTCString(),
    Connection: 'close',
  };
  return { problem, headers, body };
}
