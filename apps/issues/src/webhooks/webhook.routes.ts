import {
  createWebhook,
  deleteWebhook,
  getWebhook,
  getWebhookDelivery,
  listWebhookDeliveries,
  listWebhooks,
  redeliverWebhook,
  rotateWebhookSecret,
  testWebhook,
  updateWebhook,
} from '@tessera/contracts';
import { type Access, type Route, route } from '@tessera/service-kit';
import type { Dependencies } from '../dependencies.ts';
import type { Actor } from '../issue-core/actor.ts';
import { assertMayAdministerWebhooks as authorize } from '../issue-core/issue-access.ts';
import type { limitRate } from '../rate-limit/limit-rate.ts';
import { outgoingWebhookHandlers } from './webhook.handlers.ts';

interface RouteOptions {
  access: Access<Actor>;
  reads: ReturnType<typeof limitRate>;
  writes: ReturnType<typeof limitRate>;
}

/** The operations on endpoints of webhooks, all for staff. No response is compressed, because some have a secret. */
export function outgoingWebhookRoutes(
  { outgoingWebhooks, urls, config: { publicBaseUrl } }: Dependencies,
  { access, reads, writes }: RouteOptions,
): Route[] {
  const webhooks = outgoingWebhookHandlers({ outgoingWebhooks, urls, publicBaseUrl });
  const reader = { access, limit: reads, authorize };
  const editor = { access, limit: writes, authorize };
  return [
    route(listWebhooks, reader, webhooks.list),
    route(createWebhook, editor, webhooks.create),
    route(getWebhook, reader, webhooks.get),
    route(updateWebhook, editor, webhooks.update),
    route(deleteWebhook, editor, webhooks.remove),
    route(rotateWebhookSecret, editor, webhooks.rotate),
    route(testWebhook, editor, webhooks.test),
    route(listWebhookDeliveries, reader, webhooks.listDeliveries),
    route(getWebhookDelivery, reader, webhooks.getDelivery),
    route(redeliverWebhook, editor, webhooks.redeliver),
  ];
}
