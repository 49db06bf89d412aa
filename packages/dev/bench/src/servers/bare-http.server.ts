import { createServer } from 'node:http';
import { z } from 'zod';
import { announce, listen, readOptions } from './served-process.ts';

const { body } = readOptions(z.object({ body: z.string() }));
const headers = { 'Content-Type': 'application/json', 'Content-Length': Buffer.byteLength(body) };

// The minimal Node server: no routing, no optional header, no request id, no log, no metrics.
const server = createServer((_request, response) => {
  response.writeHead(200, headers);
  response.end(body);
});
announce(server, { url: await listen(server) }, () => Promise.resolve());
