import { Agent as HttpAgent } from 'node:http';
import { Agent as HttpsAgent } from 'node:https';
import { addAbortSignal, type Readable } from 'node:stream';
import axios, { isAxiosError } from 'axios';
import { Webhook } from 'standardwebhooks';
import { abortAfter } from '../background/abort-after.ts';
import { presentEvent } from '../events/event.presenter.ts';
import type { IssueUrls } from '../issue-core/issue-reference.ts';
import { ForbiddenTarget, type WebhookTargets } from './webhook-target.ts';

/** The type of the event that a person sends to try an endpoint. */
export const testType = 'webhook.test';

/** The parts of a delivery that its message contains. */
export interface DeliveredEvent {
  id: bigint;
  endpointId: string;
  /** Null for a test. */
  eventId: bigint | null;
  type: string;
  subjectId: string;
  data: Record<string, unknown>;
  eventAt: Date;
}

/**
 * Returns the id of a message, which stays the same over all attempts. A receiver recognises a repetition by it. A failover may
 * give the id of a delivery again, so that of a test contains its time; the id of an event is never given again.
 */
export function messageId({
  id,
  endpointId,
  eventId,
  eventAt,
}: Pick<DeliveredEvent, 'id' | 'endpointId' | 'eventId' | 'eventAt'>) {
  return `msg_${endpointId.replaceAll('-', '')}_${eventId ?? `t${id}_${eventAt.getTime().toString(36)}`}`;
}

/** Returns the body of a message: the event as the feed shows it; undefined for a type that only a later release knows. */
export function payloadOf(
  { eventId, endpointId, type, subjectId, data, eventAt }: DeliveredEvent,
  urls: Pick<IssueUrls, 'keyOf'>,
): object | undefined {
  if (eventId === null) return { type, timestamp: eventAt.toISOString(), data: { webhook_id: endpointId } };
  return presentEvent({ id: Number(eventId), type, subjectId, data, at: eventAt }, urls);
}

/** A request to an endpoint, without its signature. */
export interface WebhookMessage {
  id: string;
  url: string;
  /** The secrets that sign, the newest first. */
  secrets: readonly string[];
  body: string;
}

/** The outcome of an attempt. */
export interface Attempt {
  startedAt: Date;
  durationMs: number;
  /** Null without a response. */
  status: number | null;
  /** Null after a success. */
  error: AttemptError | null;
  /** The first 2 kB of the response; null without one. */
  answer: string | null;
  /** The time that a header `Retry-After` asks for, in seconds. */
  retryAfterSeconds: number | undefined;
}

export const attemptErrors = [
  'forbidden_target',
  'name_not_found',
  'connection_failed',
  'tls_failed',
  'timeout',
  'incomplete_response',
  'redirect',
  'http_error',
] as const;

export type AttemptError = (typeof attemptErrors)[number];

const timeoutMs = 15_000;
const answerMaxBytes = 2 * 1024;

interface SenderOptions {
  targets: WebhookTargets;
  /** Default 15 s, for all of an attempt. */
  timeoutMs?: number;
}

