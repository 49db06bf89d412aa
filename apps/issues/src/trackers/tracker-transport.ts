import { Agent as HttpAgent } from 'node:http';
import { Agent as HttpsAgent } from 'node:https';
import type { Readable } from 'node:stream';
import { setTimeout as pause } from 'node:timers/promises';
import axios, { type AxiosInstance } from 'axios';
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
import { abortAfter } from '../background/abort-after.ts';
import type { TrackerClock } from './tracker-clock.ts';
import type { TrackerConfig, TrackerContext, TrackerLimit } from './tracker-config.ts';
import { TrackerError } from './tracker-error.ts';
import { parseData, readError, readItems, readJson, type StreamedResponse } from './tracker-response.ts';

/** The parts of requests that differ between trackers. */
interface TrackerApi {
  /** Credentials, media type, API version. */
  headers: Record<string, string>;
  /** Default of the minimum time between two writes. */
  writeIntervalMs: number;
}

export interface TrackerRequest {
  method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  path: string;
  /** The resource that a 404 refers to; by default the project. */
  target?: 'issue';
  query?: Record<string, string | number>;
  body?: object;
  signal: AbortSignal;
}

/** A request for a list in the response. */
export interface ListRequest<Item extends z.ZodType, Kept> {
  path: string;
  target?: 'issue';
  query?: NonNullable<TrackerRequest['query']>;
  /** JSONPath of the list in the response; by default the response is the list. */
  list?: string;
  item: Item;
  /** Returns the part of an item to keep; undefined to drop the item. */
  keep: (item: z.output<Item>) => Kept | undefined;
  signal: AbortSignal;
}

export interface ListPage<Kept> {
  items: Kept[];
  /** The number of items before `keep`. */
  count: number;
  /** Whether the `Link` header names a next page (RFC 8288). */
  hasNext: boolean;
}

export interface TrackerReply {
  data: unknown;
  headers: Record<string, unknown>;
}

