import { once } from 'node:events';
import type { RequestListener, Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createHttpServer, type Logger } from '@tessera/service-kit';
import type { Express } from 'express';
import supertest from 'supertest';
import { type MayHoldTokens, recordingAnswers } from './recorded-answers.ts';

export interface TestServer {
  url: string;
  http: ReturnType<typeof supertest>;
  listener: RequestListener;
  /** Resolves when every request has been answered. */
  close: () => Promise<void>;
}

/** Starts the HTTP server of production on a free port and records its answers for the leak scan. */
export async function startTestServer(
  app: Express,
  logger: Logger,
  mayHoldTokens?: MayHoldTokens,
): Promise<TestServer> {
  const listener = recordingAnswers(app, mayHoldTokens);
  const server = createHttpServer(listener, logger, { app });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return { url, http: supertest(url), listener, close: () => closeServer(server) };
}

// Node keeps a connection open that was busy when the server closed, until the client leaves.
async function closeServer(server: Server): Promise<void> {
  const timer = setInterval(() => server.closeIdleConnections(), 10);
  await new Promise((resolve) => server.close(resolve));
  clearInterval(timer);
}
