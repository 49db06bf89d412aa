import { type TrackerProvider, trackerProviderSchema } from '@tessera/contracts';
import { ProblemError } from '@tessera/service-kit';
import express, { type RequestHandler, Router } from 'express';
import type { SyncWebhookService } from './webhook.service.ts';

interface WebhookRouterOptions {
  webhooks: SyncWebhookService;
}

export const webhookPath = '/api/v1/integrations/:provider/webhook';

// A body is at most an issue and a comment, with what the tracker says of its repository.
const readRaw = express.raw({ type: () => true, limit: 1024 * 1024, inflate: false });

/** Inbound webhooks of the tracker: no access token, but a signature. */
export function webhookRouter({ webhooks }: WebhookRouterOptions): Router {
  const router = Router();

  router.post(webhookPath, ifConfigured(webhooks), readRaw, async (request, response) => {
    const header = (name: string) => request.get(name);
    const body = Buffer.isBuffer(request.body) ? request.body : Buffer.alloc(0);
    const taken = await webhooks.take({ header, body });
    response.status(202).json({ status: taken ? 'accepted' : 'known' });
  });

  return router;
}

// Nothing is read of a request that nobody could answer.
function ifConfigured(webhooks: SyncWebhookService): RequestHandler {
  return (request, _response, next) => {
    const provider = trackerProviderSchema.safeParse(request.params.provider).data;
    if (provider === undefined || !webhooks.isFor(provider satisfies TrackerProvider)) {
      throw new ProblemError({
        status: 404,
        code: 'webhook_not_configured',
        detail: 'No webhook of this tracker is configured.',
      });
    }
    next();
  };
}
