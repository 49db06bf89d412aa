import { Console } from 'node:console';
import { once } from 'node:events';
import type { Server } from 'node:http';
import type { z } from 'zod';

// Standard output holds the one line that says the server is ready, whatever a library has to tell.
globalThis.console = new Console(process.stderr);

/** The options that the process was started with: its one argument, JSON. Throws for another shape. */
export function readOptions<Schema extends z.ZodType>(schema: Schema): z.infer<Schema> {
  return schema.parse(JSON.parse(process.argv[2] ?? 'null'));
}

/** Listens on a free port of 127.0.0.1; answers its URL. */
export async function listen(server: Server): Promise<string> {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('No port was given.');
  return `http://127.0.0.1:${address.port}`;
}

/** Says that the server is ready; it then serves until SIGTERM, or until the bench is gone. */
export function announce(server: Server, ready: unknown, close: () => Promise<void>): void {
  const end = () => {
    server.close();
    server.closeAllConnections();
    close().then(
      () => process.exit(0),
      () => process.exit(1),
    );
  };
  process.once('SIGTERM', end);
  process.stdin.resume().once('end', end);
  // Ctrl-C reaches every process of the terminal; the bench ends this one in its turn.
  process.on('SIGINT', () => undefined);
  process.stdout.write(`${JSON.stringify(ready)}\n`);
}
