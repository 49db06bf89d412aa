import { Console } from 'node:console';
import { once } from 'node:events';
import type { Server } from 'node:http';
import type { z } from 'zod';

// Standard output is reserved for the ready message. Libraries may log at any time.
globalThis.console = new Console(process.stderr);

/** Parses the options of the process: its only argument, as JSON. */
export function readOptions<Schema extends z.ZodType>(schema: Schema): z.infer<Schema> {
  return schema.parse(JSON.parse(process.argv[2] ?? 'null'));
}

/** Listens on a free port of 127.0.0.1 and returns the URL. */
export async function listen(server: Server): Promise<string> {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('the server has no port');
  return `http://127.0.0.1:${address.port}`;
}

/** Sends the ready message, and serves until SIGTERM or until the bench has exited. */
export function announce(server: Server, ready: unknown, close: () => Promise<void>): void {
  const stop = () => {
    server.close();
    server.closeAllConnections();
    close().then(
      () => process.exit(0),
      () => process.exit(1),
    );
  };
  process.once('SIGTERM', stop);
  process.stdin.resume().once('end', stop);
  // Ctrl-C reaches every process of a terminal. The bench stops this one.
  process.on('SIGINT', () => undefined);
  process.stdout.write(`${JSON.stringify(ready)}\n`);
}
