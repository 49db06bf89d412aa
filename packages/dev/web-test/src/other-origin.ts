import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

/** An empty page of another program on this machine. */
export async function startOtherOrigin() {
  const server = createServer((request, response) => {
    if (request.method === 'POST') server.emit('posted', request.headers.cookie ?? '');
    response.writeHead(200, { 'Content-Type': 'text/html' }).end('<!doctype html><title>Other</title>');
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    /** The same site as the app, because the port is not part of a site. */
    onAnotherPort: `http://127.0.0.1:${port}/`,
    onAnotherSite: `http://localhost:${port}/`,
    /** The cookies of the next form that is sent to this program. */
    nextCookies: async (): Promise<string> => (await once(server, 'posted'))[0],
    stop: () => {
      server.closeAllConnections();
      server.close();
    },
  };
}
