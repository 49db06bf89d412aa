import { z } from 'zod';
import { TrackerError } from './tracker-error.ts';

type Headers = Record<string, unknown>;

const waitDefaultSeconds = 60;
const waitMaxSeconds = 3_600;
const messageMaxLength = 300;
const messagesMax = 10;

/** Whether an answer asks for fewer requests: GitHub says so with 403 too, for its primary and its secondary limits. */
export function isRateLimit({
  status,
  headers,
  data,
}: {
  status: number;
  headers: Headers;
  data: string;
}): boolean {
  if (status === 429) return true;
  if (status !== 403) return false;
  const isSpent = headers['x-ratelimit-remaining'] === '0';
  return (
    isSpent || headers['retry-after'] !== undefined || /secondary rate limit|abuse detection/i.test(data)
  );
}

/**
 * For how many seconds a tracker wants no requests: its `Retry-After` (seconds or a date, RFC 9110 10.2.3), else when
 * its window ends, else a minute.
 */
export function retryAfterOf(headers: Headers, now = Date.now()): number {
  const given = String(headers['retry-after'] ?? '');
  if (/^\d{1,9}$/.test(given)) return bounded(Number(given));
  const date = Date.parse(given);
  if (given !== '' && !Number.isNaN(date)) return bounded((date - now) / 1000);
  const reset = String(headers['x-ratelimit-reset'] ?? headers['ratelimit-reset'] ?? '');
  const isSpent = String(headers['x-ratelimit-remaining'] ?? headers['ratelimit-remaining'] ?? '') === '0';
  if (isSpent && /^\d{9,11}$/.test(reset)) return bounded(Number(reset) - now / 1000);
  return waitDefaultSeconds;
}

function bounded(seconds: number): number {
  return Math.min(waitMaxSeconds, Math.max(1, Math.ceil(seconds)));
}

/** What an answer that is no success means; the request took no effect. */
export function refusalOf(status: number, headers: Headers, data: unknown, names?: 'issue'): TrackerError {
  const reason = `answered ${status}`;
  const isUndone = true;
  if (status < 400) {
    const { location: given } = headers;
    const location = typeof given === 'string' && given !== '' ? given.slice(0, 2_000) : null;
    return new TrackerError('moved', reason, { isUndone, location });
  }
  switch (status) {
    case 401:
    case 403:
    case 407:
      return new TrackerError('credentials', reason, { isUndone });
    case 404:
    case 410:
      // A project that our credential does not show us looks like one that is not there.
      return new TrackerError(names === 'issue' ? 'gone' : 'credentials', reason, { isUndone });
    case 408:
      return new TrackerError('unavailable', reason, { isUndone });
    case 409:
      return new TrackerError('stale', reason, { isUndone });
    default:
      return new TrackerError('rejected', reason, { isUndone, messages: messagesOf(data) });
  }
}

const errorSchema = z.union([
  z.string(),
  z.object({ message: z.string() }).transform(({ message }) => message),
  z.object({ field: z.string(), code: z.string() }).transform(({ field, code }) => `${field}: ${code}`),
]);
const refusalSchema = z.object({
  message: z.unknown().optional(),
  error: z.unknown().optional(),
  errors: z.unknown().optional(),
});

// Redmine: `errors: [string]`; GitHub and Gitea: `message` and `errors: [object]`; GitLab: `message` by field, or `error`.
function messagesOf(data: unknown): string[] {
  const refusal = refusalSchema.safeParse(data);
  if (!refusal.success) return [];
  const { message, error, errors } = refusal.data;
  return [message, error, ...(Array.isArray(errors) ? errors : [])]
    .flatMap(toMessages)
    .slice(0, messagesMax)
    .map((text) => text.slice(0, messageMaxLength));
}

function toMessages(value: unknown): string[] {
  const known = errorSchema.safeParse(value);
  if (known.success) return known.data === '' ? [] : [known.data];
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).map(([field, reasons]) => `${field} ${[reasons].flat().join(', ')}`);
}
