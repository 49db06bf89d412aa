import type { IncomingMessage } from 'node:http';
import { type takeWebhook, trackerProviderSchema } from '@tessera/contracts';
import { type BodyOptions, type Handler, ProblemError } from '@tessera/service-kit';
import type { TrackerWebhooks } from './tracker-webhook.ts';

/**
 * The body is read as bytes, because the signature covers them. It contains at most an issue, a comment and the data of
 * the repository.
 */
export const trackerWebhookBody: BodyOptions = {
  raw: true,
  limitBytes: 1024 * 1024,
  // The content is read only after its signature was verified.
  from: () => ({}),
};

/** Handlers of the tracker's webhooks, which are authenticated by a signature instead of an access token. */
export function trackerWebhookHandlers(webhooks: TrackerWebhooks) {
  /** Throws a 404 problem before the body is read if no webhook is configured for the tracker. */
  const assertConfigured = (_caller: undefined, { params }: IncomingMessage): void => {
    // Like the rest of the path, the name may be in upper or lower case.
    if (params !== undefined) params.provider = String(params.provider).toLowerCase();
    const provider = trackerProviderSchema.safeParse(params?.provider).data;
    if (provider !== undefined && webhooks.isFor(provider)) return;
    throw new ProblemError({
      status: 404,
      code: 'webhook_not_configured',
      detail: 'No webhook of this tracker is configured.',
    });
  };

  const take: Handler<typeof takeWebhook> = async ({ request: { headers, body } }) => {
    const header = (name: string) => headers[name]?.toString();
    const taken = await webhooks.take({ header, body: Buffer.isBuffer(body) ? body : Buffer.alloc(0) });
    return { status: 202, body: { status: taken ? 'accepted' : 'known' } };
  };

  return { assertConfigured, take };
}