/** Sends webhooks in the format of Standard Webhooks. Each attempt has its own connection, to the address that was checked. */
export class WebhookSender {
  readonly #targets: WebhookTargets;
  readonly #timeoutMs: number;
  readonly #http = axios.create({
    method: 'POST',
    // A redirect or a proxy from the environment would lead to an address that was not checked.
    maxRedirects: 0,
    proxy: false,
    // Node's default agents reuse connections of a name that had another address, and can use a proxy.
    httpAgent: new HttpAgent({ keepAlive: false }),
    httpsAgent: new HttpsAgent({ keepAlive: false }),
    responseType: 'stream',
    decompress: false,
    // The body is signed as it is.
    transformRequest: [],
    validateStatus: () => true,
  });

  constructor(options: SenderOptions) {
    this.#targets = options.targets;
    this.#timeoutMs = options.timeoutMs ?? timeoutMs;
  }

  /** Sends a message once. An error is part of the outcome, unless `stopping` aborts: then it throws. */
  async send(message: WebhookMessage, stopping: AbortSignal): Promise<Attempt> {
    const startedAt = new Date();
    const started = performance.now();
    const signal = abortAfter(this.#timeoutMs, stopping);
    const response: { status: number | null; retryAfterSeconds: number | undefined } = {
      status: null,
      retryAfterSeconds: undefined,
    };
    const start: Buffer[] = [];
    let error: AttemptError | null;
    try {
      const { status, headers, data } = await this.#post(message, startedAt, signal);
      response.status = status;
      response.retryAfterSeconds = readRetryAfter(headers['retry-after']);
      await readStart(data, signal, start);
      error = errorOfStatus(status);
    } catch (thrown) {
      stopping.throwIfAborted();
      error = signal.aborted ? 'timeout' : errorOf(thrown, response.status);
    }
    const durationMs = Math.round(performance.now() - started);
    const answer = response.status === null ? null : answerText(start);
    return { startedAt, durationMs, error, answer, ...response };
  }

  async #post({ id, url, secrets, body }: WebhookMessage, at: Date, signal: AbortSignal) {
    const target = await untilAborted(this.#targets.resolve(url), signal);
    return this.#http.request<Readable>({
      url,
      data: body,
      signal,
      lookup: async () => ({ address: target.address, family: target.family === 6 ? 6 : 4 }),
      headers: {
        'Content-Type': 'application/json',
        // The log shows the start of the response.
        'Accept-Encoding': 'identity',
        'User-Agent': 'tessera-issues',
        'webhook-id': id,
        'webhook-timestamp': String(Math.floor(at.getTime() / 1000)),
        // biome-ignore lint/plugin: an HMAC of a small body is as fast as a digest
        'webhook-signature': secrets.map((secret) => new Webhook(secret).sign(id, at, body)).join(' '),
      },
    });
  }
}

// The resolver of the operating system cannot be interrupted.
async function untilAborted<Value>(value: Promise<Value>, signal: AbortSignal): Promise<Value> {
  return new Promise((resolve, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason), { once: true });
    value.then(resolve, reject);
  });
}

/** Reads at least the first 2 kB of a response into `chunks`, also if it ends early, and closes the connection. */
async function readStart(data: Readable, signal: AbortSignal, chunks: Buffer[]): Promise<void> {
  let bytes = 0;
  for await (const chunk of addAbortSignal(signal, data)) {
    chunks.push(chunk);
    bytes += chunk.length;
    if (bytes >= answerMaxBytes) break;
  }
}

// PostgreSQL does not store the character U+0000.
function answerText(chunks: readonly Buffer[]): string {
  return Buffer.concat(chunks).subarray(0, answerMaxBytes).toString('utf8').replaceAll('\0', '\uFFFD');
}

const redirects = new Set([301, 302, 303, 307, 308]);

function errorOfStatus(status: number): AttemptError | null {
  if (status >= 200 && status < 300) return null;
  return redirects.has(status) ? 'redirect' : 'http_error';
}

function errorOf(error: unknown, status: number | null): AttemptError {
  if (error instanceof ForbiddenTarget) return 'forbidden_target';
  if (status !== null) return 'incomplete_response';
  const code = codeOf(error);
  if (code === 'HPE_HEADER_OVERFLOW') return 'incomplete_response';
  if (code === 'ENOTFOUND' || code === 'EAI_AGAIN' || code === 'ENODATA') return 'name_not_found';
  return /CERT|TLS|SSL|EPROTO|SIGNATURE|ISSUER/.test(code) ? 'tls_failed' : 'connection_failed';
}

function codeOf(error: unknown): string {
  const cause = isAxiosError(error) && error.code === undefined ? error.cause : error;
  return cause instanceof Error && 'code' in cause ? String(cause.code) : '';
}

/** Reads the header in seconds or as a date (RFC 9110, 10.2.3). */
function readRetryAfter(header: unknown): number | undefined {
  if (typeof header !== 'string') return undefined;
  if (/^\d+$/.test(header.trim())) return Number(header);
  const date = Date.parse(header);
  return Number.isNaN(date) ? undefined : Math.max(0, (date - Date.now()) / 1000);
}
