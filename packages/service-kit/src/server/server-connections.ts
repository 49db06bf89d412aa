import type { Server } from 'node:http';
import type { Socket } from 'node:net';

/** Time in which connections that were just opened may send a request to a server that closes, in milliseconds. */
const silentMs = 1_000;

/** The connections of a server, to close it. */
export class ServerConnections {
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();

  constructor(server: Server) {
    this.#server = server;
    server.on('connection', (socket) => {
      this.#sockets.add(socket);
      socket.once('close', () => this.#sockets.delete(socket));
    });
  }

  /** Accepts no further connections and resolves after the last response. `endStreams` ends those without an end. */
  async close(endStreams?: () => void): Promise<void> {
    // If a connection was busy when the server closed, Node keeps it open after the response until the client disconnects
    // or the keep-alive timeout ends.
    const interval = setInterval(() => this.#server.closeIdleConnections(), 50);
    const timer = setTimeout(() => this.#closeSilent(), silentMs);
    try {
      const closed = new Promise((resolve) => this.#server.close(resolve));
      endStreams?.();
      await closed;
    } finally {
      clearInterval(interval);
      clearTimeout(timer);
    }
  }

  // Browsers and pools open connections in advance. Without a byte, Node counts them as active until the timeout of the
  // headers, which may be after the shutdown timeout.
  #closeSilent(): void {
    for (const socket of this.#sockets) if (socket.bytesRead === 0) socket.destroy();
  }
}
