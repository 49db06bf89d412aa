import { randomInt } from 'node:crypto';
import { createServer, type Server } from 'node:net';

// The range is below the ephemeral ports (Linux from 32768, RFC 6335 from 49152), which the system assigns to outgoing
// connections. A free ephemeral port may be taken before the server listens. Each port has a second one that reserves it.
const range = { from: 20_000, to: 26_000 };
const reservationOffset = 6_000;
const attemptsMax = 100;

/**
 * A free port of 127.0.0.1 for a server that starts later, and again after it was stopped. No process gets the same port from
 * this function while this one runs.
 */
export async function findFreePort(): Promise<number> {
  for (let attempt = 1; attempt <= attemptsMax; attempt += 1) {
    const port = randomInt(range.from, range.to);
    if ((await isFree(port)) && (await reservePort(port))) return port;
  }
  throw new Error(`No free port among ${attemptsMax} between ${range.from} and ${range.to}.`);
}

/**
 * Reserves a port among the processes of this repository: listens on its second port until this process ends, however it ends.
 * @returns whether no process has reserved it
 */
export async function reservePort(port: number): Promise<boolean> {
  const server = await listen(port + reservationOffset);
  // Does not keep the process alive.
  server?.unref();
  return server !== undefined;
}

async function isFree(port: number): Promise<boolean> {
  const server = await listen(port);
  await new Promise((resolve) => (server === undefined ? resolve(undefined) : server.close(resolve)));
  return server !== undefined;
}

function listen(port: number): Promise<Server | undefined> {
  return new Promise((resolve) => {
    const server = createServer((socket) => socket.destroy());
    server.once('error', () => resolve(undefined));
    server.listen({ host: '127.0.0.1', port }, () => resolve(server));
  });
}
