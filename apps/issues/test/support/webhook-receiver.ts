import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { Webhook } from 'standardwebhooks';

// A receiver of webhooks for `fork`, which responds at random with a success or a failure. It reports each message before
// it responds. Arguments: the secret, the port, and the share of failures.
const [secret = '', port = '0', failures = '0'] = process.argv.slice(2);

const failed: readonly ((response: ServerResponse) => void)[] = [
  (response) => response.writeHead(500).end('broken'),
  (response) => response.writeHead(302, { location: '/elsewhere' }).end(),
  (response) => response.destroy(),
  (response) => {
    response.writeHead(200, { 'content-length': '100' }).write('x', () => response.destroy());
  },
];

const server = createServer(async (request, response) => {
  const body = await text(request);
  const event = new Webhook(secret).verify(body, request.headers as Record<string, string>);
  const isFailure = Math.random() < Number(failures);
  process.send?.({ id: request.headers['webhook-id'], path: request.url, body, event }, () => {
    if (isFailure) failed[Math.floor(Math.random() * failed.length)]?.(response);
    else response.writeHead(200).end('x'.repeat(Math.random() * 10_000));
  });
});
server.listen(Number(port), '127.0.0.1', () => {
  process.send?.({ port: (server.address() as AddressInfo).port });
});
