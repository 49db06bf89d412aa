import { createServer } from 'node:http';
import { text } from 'node:stream/consumers';
import { verifyWebhook, WebhookError } from '@tessera/client/webhooks';

type Handle = (event: ReturnType<typeof verifyWebhook>) => Promise<void>;

/** Calls `handle` once for each event, and again if it failed. */
export function createReceiver(secrets: readonly string[], handle: Handle) {
  // With a database: a table with a unique id, written in the transaction of the effect.
  const handled = new Map<number, Promise<void>>();
  return createServer(async (request, response) => {
    try {
      const event = verifyWebhook({ body: await text(request), headers: request.headers }, secrets);
      const result = handled.get(event.id) ?? handle(event);
      handled.set(event.id, result);
      await result.catch((error: unknown) => {
        handled.delete(event.id);
        throw error;
      });
      response.writeHead(204).end();
    } catch (error) {
      response.writeHead(error instanceof WebhookError ? 400 : 500).end();
    }
  });
}
