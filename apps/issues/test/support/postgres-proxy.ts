import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import type { StepProxy, Steps } from './steps.ts';

/** In front of a PostgreSQL server; a query is a step, and nothing of one that may not be done arrives. */
export async function startPostgresProxy(target: string, steps: Steps): Promise<StepProxy> {
  const { hostname, port } = new URL(target);
  const sockets = new Set<Socket>();
  const server = createServer((client) => {
    const upstream = connect(Number(port), hostname);
    const forward = messageForwarder(steps, (bytes) => upstream.write(bytes));
    client.on('data', (chunk: Buffer) => forward(chunk));
    upstream.pipe(client);
    for (const [socket, other] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      sockets.add(socket);
      socket.on('error', () => other.destroy());
      socket.on('close', () => {
        sockets.delete(socket);
        other.destroy();
      });
    }
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    port: (server.address() as AddressInfo).port,
    close: async () => {
      server.close();
      for (const socket of sockets) socket.destroy();
    },
  };
}

const query = 'Q';
const sync = 'S';
const parse = 'P';
const bind = 'B';
// Of the extended query, whose messages the server carries out as they come and keeps with the Sync at their end.
const partsOfQuery = new Set([parse, bind, 'D', 'E', 'C']);

// PostgreSQL, "Message Formats": a type of one byte and a length that counts itself; the first message has no type.
function messageForwarder(steps: Steps, forward: (bytes: Buffer) => void) {
  let unread: Buffer = Buffer.alloc(0);
  let held: Buffer[] = [];
  let isStarted = false;
  let name = '';
  const statements = new Map<string, string>();
  return (chunk: Buffer): void => {
    unread = Buffer.concat([unread, chunk]);
    for (;;) {
      const offset = isStarted ? 1 : 0;
      if (unread.length < offset + 4) return;
      const length = offset + unread.readInt32BE(offset);
      if (unread.length < length) return;
      const message = unread.subarray(0, length);
      unread = unread.subarray(length);
      const type = isStarted ? String.fromCharCode(message[0] ?? 0) : '';
      isStarted = true;
      held.push(message);
      const [first = '', second = ''] = message
        .subarray(offset + 4)
        .toString()
        .split('\0', 2);
      if (type === query) name = shortened(first);
      if (type === parse) statements.set(first, shortened(second));
      if (type === bind) name = statements.get(second) ?? '';
      if (partsOfQuery.has(type)) continue;
      if ((type === query || type === sync) && !steps.take(name)) return;
      if (steps.isOver) return;
      for (const bytes of held) forward(bytes);
      held = [];
    }
  };
}

function shortened(statement: string): string {
  return statement.replace(/\s+/g, ' ').trim().slice(0, 60);
}
