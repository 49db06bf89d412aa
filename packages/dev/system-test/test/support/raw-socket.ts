import { once } from 'node:events';
import { connect, type Socket } from 'node:net';

/** A client that sends exactly the given bytes, whether or not they are valid HTTP. */
export class RawSocket {
  readonly #socket: Socket;
  readonly closed: Promise<void>;
  received = '';

  private constructor(socket: Socket) {
    this.#socket = socket;
    socket.setNoDelay(true);
    socket.on('data', (chunk) => {
      this.received += String(chunk);
    });
    // A reset also counts as disconnected.
    socket.on('error', () => undefined);
    this.closed = new Promise((resolve) => socket.once('close', () => resolve()));
  }

  static async open(port: number): Promise<RawSocket> {
    const socket = connect(port, '127.0.0.1');
    await once(socket, 'connect');
    return new RawSocket(socket);
  }

  write(text: string): void {
    if (this.#socket.writable) this.#socket.write(text);
  }

  /** Sends a piece repeatedly until the server closes the connection. */
  async trickle(piece: string, everyMs: number): Promise<void> {
    const timer = setInterval(() => this.write(piece), everyMs);
    await this.closed;
    clearInterval(timer);
  }

  get isClosed(): boolean {
    return this.#socket.destroyed;
  }

  destroy(): void {
    this.#socket.destroy();
  }

  /** The statuses of the responses received so far. */
  get statuses(): number[] {
    // A body does not end with a line break, so a status line may follow on its line.
    return [...this.received.matchAll(/HTTP\/1\.1 (\d{3}) /g)].map(([, status]) => Number(status));
  }
}
