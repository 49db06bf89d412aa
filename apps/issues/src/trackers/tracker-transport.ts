import { Agent as HttpAgent } from 'node:http';
import { Agent as HttpsAgent } from 'node:https';
import { setTimeout as pause } from 'node:timers/promises';
import type { Logger } from '@tessera/service-kit';
import axios, { type AxiosInstance, type AxiosResponse } from 'axios';
import {
  CircuitState,
  ConsecutiveBreaker,
  circuitBreaker,
  ExponentialBackoff,
  handleType,
  isBrokenCircuitError,
  retry,
  wrap,
} from 'cockatiel';
import type { z } from 'zod';
import type { TrackerConfig } from './external-tracker.ts';
import { responseError, TrackerError } from './tracker-error.ts';

/** What differs between trackers in every request. */
interface TrackerApi {
  /** Credentials, media type, API version. */
  headers: Record<string, string>;
  /** Default of the minimum time between two writes. */
  writeIntervalMs: number;
}

export interface TrackerRequest {
  method: 'GET' | 'POST' | 'PUT' | 'PATCH';
  path: string;
  /** What is missing if the tracker answers 404; by default the project. */
  target?: 'issue';
  query?: Record<string, string | number>;
  body?: object;
  signal: AbortSignal;
}

export interface TrackerReply {
  data: unknown;
  headers: Record<string, unknown>;
}

const socketsMax = 8;
const responseMaxBytes = 5 * 1024 * 1024;
const retriesMax = 2;
const breakerThreshold = 5;
const pagesMax = 100;
const unsentCodes = new Set(['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN', 'EHOSTUNREACH', 'ENETUNREACH']);

/**
 * HTTP requests to a tracker, limited in time, size and number of connections. GET requests are retried; writes are sent
 * once. A circuit breaker opens after five failures in a row. Throws `TrackerError` only.
 */
export class TrackerTransport {
  readonly #http: AxiosInstance;
  readonly #config: TrackerConfig;
  readonly #writeIntervalMs: number;
  readonly #breaker;
  readonly #retryAndBreaker;
  #nextWriteAt = 0;
  /** How far the tracker's clock is ahead of ours. */
  #clockAheadMs = 0;

