import { Agent as HttpAgent } from 'node:http';
import { Agent as HttpsAgent } from 'node:https';
import type { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { setTimeout as pause } from 'node:timers/promises';
import { JSONParser } from '@streamparser/json';
import { abortAfter } from '@tessera/service-kit';
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
import type { TrackerConfig, TrackerContext, TrackerLimit } from './external-tracker.ts';
import { responseError, TrackerError } from './tracker-error.ts';

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
const responseMaxBytes = 5 * 1024 * 1024;
/** A list is parsed while it arrives, so that only the items that are kept need memory. */
const listMaxBytes = 256 * 1024 * 1024;
const retriesMax = 2;
const breakerThreshold = 5;
const pagesMax = 100;
const passedLifetimeMs = 10 * 60_000;
const unsentCodes = new Set(['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN', 'EHOSTUNREACH', 'ENETUNREACH']);

/**
 * HTTP requests to a tracker, limited in time, size and number of connections. GET requests are retried; writes are sent
 * once. A circuit breaker opens after five failures in a row. Throws `TrackerError` only.
 */
export class TrackerTransport {
  readonly #http: AxiosInstance;
  readonly #config: TrackerConfig;
  readonly #limit: TrackerLimit;
  readonly #writeIntervalMs: number;
  readonly #breaker;
  readonly #retryAndBreaker;
  #nextWriteAt = 0;
  #pausedUntil = 0;
  /** Difference between the tracker's clock and ours; undefined if responses do not contain the time. */
  #clockAheadMs: number | undefined;
  /** A lower bound of the tracker's time, in milliseconds relative to `performance.now()`. */
  #passedOffsetMs = Number.NEGATIVE_INFINITY;
  #passedSetAt = 0;

  constructor(config: TrackerConfig, api: TrackerApi, { logger, limit }: TrackerContext) {
    this.#config = config;
    this.#limit = limit;
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
    return this.#run(request, async ({ status, headers, data }) => {
      const body = await readBody(data);
      const json = parseJson(body);
      if (json === undefined && body !== '') {
        throw new TrackerError('tracker_unavailable', `responded ${status} with a body that is not JSON`);
      }
      return { data: json, headers };
    });
  }

  /** Whether the circuit breaker is open: requests are not sent. */
  get isPaused(): boolean {
    return performance.now() < this.#pausedUntil;
  }

  /** Returns the current time by the tracker's clock, or by ours if it is unknown. */
  clock(): Date {
    return new Date(Date.now() + (this.#clockAheadMs ?? 0));
  }

  /**
   * Returns a time that has passed by the tracker's clock: the latest `seen` time and the time since. Does not use the
   * responses' `Date`, because a proxy with another clock may have added it.
   */
  passedTime(seen: Date): Date {
    const now = performance.now();
    const offsetMs = seen.getTime() - now;
    // After a while, the tracker's clock may have been set back.
    if (offsetMs > this.#passedOffsetMs || now - this.#passedSetAt > passedLifetimeMs) {
      this.#passedOffsetMs = offsetMs;
      this.#passedSetAt = now;
    }
    return new Date(this.#passedOffsetMs + now);
  }

  /** Sends a request and validates the body of the response. */
  async read<Schema extends z.ZodType>(request: TrackerRequest, schema: Schema): Promise<z.output<Schema>> {
    const { data } = await this.send(request);
    return parseData(data, schema);
  }

  /** Reads a list of any length, and keeps only parts of its items. */
  async readList<Item extends z.ZodType, Kept>(request: ListRequest<Item, Kept>): Promise<ListPage<Kept>> {
    const { list = '$', item: schema, keep, ...rest } = request;
    return this.#run({ ...rest, method: 'GET' }, async ({ headers, data }) => {
      const items: Kept[] = [];
      let count = 0;
      await parseItems(data, list, (item) => {
        count += 1;
        const kept = keep(parseData(item, schema));
        if (kept !== undefined) items.push(kept);
      });
      return { items, count, hasNext: /rel="?next"?/.test(String(headers.link ?? '')) };
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
      const response = await this.#http.request<Readable>({
        method,
        url: path,
        ...(query === undefined ? {} : { params: query }),
        ...(body === undefined ? {} : { data: body }),
        signal: abortAfter(this.#config.timeoutMs, signal),
      });
      const { status, headers, data } = response;
      const sentAt = Date.parse(String(headers.date ?? ''));
      if (!Number.isNaN(sentAt)) this.#clockAheadMs = sentAt - Date.now();
      if (status < 300) return await read({ status, headers, data });
      const received = await readBody(data);
      throw responseError(
        { status, headers, data: received, json: parseJson(received) },
        target ?? 'project',
      );
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

interface StreamedResponse {
  status: number;
  headers: Record<string, unknown>;
  data: Readable;
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

// Passes each item of the list at `path` to `take` without keeping it.
async function parseItems(data: Readable, path: string, take: (item: unknown) => void): Promise<void> {
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
