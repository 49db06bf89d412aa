import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

interface Delivery {
  headers: Record<string, string>;
  body: string;
}

export type Receiver = Awaited<ReturnType<typeof startReceiver>>;

/**
 * Starts a receiver of webhooks, which records deliveries.
 * @param answer the body of each response
 */
export async function startReceiver(answer = '') {
  const statuses: number[] = [];
  const received: Delivery[] = [];
  const waiting = new Set<() => void>();
  const server = createServer((request, response) => {
    let body = '';
    request.on('data', (chunk) => {
      body += chunk;
    });
    request.on('end', () => {
      response.writeHead(statuses.shift() ?? 204).end(answer);
      received.push({ headers: request.headers as Record<string, string>, body });
      for (const look of waiting) look();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    /** The statuses of the next responses. Then, each is 204. */
    statuses,
    url: `http://127.0.0.1:${port}/hooks`,
    /** Waits for a delivery whose body contains a text. */
    receive: (text: string) =>
      new Promise<Delivery>((resolve) => {
        const look = () => {
          const found = received.find(({ body }) => body.includes(text));
          if (found === undefined) return;
          waiting.delete(look);
          resolve(found);
        };
        waiting.add(look);
        look();
      }),
    close: () => {
      server.close();
      server.closeAllConnections();
    },
  };
}
