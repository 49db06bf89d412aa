import { internalPaths, type RequestOf, type RequestParts, requestLine } from '@tessera/contracts/requests';
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

export interface IdentityTransportOptions {
  /** Identity's origin, from configuration; the service token goes nowhere else. */
  url: string;
  serviceToken: string;
  /** Used if identity rejects the other one, so that a rotation may start on either side. */
  previousServiceToken?: string | undefined;
  /** Timeout of one request in milliseconds, including the connection and the whole response. */
  timeoutMs: number;
  /** How long the circuit breaker stays open, in milliseconds. Default 5,000. */
  breakMs?: number;
  logger: Logger;
  tracing?: Tracing | undefined;
}

type InternalId = keyof typeof internalPaths;

export interface IdentityCallOptions {
  /** Whether a 429 limits the person of this request. Otherwise a 429 counts as an outage of identity. */
  isLimitedByPerson?: boolean;
  /** Whether the response is a list, which has a larger size limit. */
  isList?: boolean;
  /** Whether the request is repeated every second. It is not traced. */
  isPoll?: boolean;
  /** Correlates the logs of both services. */
  requestId?: string | undefined;
}

interface IdentityCall extends IdentityCallOptions {
  method: string;
  path: string;
  body: unknown;
}

/** A response, and the time of its request and its arrival by our clock. */
export interface IdentityReply {
  status: number;
  data: unknown;
  /** The header `Retry-After`. */
  retryAfter: string | undefined;
  askedAt: Date;
  answeredAt: Date;
}

/** `open`: requests fail at once; `half_open`: one request tests whether identity responds again. */
export type BreakerState = 'closed' | 'half_open' | 'open';

const maxConcurrentCalls = 8;
const maxQueuedCalls = 256;
// Identity hashes the passwords of a password change, which takes tenths of a second.
const maxConcurrentHashes = 4;
const maxQueuedHashes = 16;
const maxResponseBytes = 256 * 1024;
const maxListBytes = 1024 * 1024;
const maxGetRetries = 2;
const failuresToOpen = 5;
const rejectionLogIntervalMs = 60_000;

const unsentCodes = new Set(['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN', 'EHOSTUNREACH', 'ENETUNREACH']);
const timeoutCodes = new Set(['ECONNABORTED', 'ETIMEDOUT', 'ERR_CANCELED']);
const transientStatuses = new Set([502, 503, 504]);

/**
 * Sends requests to identity with a timeout, a size limit, a concurrency limit and a circuit breaker. Retries GETs with
 * backoff and jitter, and other requests only if identity rejected the service token. Throws 503 `identity_unavailable`
 * and 502 `identity_credentials_rejected`.
 */
