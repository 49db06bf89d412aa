import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { readMessages } from './frontend-messages.ts';

/** What a service told PostgreSQL to do. */
export interface RecordedStatement {
  text: string;
  values: (string | null)[];
}

/** In front of a PostgreSQL; what passes through is written down when asked to. */
export interface StatementRecorder {
  /** The server's URL, by way of the recorder. */
  url: string;
  /** Answers what was executed while the action ran. */
  record(action: () => Promise<void>): Promise<RecordedStatement[]>;
  close(): void;
}

/** @param target a URL of the server; nothing is changed on the way */
export async function startStatementRecorder(target: string): Promise<StatementRecorder> {
  const { hostname, port } = new URL(target);
  const sockets = new Set<Socket>();
  let recorded: RecordedStatement[] | undefined;
  const server = createServer((client) => {
    const upstream = connect(Number(port), hostname);
    const read = readMessages((statement) => recorded?.push(statement));
    client.on('data', read);
    client.pipe(upstream);
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
    url: withPort(target, server.address() as AddressInfo),
    record: async (action) => {
      const statements: RecordedStatement[] = [];
      recorded = statements;
      try {
        await action();
      } finally {
        recorded = undefined;
      }
      return statements;
    },
    close: () => {
      server.close();
      for (const socket of sockets) socket.destroy();
    },
  };
}

function withPort(url: string, { port }: AddressInfo): string {
  const changed = new URL(url);
  changed.hostname = '127.0.0.1';
  changed.port = String(port);
  return changed.href;
}
