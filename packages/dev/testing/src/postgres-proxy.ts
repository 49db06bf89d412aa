import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

/** One message of a client to PostgreSQL. */
export interface ClientMessage {
  /** As in PostgreSQL, "Message Formats"; empty for the message that begins a connection. */
  type: string;
  /** The texts that its body begins with, each ended by a zero byte. */
  texts: string[];
  /** All of it, as it came. */
  bytes: Buffer;
}

/** What becomes of the messages of one connection: only what is given to `forward` arrives. */
export type OpenConnection = (forward: (bytes: Buffer) => void) => (message: ClientMessage) => void;

export interface PostgresProxy {
  port: number;
  close: () => Promise<void>;
}

/** Stands in front of the PostgreSQL server of a URL, and sees each message on its way there. */
export async function startPostgresProxy(target: string, open: OpenConnection): Promise<PostgresProxy> {
  const { hostname, port } = new URL(target);
  const sockets = new Set<Socket>();
  const server = createServer((client) => {
    const upstream = connect(Number(port), hostname);
    const read = messageReader(open((bytes) => upstream.write(bytes)));
    client.on('data', (chunk: Buffer) => read(chunk));
    upstream.pipe(client);
    for (const [socket, other] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      sockets.add(socket);
      // Each message is written by itself, and none waits until the one before it is acknowledged.
      socket.setNoDelay(true);
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

/**
 * Reads messages from bytes as they come. PostgreSQL, "Message Formats": a type of one byte and a length that counts
 * itself; the first message has no type.
 */
export function messageReader(take: (message: ClientMessage) => void): (chunk: Buffer) => void {
  let unread: Buffer = Buffer.alloc(0);
  let isStarted = false;
  return (chunk) => {
    unread = Buffer.concat([unread, chunk]);
    for (;;) {
      const offset = isStarted ? 1 : 0;
      if (unread.length < offset + 4) return;
      const length = offset + unread.readInt32BE(offset);
      if (unread.length < length) return;
      const bytes = unread.subarray(0, length);
      unread = unread.subarray(length);
      const type = isStarted ? String.fromCharCode(bytes[0] ?? 0) : '';
      // The first one has a protocol version before its texts.
      const body = bytes.subarray(isStarted ? 5 : 8);
      isStarted = true;
      take({ type, texts: body.toString().split('\0'), bytes });
    }
  };
}
