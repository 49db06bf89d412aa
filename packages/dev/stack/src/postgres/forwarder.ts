import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

/** One address for several servers, like the name of a database: forwards each connection to the current one. */
export interface Forwarder {
  port: number;
  /** Forwards new connections to another port, and closes the others. */
  moveTo(port: number): void;
  close(): void;
}

/** Starts a forwarder on 127.0.0.1. */
export async function startForwarder(first: number): Promise<Forwarder> {
  let target = first;
  const sockets = new Set<Socket>();
  const server = createServer((client) => {
    const upstream = connect(target, '127.0.0.1');
    joinSockets(client, upstream, sockets);
    client.pipe(upstream).pipe(client);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const closeConnections = () => {
    for (const socket of sockets) socket.destroy();
  };
  return {
    port: (server.address() as AddressInfo).port,
    moveTo: (port) => {
      target = port;
      closeConnections();
    },
    close: () => {
      server.close();
      closeConnections();
    },
  };
}

/** Ends both connections with either, and keeps them in the set meanwhile. Each message is written at once. */
export function joinSockets(client: Socket, upstream: Socket, sockets: Set<Socket>): void {
  for (const [socket, other] of [
    [client, upstream],
    [upstream, client],
  ] as const) {
    sockets.add(socket);
    socket.setNoDelay(true);
    socket.on('error', () => other.destroy());
    socket.on('close', () => {
      sockets.delete(socket);
      other.destroy();
    });
  }
}
