import { randomInt } from 'node:crypto';
import { createServer } from 'node:net';

// The range is below the ephemeral ports (Linux from 32768, RFC 6335 from 49152), which the system assigns to outgoing
// connections. A free ephemeral port may be taken before the server listens.
const range = { from: 20_000, to: 32_000 };
const attemptsMax = 100;

/** A free port of 127.0.0.1 for a server that starts later. */
export async function findFreePort(): Promise<number> {
  for (let attempt = 1; attempt <= attemptsMax; attempt += 1) {
    const port = randomInt(range.from, range.to);
    if (await canListen(port)) return port;
  }
  throw new Error(`No free port among ${attemptsMax} between ${range.from} and ${range.to}.`);
}

async function canListen(port: number): Promise<boolean> {
  const server = createServer();
  const isListening = await new Promise<boolean>((resolve) => {
    server.once('error', () => resolve(false));
    server.listen({ host: '127.0.0.1', port }, () => resolve(true));
  });
  if (isListening) await new Promise((resolve) => server.close(resolve));
  return isListening;
}