  constructor(config: TrackerConfig, api: TrackerApi, logger: Logger) {
    this.#config = config;
    this.#writeIntervalMs = config.writeIntervalMs ?? api.writeIntervalMs;
    this.#http = axios.create({
      baseURL: config.url,
      allowAbsoluteUrls: false,
      // A redirect or a proxy from the environment would send the credentials to another host.
      maxRedirects: 0,
      proxy: false,
      maxContentLength: responseMaxBytes,
      httpAgent: new HttpAgent({ keepAlive: true, maxSockets: socketsMax }),
      httpsAgent: new HttpsAgent({ keepAlive: true, maxSockets: socketsMax }),
      headers: { Accept: 'application/json', 'User-Agent': 'tessera-issues', ...api.headers },
      responseType: 'text',
      transformResponse: [],
      validateStatus: () => true,
    });
    const outages = handleType(
      TrackerError,
      ({ code }) => code === 'tracker_unavailable' || code === 'tracker_timeout',
    );
    this.#breaker = circuitBreaker(outages, {
      halfOpenAfter: config.breakMs,
      breaker: new ConsecutiveBreaker(breakerThreshold),
    });
    this.#breaker.onStateChange((state) =>
      logger.warn({ state: CircuitState[state] }, 'tracker circuit breaker'),
    );
    const retryUnavailable = retry(
      handleType(TrackerError, ({ code }) => code === 'tracker_unavailable'),
      { maxAttempts: retriesMax, backoff: new ExponentialBackoff({ initialDelay: 250, maxDelay: 2_000 }) },
    );
    this.#retryAndBreaker = wrap(retryUnavailable, this.#breaker);
  }

  async send(request: TrackerRequest): Promise<TrackerReply> {
    const isRead = request.method === 'GET';
    if (!isRead) await this.#waitToWrite(request.signal);
    const policy = isRead ? this.#retryAndBreaker : this.#breaker;
    try {
      return await policy.execute(() => this.#sendOnce(request), request.signal);
    } catch (error) {
      if (!isBrokenCircuitError(error)) throw error;
      throw new TrackerError('tracker_rate_limited', 'the circuit breaker is open', {
        hadNoEffect: true,
        retryAfterSeconds: Math.ceil(this.#config.breakMs / 1000),
      });
    }
  }

  /** The current time by the tracker's clock. */
  clock(): Date {
    return new Date(Date.now() + this.#clockAheadMs);
  }

  /** Sends a request and validates the body of the response. */
  async read<Schema extends z.ZodType>(request: TrackerRequest, schema: Schema): Promise<z.output<Schema>> {
    const { data } = await this.send(request);
    return parseData(data, schema);
  }

  /** Reads all pages of a list by `page`, as long as the `Link` header names a next one (RFC 8288). */
  async readPages<Item extends z.ZodType>(
    request: Omit<TrackerRequest, 'method'>,
    schema: z.ZodArray<Item>,
  ): Promise<z.output<Item>[]> {
    const items: z.output<Item>[] = [];
    for (let page = 1; page <= pagesMax; page += 1) {
      const { items: some, hasNext } = await this.readPage(request, page, schema);
      items.push(...some);
      if (!hasNext) return items;
    }
    throw new TrackerError('tracker_unavailable', `a list of more than ${pagesMax} pages`);
  }

  async readPage<Item extends z.ZodType>(
    request: Omit<TrackerRequest, 'method'>,
    page: number,
    schema: z.ZodArray<Item>,
  ): Promise<{ items: z.output<Item>[]; hasNext: boolean }> {
    const query = { ...request.query, page };
    const { data, headers } = await this.send({ ...request, method: 'GET', query });
    return { items: parseData(data, schema), hasNext: /rel="?next"?/.test(String(headers.link ?? '')) };
  }

  async #sendOnce({ method, path, target, query, body, signal }: TrackerRequest): Promise<TrackerReply> {
    let response: AxiosResponse<string>;
    try {
      response = await this.#http.request<string>({
        method,
        url: path,
        ...(query === undefined ? {} : { params: query }),
        ...(body === undefined ? {} : { data: body }),
        signal: AbortSignal.any([signal, AbortSignal.timeout(this.#config.timeoutMs)]),
      });
    } catch (error) {
      throw connectionError(error);
    }
    const { status, headers, data } = response;
    const sentAt = Date.parse(String(headers.date ?? ''));
    if (!Number.isNaN(sentAt)) this.#clockAheadMs = sentAt - Date.now();
    const json = parseJson(data);
    if (status >= 300) throw responseError({ status, headers, data, json }, target ?? 'project');
    if (json === undefined && data !== '') {
      throw new TrackerError('tracker_unavailable', `responded ${status} with a body that is not JSON`);
    }
    return { data: json, headers };
  }

  // GitHub blocks accounts that create content too fast.
  async #waitToWrite(signal: AbortSignal): Promise<void> {
    const now = performance.now();
    const turn = Math.max(now, this.#nextWriteAt);
    this.#nextWriteAt = turn + this.#writeIntervalMs;
    if (turn <= now) return;
    await pause(turn - now, undefined, { signal }).catch(() => {
      throw new TrackerError('tracker_timeout', 'timed out before the request was sent', {
        hadNoEffect: true,
      });
    });
  }
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function parseData<Schema extends z.ZodType>(data: unknown, schema: Schema): z.output<Schema> {
  const result = schema.safeParse(data);
  if (result.success) return result.data;
  const [issue] = result.error.issues;
  throw new TrackerError(
    'tracker_unavailable',
    `unexpected response body at /${issue?.path.join('/') ?? ''}`,
  );
}

// An axios error contains the request with its credentials and body: only its code may be logged.
function connectionError(error: unknown): TrackerError {
  if (!axios.isAxiosError(error)) return new TrackerError('tracker_unavailable', 'no response');
  const { code = 'no response' } = error;
  if (code === 'ERR_CANCELED' || code === 'ETIMEDOUT' || code === 'ECONNABORTED') {
    return new TrackerError('tracker_timeout', code);
  }
  return new TrackerError('tracker_unavailable', code, { hadNoEffect: unsentCodes.has(code) });
}
