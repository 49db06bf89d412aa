import { createServer } from 'node:http';
import { text } from 'node:stream/consumers';
import { verifyWebhook, WebhookError } from '@tessera/client/webhooks';

type Handle = (event: ReturnType<typeof verifyWebhook>) => Promise<void>;

/** Calls `handle` once for each event, and again if it failed. */
export function createReceiver(secrets: readonly string[], handle: Handle) {
  // With a database: a table with a unique webhook-id, written in the transaction of the effect.
  const handled = new Map<string, Promise<void>>();
  return createServer(async (request, response) => {
    try {
      const event = verifyWebhook({ body: await text(request), headers: request.headers }, secrets);
      // Tests have no `event.id`.
      const id = String(request.headers['webhook-id']);
      const result = handled.get(id) ?? handle(event);
      handled.set(id, result);
      await result.catch((error: unknown) => {
        handled.delete(id);
        throw error;
      });
      response.writeHead(204).end();
    } catch (error) {
      response.writeHead(error instanceof WebhookError ? 400 : 500).end();
    }
  });
}
