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
import { type Route, route } from '@tessera/service-kit';
import type { Dependencies } from '../dependencies.ts';
import { assertMayAdministerWebhooks as authorize } from '../issue-core/issue-access.ts';
import type { RouteLimits } from '../rate-limit/route-limits.ts';
import { webhookHandlers } from './webhook.handlers.ts';

/** The operations on endpoints of webhooks, all for staff. No response is compressed, because some have a secret. */
export function webhookRoutes(
  { webhooks, urls, config: { publicBaseUrl } }: Dependencies,
  { access, reads, writes }: RouteLimits,
): Route[] {
  const handlers = webhookHandlers({ webhooks, urls, publicBaseUrl });
  const reader = { access, limit: reads, authorize };
  const editor = { access, limit: writes, authorize };
  return [
    route(listWebhooks, reader, handlers.list),
    route(createWebhook, editor, handlers.create),
    route(getWebhook, reader, handlers.get),
    route(updateWebhook, editor, handlers.update),
    route(deleteWebhook, editor, handlers.remove),
    route(rotateWebhookSecret, editor, handlers.rotate),
    route(testWebhook, editor, handlers.test),
    route(listWebhookDeliveries, reader, handlers.listDeliveries),
    route(getWebhookDelivery, reader, handlers.getDelivery),
    route(redeliverWebhook, editor, handlers.redeliver),
  ];
}
