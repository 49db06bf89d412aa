import type { Logger, Tracing } from '@tessera/service-kit';
import axios, { type AxiosInstance, type AxiosResponse } from 'axios';
import {
  bulkhead,
  CircuitState,
  ConsecutiveBreaker,
  circuitBreaker,
  ExponentialBackoff,
  handleType,
  isBrokenCircuitError,
  isBulkheadRejectedError,
  retry,
  wrap,
} from 'cockatiel';
import {
  identityAnswerInvalid,
  identityCredentialsRejected,
  identityUnavailable,
  OutageError,
} from './identity-problem.ts';
import { ServiceTokens } from './service-tokens.ts';

export interface IdentityTransportOptions {
  /** Identity's origin, from configuration; the service token goes nowhere else. */
  url: string;
  serviceToken: string;
  /** Tried once where identity refuses the other, so that a rotation may begin on either side. */
  previousServiceToken?: string | undefined;
  /** Bound on one request, its connection and its whole answer included, in milliseconds. */
  timeoutMs: number;
  /** How long identity is left alone after it failed several times in a row, in milliseconds. Default 5,000. */
  breakMs?: number;
  logger: Logger;
  tracing?: Tracing | undefined;
}

export interface IdentityCall {
  method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  path: string;
  body?: object;
  /** Joins the logs of both services; identity makes one of its own where there is none. */
  requestId?: string | undefined;
}

/** An answer, and between which moments of our clock it became true. */
export interface IdentityReply {
  status: number;
  data: unknown;
  askedAt: Date;
  answeredAt: Date;
}

/** `open`: identity is left alone for a while; `half_open`: one request tries whether it is back. */
export type BreakerState = 'closed' | 'half_open' | 'open';

const concurrentCalls = 8;
const waitingCalls = 64;
const maxAnswerBytes = 256 * 1024;
const getRetries = 2;
const failuresInARow = 5;
const rejectionLogIntervalMs = 60_000;

const unsentCodes = new Set(['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN', 'EHOSTUNREACH', 'ENETUNREACH']);
const timeoutCodes = new Set(['ECONNABORTED', 'ETIMEDOUT', 'ERR_CANCELED']);
const briefStatuses = new Set([502, 503, 504]);

/**
 * Requests to identity, bounded in time, size and number. GETs are tried again, a little later and never at the same
 * moment as everybody's; nothing else is sent twice, unless identity has refused its service token. Throws 503
 * `identity_unavailable`, 502 `identity_credentials_rejected`.
 */
export class IdentityTransport {
  readonly #http: AxiosInstance;
  readonly #timeoutMs: number;
  readonly #logger: Logger;
  readonly #tracing: Tracing | undefined;
  readonly #bulkhead = bulkhead(concurrentCalls, waitingCalls);
  readonly #breaker;
  readonly #policies;
  readonly #serviceTokens: ServiceTokens;
  #rejectionLoggedAt = Number.NEGATIVE_INFINITY;

