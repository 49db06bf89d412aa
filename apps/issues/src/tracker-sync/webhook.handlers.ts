import type { IncomingMessage, ServerResponse } from 'node:http';
import { type takeWebhook, trackerProviderSchema } from '@tessera/contracts';
import { type BodyOptions, type Handler, ProblemError, unavailableProblem } from '@tessera/service-kit';
import type { WebhookReceiver } from './webhook.ts';

/** The signature covers the bytes. A body is at most an issue and a comment, with the tracker's data of its repository. */
export const webhookBody: BodyOptions = {
  raw: true,
  limitBytes: 1024 * 1024,
  // The content is read only after its signature was verified.
  from: () => ({}),
};

/** Bodies of unknown senders are in memory until their signature is verified: 32 MiB at most. */
const concurrentMax = 32;

/** Inbound webhooks of the tracker: authenticated by a signature instead of an access token. */
export function webhookHandlers(webhooks: WebhookReceiver) {
  /** Throws a 404 problem for a tracker whose webhook is not configured; no body is read then. */
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
  /** Throws a 503 problem if too many requests are in progress; the tracker delivers again, or the next sync finds the change. */
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