export class IdentityTransport {
  readonly #http: AxiosInstance;
  readonly #timeoutMs: number;
  readonly #logger: Logger;
  readonly #tracing: Tracing | undefined;
  readonly #bulkhead = bulkhead(maxConcurrentCalls, maxQueuedCalls);
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
      // A redirect or a proxy from the environment would send the service token to another server.
      maxRedirects: 0,
      proxy: false,
      maxContentLength: maxResponseBytes,
      headers: { Accept: 'application/json' },
      validateStatus: () => true,
    });
    this.#breaker = circuitBreaker(handleType(OutageError), {
      halfOpenAfter: breakMs,
      breaker: new ConsecutiveBreaker(failuresToOpen),
    });
    this.#breaker.onStateChange((state) =>
      logger.warn({ state: CircuitState[state] }, 'identity circuit breaker changed state'),
    );
    const retries = retry(
      handleType(OutageError, (error) => error.isTransient),
      { maxAttempts: maxGetRetries, backoff: new ExponentialBackoff({ initialDelay: 100, maxDelay: 1_000 }) },
    );
    this.#policies = {
      get: wrap(this.#bulkhead, retries, this.#breaker),
      write: wrap(this.#bulkhead, this.#breaker),
      // With calls of their own, so that people who change passwords do not delay lookups.
      hash: wrap(bulkhead(maxConcurrentHashes, maxQueuedHashes), this.#breaker),
    };
  }

  get breakerState(): BreakerState {
    if (this.#breaker.state === CircuitState.Closed) return 'closed';
    return this.#breaker.state === CircuitState.HalfOpen ? 'half_open' : 'open';
  }

  send<Id extends InternalId>(id: Id, request: RequestOf<Id> & IdentityCallOptions): Promise<IdentityReply>;
  async send(
    id: InternalId,
    { params, query, body, ...options }: RequestParts & { body?: unknown } & IdentityCallOptions,
  ): Promise<IdentityReply> {
    const call = { ...requestLine(internalPaths[id], { params, query }), body, ...options };
    let reply: IdentityReply;
    try {
      reply = await this.#policyOf(call).execute(() =>
        this.#serviceTokens.send((token) => this.#sendTraced(call, token)),
      );
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

  #policyOf({ method, isLimitedByPerson }: IdentityCall) {
    if (isLimitedByPerson === true) return this.#policies.hash;
    return method === 'GET' ? this.#policies.get : this.#policies.write;
  }

  #sendTraced(call: IdentityCall, serviceToken: string): Promise<IdentityReply> {
    if (this.#tracing === undefined || call.isPoll) return this.#sendOnce(call, serviceToken);
    const attributes = { 'http.request.method': call.method, 'peer.service': 'identity' };
    return this.#tracing.traceCall(`${call.method} identity`, attributes, (headers) =>
      this.#sendOnce(call, serviceToken, headers),
    );
  }

  async #sendOnce(
    { method, path, body, isList, isLimitedByPerson, requestId }: IdentityCall,
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
        ...(isList ? { maxContentLength: maxListBytes } : {}),
        // The `timeout` of axios measures inactivity, so it does not bound a slow response.
        signal: AbortSignal.timeout(this.#timeoutMs),
      });
    } catch (error) {
      throw toOutageError(error);
    }
    const { status, data } = response;
    const retryAfter = response.headers['retry-after']?.toString();
    if (status >= 500 || (status === 429 && !isLimitedByPerson)) {
      const retryAfterSeconds = boundedSeconds(retryAfter);
      throw new OutageError(`responded ${status}`, {
        isTransient: transientStatuses.has(status),
        retryAfterSeconds,
      });
    }
    return { status, data, retryAfter, askedAt, answeredAt: new Date() };
  }

  // Every request fails until an operator fixes the token, so this logs at most once a minute.
  #logRejection(status: number): void {
    const now = performance.now();
    if (now - this.#rejectionLoggedAt <= rejectionLogIntervalMs) return;
    this.#rejectionLoggedAt = now;
    this.#logger.error({ status }, 'identity rejects our service token: check SERVICE_TOKEN on both sides');
  }
}

/** The current and, during a rotation, the previous service token. Sends the one that identity accepted last. */
class ServiceTokens {
  readonly #logger: Logger;
  readonly #values: readonly { variable: string; token: string }[];
  #accepted: string;

  constructor({ serviceToken, previousServiceToken = serviceToken, logger }: IdentityTransportOptions) {
    this.#logger = logger;
    this.#accepted = serviceToken;
    this.#values = [
      { variable: 'SERVICE_TOKEN', token: serviceToken },
      { variable: 'SERVICE_TOKEN_PREVIOUS', token: previousServiceToken },
    ];
  }

  /**
   * Sends a request. After a 403, sends it again with the other token: identity checks the token before it processes
   * the request (docs/spec/identity-service.md 5.1), so the first request had no effect.
   */
  async send<Reply extends { status: number }>(request: (token: string) => Promise<Reply>): Promise<Reply> {
    const first = this.#accepted;
    const reply = await request(first);
    const other = this.#values.find(({ token }) => token !== first);
    if (reply.status !== 403 || other === undefined) return reply;
    const second = await request(other.token);
    if (second.status !== 401 && second.status !== 403 && this.#accepted !== other.token) {
      this.#accepted = other.token;
      this.#logger.warn(
        { variable: other.variable },
        'identity accepts our other service token; using it from now on',
      );
    }
    return second;
  }
}

// The axios error contains the request with its credentials and its body. Only its code is kept.
function toOutageError(error: unknown): Error {
  if (!axios.isAxiosError(error)) return new OutageError('no response');
  const { code = 'no response', message } = error;
  if (message.startsWith('maxContentLength')) return identityAnswerInvalid('response too large');
  return new OutageError(code, { isUnsent: unsentCodes.has(code), isTransient: !timeoutCodes.has(code) });
}

function boundedSeconds(retryAfter: unknown): number {
  const given = typeof retryAfter === 'string' && /^\d{1,6}$/.test(retryAfter) ? Number(retryAfter) : 5;
  return Math.min(60, Math.max(1, given));
}
