import { once } from 'node:events';
import { connect, type Socket } from 'node:net';

/** A client that keeps no rule of HTTP: what it sends is what is written, when it is written. */
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
    // A reset is a way to be cut off too.
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

  /** Sends a piece again and again, until the server has had enough. */
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

  /** The statuses of the answers that have come. */
  get statuses(): number[] {
    return [...this.received.matchAll(/^HTTP\/1\.1 (\d{3})/gm)].map(([, status]) => Number(status));
  }
}
