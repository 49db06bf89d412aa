import type { Server } from 'node:http';
import { connect, type Socket } from 'node:net';

/** Starts a server on a free port of 127.0.0.1, and returns the port. */
export function listenOnFreePort(server: Server): Promise<number> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen({ host: '127.0.0.1', port: 0 }, () => {
      const address = server.address();
      if (address === null || typeof address === 'string') reject(new Error('no port'));
      else resolve(address.port);
    });
  });
}

export function openSocket(port: number): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect({ host: '127.0.0.1', port }, () => resolve(socket));
    socket.once('error', reject);
  });
}

/** Returns all data that a connection receives until it closes. */
export function readToEnd(socket: Socket): Promise<string> {
  return new Promise((resolve) => {
    let text = '';
    socket.on('data', (chunk) => {
      text += chunk.toString('latin1');
    });
    socket.on('error', () => undefined);
    socket.once('close', () => resolve(text));
  });
}

/** Sends bytes unchanged, and returns everything received until the connection closes. */
export async function exchange(port: number, bytes: string): Promise<string> {
  const socket = await openSocket(port);
  const answer = readToEnd(socket);
  socket.write(bytes, 'latin1');
  return answer;
}