const connections = {
  keepAlive: true,
  maxSockets: 8,
  // Timeout of idle connections. Node's servers close them after 5 s, and a write on a connection that is being closed
  // has an unknown outcome.
  timeout: 4_000,
};
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
  readonly #limit: TrackerLimit;
  readonly #clock: TrackerClock;
  readonly #writeIntervalMs: number;
  readonly #breaker;
  readonly #retryAndBreaker;
  #nextWriteAt = 0;
  #pausedUntil = 0;

  constructor(config: TrackerConfig, api: TrackerApi, { logger, limit, clock }: TrackerContext) {
    this.#config = config;
    this.#limit = limit;
    this.#clock = clock;
    this.#writeIntervalMs = config.writeIntervalMs ?? api.writeIntervalMs;
    this.#http = axios.create({
      baseURL: config.url,
      allowAbsoluteUrls: false,
      // A redirect or a proxy from the environment would send the credentials to another host.
      maxRedirects: 0,
      proxy: false,
      httpAgent: new HttpAgent(connections),
      httpsAgent: new HttpsAgent(connections),
      headers: { Accept: 'application/json', 'User-Agent': 'tessera-issues', ...api.headers },
      responseType: 'stream',
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
    this.#breaker.onStateChange((state) => {
      this.#pausedUntil = state === CircuitState.Open ? performance.now() + config.breakMs : 0;
      logger.warn({ state: CircuitState[state] }, 'tracker circuit breaker');
    });
    const retryUnavailable = retry(
      handleType(TrackerError, ({ code }) => code === 'tracker_unavailable'),
      { maxAttempts: retriesMax, backoff: new ExponentialBackoff({ initialDelay: 250, maxDelay: 2_000 }) },
    );
    this.#retryAndBreaker = wrap(retryUnavailable, this.#breaker);
  }

  async send(request: TrackerRequest): Promise<TrackerReply> {
    return this.#run(request, async (response) => ({
      data: await readJson(response),
      headers: response.headers,
    }));
  }

  /** Whether the circuit breaker is open: requests are not sent. */
  get isPaused(): boolean {
    return performance.now() < this.#pausedUntil;
  }

  /** Sends a request and validates the body of the response. */
  async read<Schema extends z.ZodType>(request: TrackerRequest, schema: Schema): Promise<z.output<Schema>> {
    const { data } = await this.send(request);
    return parseData(data, schema);
  }

  /** Reads a list of any length, and keeps only parts of its items. */
  async readList<Item extends z.ZodType, Kept>(request: ListRequest<Item, Kept>): Promise<ListPage<Kept>> {
    const { list = '$', item: schema, keep, ...rest } = request;
    return this.#run({ ...rest, method: 'GET' }, async (response) => {
      const items: Kept[] = [];
      let count = 0;
      await readItems(response, list, (item) => {
        count += 1;
        const kept = keep(parseData(item, schema));
        if (kept !== undefined) items.push(kept);
      });
      return { items, count, hasNext: /rel="?next"?/.test(String(response.headers.link ?? '')) };
    });
  }

  /** Reads all pages of a list by `page`. */
  async readPages<Item extends z.ZodType, Kept>(request: ListRequest<Item, Kept>): Promise<Kept[]> {
    const all: Kept[] = [];
    for (let page = 1; page <= pagesMax; page += 1) {
      const { items, hasNext } = await this.readList({ ...request, query: { ...request.query, page } });
      all.push(...items);
      if (!hasNext) return all;
    }
    throw new TrackerError('remote_too_large', `a list of more than ${pagesMax} pages`);
  }

  async #run<Result>(
    request: TrackerRequest,
    read: (response: StreamedResponse) => Promise<Result>,
  ): Promise<Result> {
    const isRead = request.method === 'GET';
    if (!isRead) await this.#waitToWrite(request.signal);
    await this.#assertNotLimited();
    const policy = isRead ? this.#retryAndBreaker : this.#breaker;
    let failure: unknown;
    const send = () =>
      this.#sendOnce(request, read).catch((error: unknown) => {
        failure = error;
        throw error;
      });
    try {
      return await policy.execute(send, request.signal);
    } catch (error) {
      if (!isBrokenCircuitError(error)) throw error;
      // A failure of this request may have opened the breaker.
      if (failure !== undefined) throw failure;
      const retryAfterSeconds = Math.max(1, Math.ceil((this.#pausedUntil - performance.now()) / 1000));
      const until = new Date(Date.now() + retryAfterSeconds * 1000).toISOString();
      throw new TrackerError('tracker_rate_limited', 'the circuit breaker is open', {
        hadNoEffect: true,
        isPostponed: true,
        retryAfterSeconds,
        detail: `The external tracker did not respond to the last requests, so that none is sent before ${until}: check TRACKER_URL and the network.`,
      });
    }
  }

  async #sendOnce<Result>(
    { method, path, target, query, body, signal }: TrackerRequest,
    read: (response: StreamedResponse) => Promise<Result>,
  ): Promise<Result> {
    try {
      const { status, headers, data } = await this.#http.request<Readable>({
        method,
        url: path,
        ...(query === undefined ? {} : { params: query }),
        ...(body === undefined ? {} : { data: body }),
        signal: abortAfter(this.#config.timeoutMs, signal),
      });
      this.#clock.observe(headers.date);
      if (status < 300) return await read({ status, headers, data });
      throw await readError({ status, headers, data }, target ?? 'project');
    } catch (error) {
      if (!(error instanceof TrackerError)) throw connectionError(error);
      const { code, retryAfterSeconds } = error;
      if (code === 'tracker_rate_limited') await this.#limit.extend(retryAfterSeconds ?? 0);
      throw error;
    }
  }

  async #assertNotLimited(): Promise<void> {
    const retryAfterSeconds = Math.ceil(await this.#limit.remainingSeconds());
    if (retryAfterSeconds <= 0) return;
    throw new TrackerError('tracker_rate_limited', 'the tracker limits requests', {
      hadNoEffect: true,
      isPostponed: true,
      retryAfterSeconds,
    });
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

// An axios error contains the request with its credentials and body: only its code may be logged.
function connectionError(error: unknown): TrackerError {
  if (!axios.isAxiosError(error)) return new TrackerError('tracker_unavailable', 'no response');
  const { code = 'no response' } = error;
  if (code === 'ERR_CANCELED' || code === 'ETIMEDOUT' || code === 'ECONNABORTED') {
    return new TrackerError('tracker_timeout', code);
  }
  return new TrackerError('tracker_unavailable', code, { hadNoEffect: unsentCodes.has(code) });
}
