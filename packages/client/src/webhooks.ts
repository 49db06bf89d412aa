import type { IssueEvent } from '@tessera/contracts';
import { Webhook, WebhookVerificationError } from 'standardwebhooks';

/** The headers of a request: of `fetch`, or of Node. */
export type WebhookHeaders = Headers | Readonly<Record<string, string | readonly string[] | undefined>>;

export interface WebhookRequest {
  /** The body as it was received. Parsed JSON cannot be verified. */
  body: string | Uint8Array;
  headers: WebhookHeaders;
}

/** The reason of a `WebhookError`. */
export type WebhookErrorCode = 'missing_headers' | 'invalid_timestamp' | 'invalid_signature' | 'invalid_body';

/** A request that is not a webhook with one of the secrets. Respond with 400 and ignore it. */
export class WebhookError extends Error {
  readonly code: WebhookErrorCode;

  constructor(code: WebhookErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'WebhookError';
    this.code = code;
  }
}

const headerNames = ['webhook-id', 'webhook-timestamp', 'webhook-signature'] as const;

/**
 * Verifies a webhook (https://www.standardwebhooks.com) and returns its event. The timestamp may differ by five minutes
 * from the clock. A webhook can arrive several times: compare the header `webhook-id` with those of earlier ones. A later
 * release of the service may send types that are not in `IssueEvent`; their events are returned too, and are to be ignored.
 * @param secrets one secret (`whsec_` and padded base64 of 24 to 64 bytes), or several during a rotation
 * @throws WebhookError for a request that is not valid; TypeError for invalid arguments
 */
export function verifyWebhook(
  { body, headers }: WebhookRequest,
  secrets: string | readonly string[],
): IssueEvent {
  const text = textOf(body);
  const webhooks = [secrets].flat().map(webhookOf);
  if (webhooks.length === 0) throw new TypeError('At least one secret is required.');
  const given: Record<string, string> = {};
  for (const name of headerNames) {
    const value = headerOf(headers, name);
    if (value === undefined || value === '')
      throw new WebhookError('missing_headers', `The header ${name} is missing.`);
    given[name] = value;
  }
  const errors = webhooks.map((webhook) => errorOf(() => webhook.verify(text, given, { jsonParse: false })));
  const [first] = errors;
  if (first !== undefined && !errors.includes(undefined)) throw first;
  return eventOf(text);
}

function textOf(body: unknown): string {
  if (typeof body === 'string') return body;
  // A byte order mark is part of the signed body.
  if (body instanceof Uint8Array) return new TextDecoder('utf-8', { ignoreBOM: true }).decode(body);
  throw new TypeError('The body must be the received text or bytes, not parsed JSON.');
}

// Base64 as the services write it (RFC 4648 4): padded, and without bits that no byte has.
const canonical =
  /^whsec_((?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/][AQgw]==|[A-Za-z0-9+/]{2}[AEIMQUYcgkosw048]=)?)$/;
const [keyMin, keyMax] = [24, 64];

// The library would take any text, and the key of a short or cut secret can be guessed. No part of a secret may reach a log.
function webhookOf(secret: unknown): Webhook {
  const [, key] = typeof secret === 'string' ? (canonical.exec(secret) ?? []) : [];
  const size = ((key?.replace(/=+$/, '').length ?? 0) * 3) >> 2;
  if (typeof secret === 'string' && size >= keyMin && size <= keyMax) return new Webhook(secret);
  throw new TypeError(`A secret must be whsec_ followed by padded base64 of ${keyMin} to ${keyMax} bytes.`);
}

function headerOf(headers: WebhookHeaders, name: string): string | undefined {
  if (headers instanceof Headers) return headers.get(name) ?? undefined;
  const value = Object.entries(headers).find(([key]) => key.toLowerCase() === name)?.[1];
  return typeof value === 'object' ? value[0] : value;
}

function errorOf(verify: () => void): WebhookError | undefined {
  try {
    verify();
    return undefined;
  } catch (cause) {
    if (!(cause instanceof WebhookVerificationError)) throw cause;
    return /timestamp|Invalid Signature Headers/.test(cause.message)
      ? new WebhookError('invalid_timestamp', 'The timestamp is not within five minutes of the clock.', {
          cause,
        })
      : new WebhookError('invalid_signature', 'No signature matches.', { cause });
  }
}

function eventOf(text: string): IssueEvent {
  let event: unknown;
  try {
    event = JSON.parse(text);
  } catch (cause) {
    throw new WebhookError('invalid_body', 'The body is not JSON.', { cause });
  }
  if (isEvent(event)) return event;
  throw new WebhookError('invalid_body', 'The body is not an event.');
}

function isEvent(value: unknown): value is IssueEvent {
  return (
    isObject(value) &&
    typeof value.type === 'string' &&
    typeof value.timestamp === 'string' &&
    isObject(value.data)
  );
}

function isObject(value: unknown): value is { type?: unknown; timestamp?: unknown; data?: unknown } {
  return typeof value === 'object' && value !== null;
}
