import { z } from 'zod';
import { type IssueEventType, issueEvents } from '../event.schemas.ts';
import { pageQuerySchema } from '../page.schemas.ts';
import { atMost, isStorableText, singleLineText, uuid } from '../text.schemas.ts';
import { personSchema } from './issue-response.schemas.ts';
import { projectKeyInput } from './project.schemas.ts';

/** Maximum number of endpoints of the service. */
export const webhooksMax = 50;
/** Maximum number of projects of an endpoint. */
export const webhookProjectsMax = 50;
export const webhookUrlMaxLength = 2_048;
export const webhookDescriptionMaxLength = 200;
/** Maximum number of attempts that a delivery shows. */
export const shownAttemptsMax = 50;
/** The time after a rotation in which the previous secret signs, too. */
export const previousSecretHours = 24;

const eventTypes = Object.keys(issueEvents) as [IssueEventType, ...IssueEventType[]];
const timestamp = z.iso.datetime().describe('RFC 3339, UTC, with milliseconds.');

/** The reasons for which the service disables an endpoint. */
export const webhookDisabledReasons = ['gone', 'failing', 'backlog'] as const;
export type WebhookDisabledReason = (typeof webhookDisabledReasons)[number];

export const webhookSchema = z
  .object({
    id: uuid(),
    url: z.string().meta({ example: 'https://example.com/hooks/tessera' }),
    description: z.string(),
    types: z.array(z.string()).describe('The types of events that are sent; empty for all.'),
    projects: z
      .array(z.string())
      .describe(
        'The keys of the projects whose events are sent; empty for all that everyone reads. Those that were sealed since are not among them.',
      ),
    enabled: z.boolean().describe('Nothing is sent to a disabled endpoint.'),
    disabled_reason: z
      .enum(webhookDisabledReasons)
      .nullable()
      .describe(
        'Why the service disabled it: `gone`, it answered 410; `failing`, every attempt failed for 5 days; `backlog`, too many deliveries waited. Null while it is enabled, and if a person disabled it.',
      ),
    disabled_at: timestamp.nullable().describe('When the service disabled it.'),
    failing_since: timestamp.nullable().describe('The first failed attempt since the last success.'),
    previous_secret_until: timestamp
      .nullable()
      .describe('The time until which the previous secret signs, too; null if it does not.'),
    created_by: personSchema,
    created_at: timestamp,
    updated_at: timestamp.describe('The last change by a person.'),
  })
  .meta({ id: 'Webhook' });
export type Webhook = z.infer<typeof webhookSchema>;

