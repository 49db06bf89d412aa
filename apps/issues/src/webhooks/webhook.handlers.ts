import {
  type createWebhook,
  type deleteWebhook,
  type getWebhook,
  type getWebhookDelivery,
  type listWebhookDeliveries,
  listWebhooks,
  type redeliverWebhook,
  type rotateWebhookSecret,
  type testWebhook,
  type updateWebhook,
} from '@tessera/contracts';
import { type Handler, readKeysetPage } from '@tessera/service-kit';
import { z } from 'zod';
import type { Actor } from '../issue-core/actor.ts';
import type { IssueUrls } from '../issue-core/issue-reference.ts';
import { presentDelivery, presentDetails, presentWebhook, presentWithSecret } from './webhook.presenter.ts';
import type { ChangeContext, WebhookService } from './webhook.service.ts';

interface WebhookHandlersOptions {
  webhooks: WebhookService;
  urls: IssueUrls;
  publicBaseUrl: string;
}

const place = z.object({ id: z.string().regex(/^\d{1,18}$/) });

/** Handlers of endpoints of webhooks. Staff administer them. */
export function webhookHandlers({ webhooks, urls, publicBaseUrl }: WebhookHandlersOptions) {
  const webhooksUrl = `${publicBaseUrl}${listWebhooks.path}`;

  const list: Handler<typeof listWebhooks, Actor> = async () => ({
    status: 200,
    body: (await webhooks.list()).map((one) => presentWebhook(one, urls)),
  });

  const get: Handler<typeof getWebhook, Actor> = async ({ params: { id } }) => ({
    status: 200,
    body: presentWebhook(await webhooks.find(id), urls),
  });

  const create: Handler<typeof createWebhook, Actor> = async (call) => {
    const { endpoint, secret } = await webhooks.create(call.body, contextOf(call));
    const headers = { Location: `${webhooksUrl}${endpoint.id}/` };
    return { status: 201, headers, body: presentWithSecret(endpoint, secret, urls) };
  };

  const update: Handler<typeof updateWebhook, Actor> = async (call) => ({
    status: 200,
    body: presentWebhook(await webhooks.update(call.params.id, call.body, contextOf(call)), urls),
  });

  const remove: Handler<typeof deleteWebhook, Actor> = async (call) => {
    await webhooks.delete(call.params.id, contextOf(call));
    return { status: 204 };
  };

  const rotate: Handler<typeof rotateWebhookSecret, Actor> = async (call) => {
    const { endpoint, secret } = await webhooks.rotate(call.params.id, contextOf(call));
    return { status: 200, body: presentWithSecret(endpoint, secret, urls) };
  };

  const test: Handler<typeof testWebhook, Actor> = async (call) => ({
    status: 202,
    body: presentDelivery(await webhooks.test(call.params.id, contextOf(call))),
  });

  const listDeliveries: Handler<typeof listWebhookDeliveries, Actor> = async ({ params: { id }, query }) => {
    const url = new URL(`${webhooksUrl}${id}/deliveries/`);
    const { state } = query;
    if (state !== undefined) url.searchParams.set('state', state);
    const page = readKeysetPage(query, { url: url.href, place, sizeDefault: 50 });
    const { limit, after } = page;
    return page.present(await webhooks.listDeliveries(id, { state, limit, after }), {
      item: presentDelivery,
      place: (delivery) => ({ id: String(delivery.id) }),
    });
  };

  const getDelivery: Handler<typeof getWebhookDelivery, Actor> = async ({ params }) => {
    const delivery = await webhooks.findDelivery(params.id, params.delivery_id);
    return { status: 200, body: presentDetails(delivery, await webhooks.listAttempts(delivery), urls) };
  };

  const redeliver: Handler<typeof redeliverWebhook, Actor> = async (call) => {
    const { id, delivery_id: deliveryId } = call.params;
    const delivery = await webhooks.redeliver(id, deliveryId, contextOf(call));
    return { status: 202, body: presentDelivery(delivery) };
  };

  return { list, get, create, update, remove, rotate, test, listDeliveries, getDelivery, redeliver };
}

function contextOf({ actor, requestId }: { actor: Actor; requestId: string }): ChangeContext {
  return { actor, requestId };
}
