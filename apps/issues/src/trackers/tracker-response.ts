import type { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { JSONParser } from '@streamparser/json';
import type { TrackerProvider } from '@tessera/contracts';
import { z } from 'zod';
import { TrackerError } from './tracker-error.ts';

const responseMaxBytes = 5 * 1024 * 1024;
/** A list is parsed while it arrives, so that only the items that are kept need memory. */
const listMaxBytes = 256 * 1024 * 1024;

/** The response of a tracker whose body has not been read. */
export interface StreamedResponse {
  status: number;
  headers: Record<string, unknown>;
  data: Readable;
}

/** Returns the body as JSON; undefined if it is empty. */
export async function readJson({ status, data }: StreamedResponse): Promise<unknown> {
  const body = await readBody(data);
  const json = parseJson(body);
  if (json === undefined && body !== '')
    throw new TrackerError('tracker_unavailable', `responded ${status} with a body that is not JSON`);
  return json;
}

async function readBody(data: Readable): Promise<string> {
  return text(limited(data, responseMaxBytes));
}

async function* limited(data: Readable, maxBytes: number): AsyncGenerator<Buffer> {
  let size = 0;
  for await (const chunk of data) {
    size += chunk.length;
    if (size > maxBytes)
      throw new TrackerError('remote_too_large', `responded with more than ${maxBytes} bytes`);
    yield chunk;
  }
}

/** Passes each item of the list at a JSONPath in the body to `take` without keeping it. */
export async function readItems(
  { data }: StreamedResponse,
  path: string,
  take: (item: unknown) => void,
): Promise<void> {
  const parser = new JSONParser({ paths: [path, `${path}.*`], keepStack: false });
  let hasList = false;
  let failure: Error | undefined;
  parser.onValue = ({ value, key, parent }) => {
    if (Array.isArray(parent) && typeof key === 'number') {
      take(value);
      parent[key] = null;
    } else hasList = Array.isArray(value);
  };
  parser.onError = (error) => {
    failure ??= error;
  };
  for await (const chunk of limited(data, listMaxBytes)) {
    parser.write(chunk);
    if (failure !== undefined) break;
  }
  if (failure instanceof TrackerError) throw failure;
  if (failure !== undefined || !parser.isEnded || !hasList)
    throw new TrackerError('tracker_unavailable', `responded without a list at ${path}`);
}

function parseJson(body: string): unknown {
  try {
    return JSON.parse(body);
  } catch {
    return undefined;
  }
}

/** Validates a body, or an item of a list. */
export function parseData<Schema extends z.ZodType>(data: unknown, schema: Schema): z.output<Schema> {
  const result = schema.safeParse(data);
  if (result.success) return result.data;
  const [issue] = result.error.issues;
  throw new TrackerError(
    'tracker_unavailable',
    `unexpected response body at /${issue?.path.join('/') ?? ''}`,
  );
}

const trackerNames: Record<TrackerProvider, string> = {
  redmine: 'a Redmine',
  github: "GitHub's API",
  gitlab: 'a GitLab',
  gitea: 'a Gitea or Forgejo',
};

/** Returns the error for a TRACKER_URL that leads to another server. */
export function otherServer(provider: TrackerProvider, { message }: TrackerError): TrackerError {
  return new TrackerError('tracker_unavailable', message, {
    hadNoEffect: true,
    detail: `TRACKER_URL does not lead to ${trackerNames[provider]}, because another server responds there: correct it.`,
  });
}

/**
 * Returns the error of a request for the project. GitHub, GitLab and Gitea respond 404 with a message: a 404 without one
 * comes from another server.
 */
export function projectError(provider: TrackerProvider, error: TrackerError): TrackerError {
  const isOther = error.code === 'project_not_found' && error.messages.length === 0;
  return isOther ? otherServer(provider, error) : error;
}

interface ReceivedResponse extends Omit<StreamedResponse, 'data'> {
  data: string;
}

const redirected =
  'The external tracker redirects the request, for example to a login page: correct TRACKER_URL or TRACKER_PROJECT.';

/** Returns the error for an unsuccessful response. `target`: the resource that a 404 refers to. */
export async function readError(
  { status, headers, data: stream }: StreamedResponse,
  target: 'issue' | 'project',
): Promise<TrackerError> {
  const data = await readBody(stream);
  const reason = `responded ${status}`;
  // A tracker can respond 5xx after it has applied a change.
  const hadNoEffect = status < 500;
  const refusal = { hadNoEffect, isRefusal: hadNoEffect };
  const messages = errorMessages(parseJson(data));
  if (isRateLimit({ status, headers, data }) || (status >= 500 && headers['retry-after'] !== undefined)) {
    const retryAfterSeconds = retryAfterOf(headers);
    return new TrackerError('tracker_rate_limited', reason, { ...refusal, retryAfterSeconds });
  }
  if (status >= 500) return new TrackerError('tracker_unavailable', reason);
  if (status < 400) {
    const { location: given } = headers;
    const location = typeof given === 'string' && given !== '' ? given.slice(0, 2_000) : null;
    if (target === 'issue') return new TrackerError('remote_moved', reason, { ...refusal, location });
    return new TrackerError('tracker_unavailable', reason, { ...refusal, detail: redirected });
  }
  switch (status) {
    case 401:
    case 407:
      return new TrackerError('tracker_auth_failed', reason, { ...refusal, messages });
    case 403: {
      // GitHub: "Unable to create comment because issue is locked."
      const code = /\blocked\b/i.test(data) ? 'remote_locked' : 'not_a_member';
      return new TrackerError(code, reason, { ...refusal, messages });
    }
    case 404:
    case 410: {
      // Trackers respond 404 for a project that our account cannot see.
      const missing = target === 'issue' ? 'remote_gone' : 'project_not_found';
      // GitHub also responds 410 if issues are disabled.
      const code = status === 410 && /\bdisabled\b/i.test(data) ? 'issues_disabled' : missing;
      return new TrackerError(code, reason, { ...refusal, messages });
    }
    case 408:
      return new TrackerError('tracker_unavailable', reason, { ...refusal });
    case 409:
      return new TrackerError('tracker_busy', reason, { ...refusal });
    default:
      return new TrackerError('tracker_rejected', reason, { ...refusal, messages });
  }
}

/**
 * Whether the response reports an exceeded rate limit. GitHub responds 403 or 429 for its primary and secondary limits.
 */
export function isRateLimit({ status, headers, data }: ReceivedResponse): boolean {
  if (status === 429) return true;
  if (status !== 403) return false;
  return (
    headers['x-ratelimit-remaining'] === '0' ||
    headers['retry-after'] !== undefined ||
    /secondary rate limit|abuse detection/i.test(data)
  );
}

const waitDefaultSeconds = 60;
const waitMaxSeconds = 3_600;

/**
 * Returns the seconds to wait: `Retry-After` (RFC 9110 10.2.3), otherwise the end of the exhausted rate limit window,
 * otherwise a minute.
 */
export function retryAfterOf(headers: StreamedResponse['headers'], now = Date.now()): number {
  const given = String(headers['retry-after'] ?? '');
  if (/^\d{1,9}$/.test(given)) return bounded(Number(given));
  const date = Date.parse(given);
  if (given !== '' && !Number.isNaN(date)) return bounded((date - now) / 1000);
  const reset = String(headers['x-ratelimit-reset'] ?? headers['ratelimit-reset'] ?? '');
  const remaining = String(headers['x-ratelimit-remaining'] ?? headers['ratelimit-remaining'] ?? '');
  if (remaining === '0' && /^\d{9,11}$/.test(reset)) return bounded(Number(reset) - now / 1000);
  return waitDefaultSeconds;
}

function bounded(seconds: number): number {
  return Math.min(waitMaxSeconds, Math.max(1, Math.ceil(seconds)));
}

const messageMaxLength = 300;
const messagesMax = 10;

const messageSchema = z.union([
  z.string(),
  z.object({ message: z.string() }).transform(({ message }) => message),
  z.object({ field: z.string(), code: z.string() }).transform(({ field, code }) => `${field}: ${code}`),
]);
const errorBodySchema = z.object({
  message: z.unknown().optional(),
  error: z.unknown().optional(),
  errors: z.unknown().optional(),
});

// Redmine: `errors: [string]`; GitHub and Gitea: `message` and `errors: [object]`; GitLab: `message` by field, or `error`.
function errorMessages(json: unknown): string[] {
  const body = errorBodySchema.safeParse(json);
  if (!body.success) return [];
  const { message, error, errors } = body.data;
  return [message, error, ...(Array.isArray(errors) ? errors : [])]
    .flatMap(toMessages)
    .slice(0, messagesMax)
    .map((text) => text.slice(0, messageMaxLength));
}

function toMessages(value: unknown): string[] {
  const known = messageSchema.safeParse(value);
  if (known.success) return known.data === '' ? [] : [known.data];
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).map(([field, reasons]) => `${field} ${[reasons].flat().join(', ')}`);
}
