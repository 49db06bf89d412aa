import { z } from 'zod';
import { ignoredFieldsHeader, nextLinkHeader, operation } from '../operation.ts';
import { uuid } from '../text.schemas.ts';
import { locationHeader } from './operation-parts.schemas.ts';
import {
  createWebhookSchema,
  deliveryIdSchema,
  deliveryQuerySchema,
  previousSecretHours,
  updateWebhookSchema,
  webhookDeliveryDetailsSchema,
  webhookDeliverySchema,
  webhookSchema,
  webhooksMax,
  webhookWithSecretSchema,
} from './webhook.schemas.ts';

const path = '/api/v1/webhooks/';
const common = { tags: ['Webhooks'], security: ['accessToken'] };
const params = z.object({ id: uuid() });
const deliveryParams = params.extend({ delivery_id: deliveryIdSchema });
const webhook = { description: 'The endpoint.', schema: webhookSchema };
const withSecret = { description: 'The endpoint with its new secret.', schema: webhookWithSecretSchema };
const delivery = { description: 'The pending delivery.', schema: webhookDeliverySchema };

const webhookNotFound = { status: 404, codes: ['webhook_not_found'] } as const;
const deliveryNotFound = {
  status: 404,
  codes: ['webhook_not_found', 'delivery_not_found'],
  description:
    '`webhook_not_found`; `delivery_not_found`: the endpoint has no such delivery, or it was deleted.',
} as const;
const disabled = '`webhook_disabled`: the endpoint is disabled';

export const listWebhooks = operation({
  ...common,
  id: 'listWebhooks',
  method: 'GET',
  path,
  summary: 'List all webhook endpoints',
  description: `For staff. All endpoints (at most ${webhooksMax}), the oldest first, on one page.`,
  query: z.strictObject({}),
  responses: { 200: { description: 'The endpoints.', schema: z.array(webhookSchema).max(webhooksMax) } },
  problems: [401, 403, 422],
});

export const createWebhook = operation({
  ...common,
  id: 'createWebhook',
  method: 'POST',
  path,
  summary: 'Create a webhook endpoint',
  description: `For staff. The service sends later events to the endpoint in the format of Standard Webhooks, at least once and not in order. Only this response and that of a rotation have the secret, so \`Idempotency-Key\` has no effect: the service would have to store the secret to repeat the response. There are at most ${webhooksMax} endpoints.`,
  body: {
    schema: createWebhookSchema,
    example: {
      url: 'https://example.com/hooks/tessera',
      description: 'Chat bot',
      types: ['issue.created', 'issue.status_changed'],
    },
  },
  responses: { 201: { ...withSecret, headers: { ...locationHeader, ...ignoredFieldsHeader } } },
  problems: [401, 403, { status: 409, codes: ['too_many_webhooks'] }, 422],
});

export const getWebhook = operation({
  ...common,
  id: 'getWebhook',
  method: 'GET',
  path: `${path}:id/`,
  summary: 'Read a webhook endpoint',
  description: 'For staff.',
  params,
  responses: { 200: webhook },
  problems: [401, 403, webhookNotFound, 422],
});

export const updateWebhook = operation({
  ...common,
  id: 'updateWebhook',
  method: 'PATCH',
  path: `${path}:id/`,
  summary: 'Change, disable or enable a webhook endpoint',
  description:
    'For staff. Only given members change; at least one is required. `enabled: true` on a disabled endpoint clears `disabled_reason`, `disabled_at` and `failing_since`; its pending deliveries are sent at once. Another `url` clears `failing_since`. Events that happen while an endpoint is disabled are not sent to it.',
  params,
  body: {
    schema: updateWebhookSchema,
    example: { description: 'Chat bot of the support team' },
  },
  responses: { 200: { ...webhook, headers: ignoredFieldsHeader } },
  problems: [401, 403, webhookNotFound, 422],
});

export const deleteWebhook = operation({
  ...common,
  id: 'deleteWebhook',
  method: 'DELETE',
  path: `${path}:id/`,
  summary: 'Delete a webhook endpoint and its deliveries',
  description: 'For staff. A request that is cut off has disabled the endpoint; send it again.',
  params,
  responses: { 204: { description: 'Deleted.' } },
  problems: [401, 403, webhookNotFound, 422],
});

export const rotateWebhookSecret = operation({
  ...common,
  id: 'rotateWebhookSecret',
  method: 'POST',
  path: `${path}:id/rotate-secret/`,
  summary: 'Replace the secret of a webhook endpoint',
  description: `For staff. Both secrets sign for ${previousSecretHours} hours, then only the new one. A second rotation replaces the previous secret at once.`,
  params,
  responses: { 200: withSecret },
  problems: [401, 403, webhookNotFound, 422],
});

export const testWebhook = operation({
  ...common,
  id: 'testWebhook',
  method: 'POST',
  path: `${path}:id/test/`,
  summary: 'Send a test to a webhook endpoint',
  description:
    'For staff. Sends an event `webhook.test` without regard to `types`. If an earlier test is still pending, that one is attempted again at once.',
  params,
  responses: { 202: delivery },
  problems: [
    401,
    403,
    webhookNotFound,
    { status: 409, codes: ['webhook_disabled'], description: `${disabled}.` },
    422,
  ],
});

export const listWebhookDeliveries = operation({
  ...common,
  id: 'listWebhookDeliveries',
  method: 'GET',
  path: `${path}:id/deliveries/`,
  summary: 'List the deliveries of a webhook endpoint, the newest first',
  description: 'For staff. Follow `Link` for further pages.',
  params,
  query: deliveryQuerySchema,
  responses: {
    200: {
      description: 'A page of deliveries, each with its last attempt.',
      schema: z.array(webhookDeliverySchema),
      headers: nextLinkHeader,
    },
  },
  problems: [401, 403, webhookNotFound, 422],
});

export const getWebhookDelivery = operation({
  ...common,
  id: 'getWebhookDelivery',
  method: 'GET',
  path: `${path}:id/deliveries/:delivery_id/`,
  summary: 'Read a delivery with its payload and its attempts',
  description: 'For staff.',
  params: deliveryParams,
  responses: { 200: { description: 'The delivery.', schema: webhookDeliveryDetailsSchema } },
  problems: [401, 403, deliveryNotFound, 422],
});

export const redeliverWebhook = operation({
  ...common,
  id: 'redeliverWebhook',
  method: 'POST',
  path: `${path}:id/deliveries/:delivery_id/redeliver/`,
  summary: 'Send a delivery again',
  description:
    'For staff. The message has the same id and payload as before. The schedule of attempts starts again.',
  params: deliveryParams,
  responses: { 202: delivery },
  problems: [
    401,
    403,
    deliveryNotFound,
    {
      status: 409,
      codes: ['delivery_pending', 'webhook_disabled'],
      description: `\`delivery_pending\`: further attempts follow already; ${disabled}.`,
    },
    422,
  ],
});