/** The response of a creation and of a rotation. No other response has the secret. */
export const webhookWithSecretSchema = webhookSchema
  .extend({
    secret: z
      .string()
      .describe('Verifies the signatures: `whsec_` and 32 bytes in base64. It is not shown again.')
      .meta({ example: 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSwMfKQ9r8GKYo=' }),
  })
  .meta({ id: 'WebhookWithSecret' });
export type WebhookWithSecret = z.infer<typeof webhookWithSecretSchema>;

const url = singleLineText()
  .max(webhookUrlMaxLength, { error: `must be at most ${webhookUrlMaxLength} characters` })
  .refine((value) => /^https?:\/\/\S+$/i.test(value) && URL.canParse(value), {
    error: 'must be an http(s) URL',
    abort: true,
  })
  .refine((value) => !hasCredentials(new URL(value)), { error: 'must not contain credentials' })
  .refine((value) => !value.includes('#'), { error: 'must not have a fragment' });

function hasCredentials({ username, password }: URL): boolean {
  return username !== '' || password !== '';
}

const description = z
  .string()
  .trim()
  .refine((value) => isStorableText(value) && !/[\u0000-\u001f\u007f-\u009f\u2028\u2029]/.test(value), {
    error: 'must be one line of text without control characters',
  })
  .check(atMost(webhookDescriptionMaxLength))
  .meta({ maxLength: webhookDescriptionMaxLength });

const types = z
  .preprocess(
    // The schema would otherwise parse all items before it counts them.
    (value) => (Array.isArray(value) ? value.slice(0, eventTypes.length + 1) : value),
    z
      .array(z.enum(eventTypes, { error: 'must be a type of event' }))
      .refine((values) => new Set(values).size === values.length, { error: 'must not repeat a type' }),
  )
  .describe('The types of events to send; empty for all. The whole list.');

const projects = z
  .preprocess(
    (value) => (Array.isArray(value) ? value.slice(0, webhookProjectsMax + 1) : value),
    z
      .array(projectKeyInput)
      .max(webhookProjectsMax, { error: `must be at most ${webhookProjectsMax} projects` }),
  )
  .describe(
    'The keys of the projects whose events to send; empty for all that everyone reads. The whole list; projects that were sealed since stay. Events of `sealed` projects are never sent.',
  );

/** POST /api/v1/webhooks/ */
export const createWebhookSchema = z
  .object({
    url: url.describe('https, or http outside of production. Internal addresses are refused.'),
    description: description.default(''),
    types: types.default([]),
    projects: projects.default([]),
    enabled: z.boolean().default(true),
  })
  .meta({ id: 'CreateWebhook' });
export type CreateWebhook = z.output<typeof createWebhookSchema>;

/** PATCH /api/v1/webhooks/{id}/ */
export const updateWebhookSchema = z
  .object({
    url: url.optional(),
    description: description.optional(),
    types: types.optional(),
    projects: projects.optional(),
    enabled: z.boolean().optional(),
  })
  .refine((given) => Object.values(given).some((value) => value !== undefined), {
    error: 'must hold at least one of url, description, types, projects, enabled',
  })
  .meta({ id: 'UpdateWebhook' });
export type UpdateWebhook = z.output<typeof updateWebhookSchema>;

export const deliveryStates = ['pending', 'delivered', 'failed'] as const;
export type DeliveryState = (typeof deliveryStates)[number];

export const deliveryIdSchema = z
  .string()
  .regex(/^[1-9]\d{0,14}$/, { error: 'must be the id of a delivery' });

const attempt = {
  number: z.int().positive(),
  started_at: timestamp,
  duration_ms: z.int().nonnegative(),
  status: z.int().nullable().describe('The status of the response; null without a response.'),
  error: z
    .string()
    .nullable()
    .describe(
      'Why the attempt failed: `forbidden_target`, `name_not_found`, `connection_failed`, `tls_failed`, `timeout`, `incomplete_response` (also for too large headers), `redirect` or `http_error`. Null for a success.',
    ),
};
const lastAttemptSchema = z.object(attempt).meta({ id: 'WebhookLastAttempt' });
const attemptSchema = z
  .object({
    ...attempt,
    answer: z.string().nullable().describe("The first 2 kB of the response's body; null without a response."),
  })
  .meta({ id: 'WebhookAttempt' });
export type WebhookAttempt = z.infer<typeof attemptSchema>;

const delivery = {
  id: z.int().positive().describe('Later deliveries have larger ids.'),
  message_id: z
    .string()
    .describe('The header `webhook-id`, the same for all attempts.')
    .meta({ example: 'msg_019ab1c2d3e47f00a1b2c3d4e5f60718_42' }),
  event_id: z.int().positive().nullable().describe('The id of the event; null for a test.'),
  type: z.string().describe('The type of the event; `webhook.test` for a test.'),
  state: z.enum(deliveryStates),
  attempt_count: z.int().nonnegative(),
  next_attempt_at: timestamp.nullable().describe('Null unless the delivery is pending.'),
  created_at: timestamp,
  ended_at: timestamp.nullable().describe('Null while the delivery is pending.'),
};

/** A delivery in a list. */
export const webhookDeliverySchema = z
  .object({ ...delivery, last_attempt: lastAttemptSchema.nullable().describe('Null before the first one.') })
  .meta({ id: 'WebhookDelivery' });
export type WebhookDelivery = z.infer<typeof webhookDeliverySchema>;

export const webhookDeliveryDetailsSchema = z
  .object({
    ...delivery,
    payload: z
      .record(z.string(), z.unknown())
      .nullable()
      .describe('The body of the request; null for an event of a later release.'),
    attempts: z.array(attemptSchema).describe(`The latest ${shownAttemptsMax} attempts, the newest first.`),
  })
  .meta({ id: 'WebhookDeliveryDetails' });
export type WebhookDeliveryDetails = z.infer<typeof webhookDeliveryDetailsSchema>;

/** GET /api/v1/webhooks/{id}/deliveries/. Unknown parameters are refused. */
export const deliveryQuerySchema = pageQuerySchema.extend({
  state: z.enum(deliveryStates, { error: `must be one of ${deliveryStates.join(', ')}` }).optional(),
});
