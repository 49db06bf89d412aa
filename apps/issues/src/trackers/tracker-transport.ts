import { Agent as HttpAgent } from 'node:http';
import { Agent as HttpsAgent } from 'node:https';
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
import { TrackerError } from './tracker-error.ts';
import { isRateLimit, refusalOf, retryAfterOf } from './tracker-refusal.ts';

export interface TrackerTransportOptions {
  /** The API's address, from configuration: the credential goes nowhere else. */
  url: string;
  /** The header that carries the credential. */
  credential: Record<string, string>;
  headers?: Record<string, string>;
  /** Bound on one request, in milliseconds. */
  timeoutMs: number;
  /** Least time between the beginnings of two requests that write, in milliseconds. */
  writeIntervalMs: number;
  /** How long the tracker is left alone after it failed several times in a row, in milliseconds. */
  breakMs: number;
  logger: Logger;
}

export interface TrackerRequest {
  method: 'GET' | 'POST' | 'PUT' | 'PATCH';
  path: string;
  /** What is missing where the tracker knows nothing under the path: the project, unless it names an issue. */
  names?: 'issue';
  query?: Record<string, string | number>;
  body?: object;
  signal: AbortSignal;
}

export interface TrackerReply {
  data: unknown;
  headers: Record<string, unknown>;
}

const socketsMax = 8;
const answerMaxBytes = 5 * 1024 * 1024;
const getRetries = 2;
const failuresInARow = 5;
const unsentCodes = new Set(['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN', 'EHOSTUNREACH', 'ENETUNREACH']);

/**
 * Requests to a tracker, bounded in time, size and number. GETs are tried again; what writes is sent once. A tracker that
 * failed several times in a row is left alone for a while. Throws `TrackerError` alone.
 */
export class TrackerTransport {
  readonly #http: AxiosInstance;
  readonly #options: TrackerTransportOptions;
  readonly #breaker;
  readonly #reading;
  #nextWriteAt = 0;

  constructor(options: TrackerTransportOptions) {
    const { url, credential, headers, breakMs, logger } = options;
    this.#options = options;
    this.#http = axios.create({
      baseURL: url,
      allowAbsoluteUrls: false,
      // A redirect, or a proxy of the environment, would carry the credential to wherever it points.
      maxRedirects: 0,
      proxy: false,
      maxContentLength: answerMaxBytes,
      httpAgent: new HttpAgent({ keepAlive: true, maxSockets: socketsMax }),
      httpsAgent: new HttpsAgent({ keepAlive: true, maxSockets: socketsMax }),
      headers: { Accept: 'application/json', 'User-Agent': 'tessera-issues', ...headers, ...credential },
      responseType: 'text',
      transformResponse: [],
      validateStatus: () => true,
    });
    const outages = handleType(
      TrackerError,
      ({ failure }) => failure === 'unavailable' || failure === 'timeout',
    );
    this.#breaker = circuitBreaker(outages, {
      halfOpenAfter: breakMs,
      breaker: new ConsecutiveBreaker(failuresInARow),
    });
    this.#breaker.onStateChange((state) => logger.warn({ state: CircuitState[state] }, 'tracker breaker'));
    const again = retry(
      handleType(TrackerError, ({ failure }) => failure === 'unavailable'),
      { maxAttempts: getRetries, backoff: new ExponentialBackoff({ initialDelay: 250, maxDelay: 2_000 }) },
    );
    this.#reading = wrap(again, this.#breaker);
  }

  async send(request: TrackerRequest): Promise<TrackerReply> {
    const isRead = request.method === 'GET';
    if (!isRead) await this.#waitForTurn(request.signal);
    const policy = isRead ? this.#reading : this.#breaker;
    try {
      return await policy.execute(() => this.#sendOnce(request), request.signal);
    } catch (error) {
      if (!isBrokenCircuitError(error)) throw error;
      const retryAfterSeconds = Math.ceil(this.#options.breakMs / 1000);
      throw new TrackerError('rate_limited', 'left alone after failures', {
        isUndone: true,
        retryAfterSeconds,
      });
    }
  }

  /** The same, its answer's body read by a schema: what does not fit is no answer of a tracker. */
  async read<Schema extends z.ZodType>(request: TrackerRequest, schema: Schema): Promise<z.output<Schema>> {
    const { data } = await this.send(request);
    return parseAnswer(data, schema);
  }

  async #sendOnce({ method, path, names, query, body, signal }: TrackerRequest): Promise<TrackerReply> {
    let response: AxiosResponse<string>;
    try {
      response = await this.#http.request<string>({
        method,
        url: path,
        ...(query === undefined ? {} : { params: query }),
        ...(body === undefined ? {} : { data: body }),
        signal: AbortSignal.any([signal, AbortSignal.timeout(this.#options.timeoutMs)]),
      });
    } catch (error) {
      throw describeFailure(error);
    }
    const { status, headers } = response;
    if (status >= 500 || isRateLimit(response)) {
      const isAsked = status < 500 || headers['retry-after'] !== undefined;
      throw new TrackerError(isAsked ? 'rate_limited' : 'unavailable', `answered ${status}`, {
        isUndone: status < 500,
        ...(isAsked ? { retryAfterSeconds: retryAfterOf(headers) } : {}),
      });
    }
    const data = readJson(response.data);
    if (status >= 300) throw refusalOf(status, headers, data, names);
    if (data === notJson)
      throw new TrackerError('unavailable', `answered ${status} with something else than JSON`);
    return { data, headers };
  }

  // Trackers that bound how fast content may be created block who does not keep to it.
  async #waitForTurn(signal: AbortSignal): Promise<void> {
    const now = performance.now();
    const turn = Math.max(now, this.#nextWriteAt);
    this.#nextWriteAt = turn + this.#options.writeIntervalMs;
    if (turn > now) await pause(turn - now, signal);
  }
}

const notJson = Symbol('not JSON');

function readJson(text: string): unknown {
  if (text === '') return undefined;
  try {
    return JSON.parse(text);
  } catch {
    return notJson;
  }
}

/** An answer's body in the shape that it must have. */
export function parseAnswer<Schema extends z.ZodType>(data: unknown, schema: Schema): z.output<Schema> {
  const result = schema.safeParse(data);
  if (result.success) return result.data;
  const [issue] = result.error.issues;
  throw new TrackerError('unavailable', `an answer without ${issue?.path.join('.') || 'its shape'}`);
}

function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const stop = () => {
      clearTimeout(timer);
      reject(new TrackerError('timeout', 'waited for its turn', { isUndone: true }));
    };
    const timer = setTimeout(() => {
      signal.removeEventListener('abort', stop);
      resolve();
    }, ms);
    if (signal.aborted) stop();
    else signal.addEventListener('abort', stop, { once: true });
  });
}

// axios' error holds the request, with its credential and its body: only its code goes on.
function describeFailure(error: unknown): TrackerError {
  if (!axios.isAxiosError(error)) return new TrackerError('unavailable', 'no answer');
  const { code = 'no answer' } = error;
  if (code === 'ERR_CANCELED' || code === 'ETIMEDOUT' || code === 'ECONNABORTED') {
    return new TrackerError('timeout', code);
  }
  return new TrackerError('unavailable', code, { isUndone: unsentCodes.has(code) });
}
