import { randomUUID } from 'node:crypto';
import { createServer, type IncomingMessage, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Identity } from '@tessera/contracts';

export interface SeenRequest {
  method: string;
  url: string;
  serviceToken: string | undefined;
  requestId: string | undefined;
  body: unknown;
}

export type IdentityStub = Awaited<ReturnType<typeof startIdentityStub>>;

/** The far side of the network, for its faults alone: it answers as it is told, and remembers what it was asked. */
export async function startIdentityStub() {
  const seen: SeenRequest[] = [];
  let open = 0;
  const stub = {
    seen,
    /** Most requests that were open at one moment. */
    peak: 0,
    url: '',
    answer: ((_request, response) => response.writeHead(404).end('{}')) as RequestListener,
    close: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
  const server = createServer(async (request, response) => {
    open += 1;
    stub.peak = Math.max(stub.peak, open);
    response.once('close', () => {
      open -= 1;
    });
    seen.push({
      method: request.method ?? '',
      url: request.url ?? '',
      serviceToken: request.headersDistinct['x-service-token']?.[0],
      requestId: request.headersDistinct['x-request-id']?.[0],
      body: await bodyOf(request),
    });
    stub.answer(request, response);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  stub.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return stub;
}

async function bodyOf(request: IncomingMessage): Promise<unknown> {
  const chunks = await request.toArray();
  return chunks.length === 0 ? undefined : JSON.parse(Buffer.concat(chunks).toString());
}

/** Answers JSON. */
export function json(status: number, body: unknown, headers: Record<string, string> = {}): RequestListener {
  return (_request, response) =>
    response.writeHead(status, { 'Content-Type': 'application/json', ...headers }).end(JSON.stringify(body));
}

/** Answers one after the other; the last one stays. */
export function inTurn(...answers: [RequestListener, ...RequestListener[]]): RequestListener {
  let turn = 0;
  return (request, response) => {
    const answer = answers[Math.min(turn, answers.length - 1)] ?? answers[0];
    turn += 1;
    answer(request, response);
  };
}

/** An identity in wire form. */
export function wireIdentity(overrides: Partial<Identity> = {}): Identity {
  const now = new Date().toISOString();
  return {
    id: randomUUID(),
    email: 'ann@example.com',
    username: 'ann',
    sso_provider: null,
    sso_id: null,
    is_active: true,
    is_verified: false,
    is_staff: false,
    is_superuser: false,
    deleted_at: null,
    created_at: now,
    updated_at: now,
    ...overrides,
  };
}
