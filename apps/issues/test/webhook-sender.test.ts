import { createServer as createHttpServer } from 'node:http';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { afterEach, describe, expect, it } from '@jest/globals';
import { WebhookSender } from '../src/webhooks/webhook-sender.ts';
import { type TargetAddress, WebhookTargets } from '../src/webhooks/webhook-target.ts';

const never = new AbortController().signal;
const stops: (() => void)[] = [];
afterEach(() => {
  for (const stop of stops.splice(0)) stop();
});

function startSender(timeoutMs: number, resolve?: (host: string) => Promise<TargetAddress[]>): WebhookSender {
  const rules = { allowsHttp: true, allowedNetworks: ['127.0.0.0/8'], ...(resolve && { resolve }) };
  return new WebhookSender({ targets: new WebhookTargets(rules), timeoutMs });
}

const messageTo = (url: string) => ({
  id: 'msg_1',
  url,
  secrets: ['whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw'],
  body: '{}',
});

async function listen(server: Server, address = '127.0.0.1', port = 0): Promise<number> {
  await new Promise<void>((resolve) => server.listen(port, address, resolve));
  return (server.address() as AddressInfo).port;
}

/** Starts an HTTP server that responds with its address. */
async function startNamed(address: string, port?: number): Promise<number> {
  const server = createHttpServer((request, response) =>
    request.resume().on('end', () => response.end(address)),
  );
  stops.push(() => {
    server.closeAllConnections();
    server.close();
  });
  return listen(server, address, port);
}

/** Starts a server that answers each connection with `answer` after the first bytes. */
async function startRaw(answer: (socket: Socket) => void) {
  const closed: Promise<void>[] = [];
  const server = createServer((socket) => {
    socket.on('error', () => undefined);
    closed.push(new Promise((resolve) => socket.once('close', () => resolve())));
    socket.once('data', () => answer(socket));
  });
  stops.push(() => server.close());
  return { port: await listen(server), closed };
}

/** Writes a text again and again until the connection is closed. */
function repeat(socket: Socket, text: string): void {
  const timer = setInterval(() => socket.write(text), 10);
  socket.once('close', () => clearInterval(timer));
}

describe('the sender of webhooks', () => {
  it('connects each time to the address that was checked', async () => {
    const port = await startNamed('127.0.0.1');
    await startNamed('127.0.0.2', port);
    let address = '127.0.0.1';
    const sender = startSender(60_000, async () => [{ address, family: 4 }]);
    const send = () => sender.send(messageTo(`http://moving.example:${port}/`), never);
    expect(await send()).toMatchObject({ status: 200, answer: '127.0.0.1' });
    address = '127.0.0.2';
    expect(await send()).toMatchObject({ status: 200, answer: '127.0.0.2' });
    // The name now leads to an internal address.
    address = '10.0.0.5';
    expect(await send()).toMatchObject({ status: null, error: 'forbidden_target' });
  });

  it.each<[string, (socket: Socket) => void, object]>([
    ['never responds', () => undefined, { status: null, error: 'timeout' }],
    [
      'sends interim responses without end',
      (socket) => repeat(socket, 'HTTP/1.1 100 Continue\r\n\r\n'),
      { status: null, error: 'timeout' },
    ],
    [
      'never ends its header',
      (socket) => {
        socket.write('HTTP/1.1 200 OK\r\nX: ');
        repeat(socket, 'x');
      },
      { status: null, error: 'timeout' },
    ],
    [
      'never ends its body',
      (socket) => {
        socket.write('HTTP/1.1 200 OK\r\nContent-Length: 2000\r\n\r\n');
        repeat(socket, 'x');
      },
      { status: 200, error: 'timeout', answer: expect.stringMatching(/^x/) },
    ],
    [
      'sends a large header',
      (socket) => socket.end(`HTTP/1.1 200 OK\r\nX: ${'x'.repeat(100_000)}\r\n\r\n`),
      { status: null, error: 'incomplete_response', answer: null },
    ],
    [
      'does not speak HTTP',
      (socket) => socket.end('\0\0hello'),
      { status: null, error: 'connection_failed' },
    ],
  ])('ends the attempt and its connection if the endpoint %s', async (_, answer, outcome) => {
    const { port, closed } = await startRaw(answer);
    // Long enough for the first bytes on a slow machine.
    const attempt = await startSender(2_000).send(messageTo(`http://127.0.0.1:${port}/`), never);
    expect(attempt).toMatchObject(outcome);
    expect(attempt.durationMs).toBeLessThan(5_000);
    await Promise.all(closed);
    expect(closed).toHaveLength(1);
  });
});