  constructor(options: IdentityTransportOptions) {
    const { url, timeoutMs, breakMs = 5_000, logger } = options;
    this.#serviceTokens = new ServiceTokens(options);
    this.#logger = logger;
    this.#tracing = options.tracing;
    this.#timeoutMs = timeoutMs;
    this.#http = axios.create({
      baseURL: url,
      allowAbsoluteUrls: false,
      // A redirect, or a proxy of the environment, would carry the service token to wherever it points.
      maxRedirects: 0,
      proxy: false,
      maxContentLength: maxAnswerBytes,
      headers: { Accept: 'application/json' },
      validateStatus: () => true,
    });
    this.#breaker = circuitBreaker(handleType(OutageError), {
      halfOpenAfter: breakMs,
      breaker: new ConsecutiveBreaker(failuresInARow),
    });
    this.#breaker.onStateChange((state) => logger.warn({ state: CircuitState[state] }, 'identity breaker'));
    const again = retry(
      handleType(OutageError, (error) => error.isBrief),
      { maxAttempts: getRetries, backoff: new ExponentialBackoff({ initialDelay: 100, maxDelay: 1_000 }) },
    );
    this.#policies = {
      get: wrap(this.#bulkhead, again, this.#breaker),
      change: wrap(this.#bulkhead, this.#breaker),
    };
  }

  get breakerState(): BreakerState {
    if (this.#breaker.state === CircuitState.Closed) return 'closed';
    return this.#breaker.state === CircuitState.HalfOpen ? 'half_open' : 'open';
  }

  async send(call: IdentityCall): Promise<IdentityReply> {
    const policy = call.method === 'GET' ? this.#policies.get : this.#policies.change;
    let reply: IdentityReply;
    try {
      reply = await policy.execute(() => this.#serviceTokens.send((token) => this.#sendTraced(call, token)));
    } catch (error) {
      if (error instanceof OutageError) throw identityUnavailable(error);
      if (isBrokenCircuitError(error) || isBulkheadRejectedError(error))
        throw identityUnavailable(new OutageError(error.message, { isUnsent: true }));
      throw error;
    }
    if (reply.status === 401 || reply.status === 403) {
      this.#logRejection(reply.status);
      throw identityCredentialsRejected(reply.status);
    }
    return reply;
  }

  #sendTraced(call: IdentityCall, serviceToken: string): Promise<IdentityReply> {
    if (this.#tracing === undefined) return this.#sendOnce(call, serviceToken);
    const attributes = { 'http.request.method': call.method, 'peer.service': 'identity' };
    return this.#tracing.traceCall(`${call.method} identity`, attributes, (headers) =>
      this.#sendOnce(call, serviceToken, headers),
    );
  }

  async #sendOnce(
    { method, path, body, requestId }: IdentityCall,
    serviceToken: string,
    traceHeaders: Record<string, string> = {},
  ): Promise<IdentityReply> {
    const askedAt = new Date();
    let response: AxiosResponse<unknown>;
    try {
      response = await this.#http.request({
        method,
        url: path,
        headers: {
          ...traceHeaders,
          'X-Service-Token': serviceToken,
          ...(requestId === undefined ? {} : { 'X-Request-Id': requestId }),
        },
        ...(body === undefined ? {} : { data: body }),
        // axios' own timeout is of silence: an answer that comes in drops would never end.
        signal: AbortSignal.timeout(this.#timeoutMs),
      });
    } catch (error) {
      throw describeFailure(error);
    }
    const { status, data } = response;
    if (status >= 500 || status === 429) {
      const retryAfterSeconds = boundedSeconds(response.headers['retry-after']);
      throw new OutageError(`answered ${status}`, { isBrief: briefStatuses.has(status), retryAfterSeconds });
    }
    return { status, data, askedAt, answeredAt: new Date() };
  }

  // A wrong token does not heal by itself, and everybody who asks would log it: once a minute is loud enough.
  #logRejection(status: number): void {
    const now = performance.now();
    if (now - this.#rejectionLoggedAt <= rejectionLogIntervalMs) return;
    this.#rejectionLoggedAt = now;
    this.#logger.error({ status }, 'identity refuses our service token: check SERVICE_TOKEN on both sides');
  }
}

// axios' error holds the request, with its credentials and its body: only its code goes on.
function describeFailure(error: unknown): Error {
  if (!axios.isAxiosError(error)) return new OutageError('no answer');
  const { code = 'no answer', message } = error;
  if (message.startsWith('maxContentLength')) return identityAnswerInvalid('an answer of too many bytes');
  return new OutageError(code, { isUnsent: unsentCodes.has(code), isBrief: !timeoutCodes.has(code) });
}

function boundedSeconds(retryAfter: unknown): number {
  const given = typeof retryAfter === 'string' && /^\d{1,6}$/.test(retryAfter) ? Number(retryAfter) : 5;
  return Math.min(60, Math.max(1, given));
}
