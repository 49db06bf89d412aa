import { randomUUID } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import type { Logger } from '../observability/logger.ts';
import { ProblemError, problemBody } from './problem.ts';

// Responses by the error codes of Node's parser and timers. All other codes mean malformed HTTP.
const refusals: Record<string, { status: number; code: string; detail: string }> = {
  HPE_HEADER_OVERFLOW: { status: 431, code: 'headers_too_large', detail: 'The header is too large.' },
  HPE_CHUNK_EXTENSIONS_OVERFLOW: { status: 413, code: 'body_too_large', detail: 'The body is too large.' },
  ERR_HTTP_REQUEST_TIMEOUT: {
    status: 408,
    code: 'request_timeout',
    detail: 'The request took too long to arrive.',
  },
};
const malformed = { status: 400, code: 'malformed_request', detail: 'The request is not valid HTTP.' };

const lingerMs = 1000;

/**
 * Responds to Node's `clientError` event, for input that is not a valid request, with the common error body, and closes
 * the connection. `busy`: whether an earlier request of the connection has no response yet. The client would take the
 * error for that response, so the connection is destroyed instead.
 */
export function refuseClientError(logger: Logger, busy: (socket: Duplex) => boolean) {
  return (error: NodeJS.ErrnoException, socket: Duplex): void => {
    if (error.code === 'ECONNRESET' || !socket.writable || busy(socket)) {
      socket.destroy();
      return;
    }
    const { problem, headers, body } = refusalOf(refusals[error.code ?? ''] ?? malformed, logger, error);
    const fields = Object.entries(headers).map(([name, value]) => `${name}: ${value}`);
    const head = [`HTTP/1.1 ${problem.status} ${problem.title}`, ...fields];
    socket.end(`${head.join('\r\n')}\r\n\r\n${body}`);
    // Disconnects a client that does not close its side. The delay prevents the loss of the response.
    setTimeout(() => socket.destroy(), lingerMs).unref();
  };
}

/** Refuses malformed requests that Node emits as requests or would refuse without a body. */
export function refuseMalformed(logger: Logger, response: ServerResponse): void {
  const { problem, headers, body } = refusalOf(malformed, logger);
  response.writeHead(problem.status, headers).end(body);
}

function refusalOf(refusal: typeof malformed, logger: Logger, cause?: Error) {
  const problem = new ProblemError(refusal);
  const requestId = randomUUID();
  const { code, status } = problem;
  logger.debug({ request_id: requestId, code, status, err: cause }, 'request refused');
  const body = JSON.stringify(problemBody(problem, requestId));
  const headers = {
    'Content-Type': 'application/json; charset=utf-8',
    'Content-Length': String(Buffer.byteLength(body)),
    'X-Request-Id': requestId,
    'Cache-Control': 'no-store',
    Connection: 'close',
  };
  return { problem, headers, body };
}
