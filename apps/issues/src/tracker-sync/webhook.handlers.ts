import type { IncomingMessage, ServerResponse } from 'node:http';
import { type takeWebhook, trackerProviderSchema } from '@tessera/contracts';
import { type BodyOptions, type Handler, ProblemError, unavailableProblem } from '@tessera/service-kit';
import type { WebhookReceiver } from './webhook.ts';

/**
 * The body is read as bytes, because the signature covers them. It contains at most an issue, a comment and the data of
 * the repository.
 */
export const webhookBody: BodyOptions = {
  raw: true,
  limitBytes: 1024 * 1024,
  // The content is read only after its signature was verified.
  from: () => ({}),
};

/** Limits the memory for bodies whose signature is not verified yet to 32 MiB. */
const concurrentMax = 32;

/** Handlers of the tracker's webhooks, which are authenticated by a signature instead of an access token. */
export function webhookHandlers(webhooks: WebhookReceiver) {
  /** Throws a 404 problem before the body is read if no webhook is configured for the tracker. */
  const assertConfigured = (_caller: undefined, { params }: IncomingMessage): void => {
    const provider = trackerProviderSchema.safeParse(params?.provider).data;
    if (provider !== undefined && webhooks.isFor(provider)) return;
    throw new ProblemError({
      status: 404,
      code: 'webhook_not_configured',
      detail: 'No webhook of this tracker is configured.',
    });
  };

  let open = 0;
  /**
   * Throws a 503 problem if too many requests are in progress. The tracker delivers again, or the next sync finds the
   * change.
   */
  const enter = (_caller: undefined, response: ServerResponse): void => {
    if (open >= concurrentMax) throw unavailableProblem('Too many webhooks are in progress.', 1);
    open += 1;
    response.once('close', () => {
      open -= 1;
    });
  };

  const take: Handler<typeof takeWebhook> = async ({ request: { headers, body } }) => {
    const header = (name: string) => headers[name]?.toString();
    const taken = await webhooks.take({ header, body: Buffer.isBuffer(body) ? body : Buffer.alloc(0) });
    return { status: 202, body: { status: taken ? 'accepted' : 'known' } };
  };

  return { assertConfigured, limit: { request: enter }, take };
}
