import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { joinSockets } from '@tessera/stack/postgres';

/** A message from a client to PostgreSQL. */
export interface ClientMessage {
  /** The type, as in PostgreSQL, "Message Formats"; empty for the startup message. */
  type: string;
  /** The zero-terminated strings at the start of the body. */
  texts: string[];
  /** The whole message. */
  bytes: Buffer;
}

/** Handles the messages of one connection; only messages passed to `forward` reach the server. */
export type OpenConnection = (forward: (bytes: Buffer) => void) => (message: ClientMessage) => void;

export interface PostgresProxy {
  port: number;
  close: () => Promise<void>;
}

/** A proxy in front of a PostgreSQL server that handles each message of its clients. */
export async function startPostgresProxy(target: string, open: OpenConnection): Promise<PostgresProxy> {
  const { hostname, port } = new URL(target);
  const sockets = new Set<Socket>();
  const server = createServer((client) => {
    const upstream = connect(Number(port), hostname);
    const read = messageReader(open((bytes) => upstream.write(bytes)));
    client.on('data', (chunk: Buffer) => read(chunk));
    upstream.pipe(client);
    joinSockets(client, upstream, sockets);
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
 * Splits received bytes into messages. PostgreSQL, "Message Formats": a type of one byte and a length that includes itself;
 * the startup message has no type.
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
      // The startup message begins with the protocol version.
      const body = bytes.subarray(isStarted ? 5 : 8);
      isStarted = true;
      take({ type, texts: body.toString().split('\0'), bytes });
    }
  };
}
