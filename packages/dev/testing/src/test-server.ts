import { once } from 'node:events';
import type { IncomingMessage, RequestListener, Server, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createHttpServer, type Logger } from '@tessera/service-kit';
import type { Express } from 'express';
import supertest from 'supertest';
import { recordErrorCode } from './error-codes.ts';
import { recordEmission } from './leaks.ts';

/** Whether a response may contain tokens. */
type MayHoldTokens = (request: IncomingMessage, response: ServerResponse) => boolean;

export interface TestServer {
  url: string;
  http: ReturnType<typeof supertest>;
  listener: RequestListener;
  /** Resolves when every request has been answered. */
  close: () => Promise<void>;
}

/**
 * Starts the production HTTP server on a free port. Records its responses for the leak scan, and the codes of error
 * responses for the comparison with the API documents.
 */
export async function startTestServer(
  app: Express,
  logger: Logger,
  mayHoldTokens?: MayHoldTokens,
): Promise<TestServer> {
  const listener = recordResponses(app, mayHoldTokens);
  const server = createHttpServer(listener, logger, { app });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return { url, http: supertest(url), listener, close: () => closeServer(server) };
}

// Node keeps a connection that was busy during close() open until the client disconnects.
async function closeServer(server: Server): Promise<void> {
  const timer = setInterval(() => server.closeIdleConnections(), 10);
  await new Promise((resolve) => server.close(resolve));
  clearInterval(timer);
}

/** Wraps a listener and records each response with its headers and body. */
function recordResponses(
  listener: RequestListener,
  mayHoldTokens: MayHoldTokens = () => false,
): RequestListener {
  return (request, response) => {
    const chunks: Buffer[] = [];
    const end = response.end.bind(response);
    const write = response.write.bind(response);
    const keep = (chunk: unknown) => {
      if (typeof chunk === 'string' || chunk instanceof Uint8Array) chunks.push(Buffer.from(chunk));
    };
    response.write = ((chunk: unknown, ...rest: never[]) => {
      keep(chunk);
      return write(chunk as string, ...rest);
    }) as ServerResponse['write'];
    response.end = ((chunk: unknown, ...rest: never[]) => {
      keep(chunk);
      return end(chunk as string, ...rest);
    }) as ServerResponse['end'];
    response.once('close', () => {
      const head = JSON.stringify(response.getHeaders());
      const where = `${request.method} ${request.url?.split('?')[0]} ${response.statusCode}`;
      const body = Buffer.concat(chunks).toString();
      recordEmission(where, `${head}\n${body}`, mayHoldTokens(request, response));
      recordError(request, response, body);
    });
    listener(request, response);
  };
}

// A 405 belongs to no operation: the request has the path of one and another method.
function recordError(
  { operation, method }: IncomingMessage,
  { statusCode }: ServerResponse,
  body: string,
): void {
  if (statusCode < 400 || operation?.id === undefined || operation.method !== method) return;
  recordErrorCode({ operationId: operation.id, status: statusCode, body });
}
