import type {
  Webhook,
  WebhookAttempt,
  WebhookDelivery,
  WebhookDeliveryDetails,
  WebhookWithSecret,
} from '@tessera/contracts';
import type { IssueUrls } from '../issue-core/issue-reference.ts';
import { presentPerson } from '../issue-core/person.ts';
import type { Delivery, DeliveryAttempt, ListedDelivery, WebhookEndpoint } from './webhook.ts';
import { messageId, payloadOf } from './webhook-sender.ts';

/** Converts an endpoint to its representation in the API, which has no secret. */
export function presentWebhook(endpoint: WebhookEndpoint, urls: Pick<IssueUrls, 'projectKey'>): Webhook {
  const { id, url, description, types, isEnabled: enabled, createdBy, creatorName } = endpoint;
  return {
    id,
    url,
    description,
    types,
    projects: endpoint.projectKeys.map((key) => urls.projectKey(key)),
    enabled,
    disabled_reason: endpoint.disabledReason,
    disabled_at: endpoint.disabledAt?.toISOString() ?? null,
    failing_since: endpoint.failingSince?.toISOString() ?? null,
    previous_secret_until: endpoint.previousSecretUntil?.toISOString() ?? null,
    created_by: presentPerson(createdBy, creatorName),
    created_at: endpoint.createdAt.toISOString(),
    updated_at: endpoint.updatedAt.toISOString(),
  };
}

export function presentWithSecret(
  endpoint: WebhookEndpoint,
  secret: string,
  urls: Pick<IssueUrls, 'projectKey'>,
): WebhookWithSecret {
  return { ...presentWebhook(endpoint, urls), secret };
}

export function presentDelivery(delivery: ListedDelivery): WebhookDelivery {
  const { lastAttempt } = delivery;
  return { ...presentState(delivery), last_attempt: lastAttempt ? presentAttempt(lastAttempt) : null };
}

export function presentDetails(
  delivery: Delivery,
  attempts: readonly DeliveryAttempt[],
  urls: Pick<IssueUrls, 'keyOf'>,
): WebhookDeliveryDetails {
  const payload = payloadOf(delivery, urls);
  return {
    ...presentState(delivery),
    payload: payload === undefined ? null : { ...payload },
    attempts: attempts.map((one): WebhookAttempt => ({ ...presentAttempt(one), answer: one.answer })),
  };
}

function presentState(delivery: Delivery) {
  const { id, eventId, type, state, attempts, nextAttemptAt, createdAt, endedAt } = delivery;
  return {
    id: Number(id),
    message_id: messageId(delivery),
    event_id: eventId === null ? null : Number(eventId),
    type,
    state,
    attempt_count: attempts,
    next_attempt_at: state === 'pending' ? (nextAttemptAt?.toISOString() ?? null) : null,
    created_at: createdAt.toISOString(),
    ended_at: endedAt?.toISOString() ?? null,
  };
}

function presentAttempt({
  number,
  startedAt,
  durationMs,
  status,
  error,
}: Omit<DeliveryAttempt, 'answer'>): Omit<WebhookAttempt, 'answer'> {
  return { number, started_at: startedAt.toISOString(), duration_ms: durationMs, status, error };
}
