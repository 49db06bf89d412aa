import { createPublicKey, type KeyObject } from 'node:crypto';
import axios, { type AxiosInstance } from 'axios';
import { z } from 'zod';
import { KeysUnavailableError } from './errors.ts';
import type { KeySource } from './key-source.ts';

export interface RemoteKeySourceOptions {
  /** From configuration, never from a token. */
  jwksUri: string;
  /** Bound on one fetch, in milliseconds. Default 2,000. */
  timeoutMs?: number;
  /** Least time between two fetches that an unknown kid asks for, in seconds. Default 30. */
  cooldownSeconds?: number;
  /** How long keys are used while none can be fetched, in seconds. Default 24 hours. */
  staleIfErrorSeconds?: number;
  /** Told of every fetch, for logs and metrics. */
  onFetch?: (event: {
    outcome: 'fetched' | 'not_modified' | 'failed';
    kids?: string[];
    reason?: string;
  }) => void;
  /** Now, in milliseconds, on any clock that does not run backwards. */
  now?: () => number;
}

interface KeySet {
  keys: ReadonlyMap<string, KeyObject>;
  etag: string | undefined;
  fetchedAt: number;
  maxAgeMs: number;
}

/** How the source stands, for readiness: not ready before the first fetch succeeded. */
export interface KeySourceStatus {
  ready: boolean;
  /** Milliseconds since the keys were last confirmed. */
  ageMs: number | undefined;
}

const maxAnswerBytes = 256 * 1024;
const defaultMaxAgeSeconds = 300;
const failureCooldownMs = 1_000;

// Members beyond these are dropped, so that a private key published by mistake is never held.
const publicRsaKey = z.object({
  kty: z.literal('RSA'),
  kid: z.string().min(1).max(200),
  n: z.string().regex(/^[A-Za-z0-9_-]+$/),
  e: z.string().regex(/^[A-Za-z0-9_-]+$/),
  use: z.literal('sig').optional(),
  alg: z.literal('RS256').optional(),
});
const keySetSchema = z.object({ keys: z.array(z.unknown()).max(100) });

/**
 * The key set of identity over HTTP (identity-service.md 2.7). Fresh for its `Cache-Control: max-age`, renewed in the
 * background, one fetch in flight for all waiters; used on while identity is down. An unknown kid fetches once a
 * cooldown, so that made-up kids cannot become a storm of requests.
 */
export class RemoteKeySource implements KeySource {
  readonly #options: Required<
    Pick<RemoteKeySourceOptions, 'cooldownSeconds' | 'staleIfErrorSeconds' | 'now'>
  > &
    RemoteKeySourceOptions;
  readonly #http: AxiosInstance;
  #current: KeySet | undefined;
  #inFlight: Promise<void> | undefined;
  #lastAttemptAt = Number.NEGATIVE_INFINITY;
  #lastAttemptFailed = false;

  constructor(options: RemoteKeySourceOptions) {
    this.#options = {
      cooldownSeconds: 30,
      staleIfErrorSeconds: 86_400,
      now: () => performance.now(),
      ...options,
    };
    this.#http = axios.create({
      timeout: options.timeoutMs ?? 2_000,
      // The time-out of axios begins with the connection; this one covers all of it.
      maxRedirects: 0,
      maxContentLength: maxAnswerBytes,
      responseType: 'json',
      proxy: false,
      headers: { Accept: 'application/json' },
      validateStatus: (status) => status === 200 || status === 304,
    });
  }

  /** Fetches the keys once, for a start; a failure is no error here, as later requests try again. */
  async warmUp(): Promise<KeySourceStatus> {
    await this.#fetchOnce().catch(() => undefined);
    return this.status();
  }

  status(): KeySourceStatus {
    const ageMs = this.#current === undefined ? undefined : this.#options.now() - this.#current.fetchedAt;
    return { ready: this.#usable() !== undefined, ageMs };
  }

  find(kid: string): KeyObject | undefined | Promise<KeyObject | undefined> {
    const current = this.#usable();
    const key = current?.keys.get(kid);
    if (current === undefined || key === undefined) return this.#findAfterFetch(kid);
    // Requests never wait for a renewal: it runs beside them.
    if (this.#options.now() - current.fetchedAt > current.maxAgeMs && this.#mayFetch(failureCooldownMs)) {
      this.#fetchOnce().catch(() => undefined);
    }
    return key;
  }

  async #findAfterFetch(kid: string): Promise<KeyObject | undefined> {
    const known = this.#usable();
    const cooldownMs =
      known === undefined || this.#lastAttemptFailed
        ? failureCooldownMs
        : this.#options.cooldownSeconds * 1000;
    if (this.#inFlight !== undefined || this.#mayFetch(cooldownMs)) {
      await this.#fetchOnce().catch(() => undefined);
    }
    const current = this.#usable();
    if (current === undefined) throw new KeysUnavailableError('no key set could be fetched', 2);
    const key = current.keys.get(kid);
    // The kid may be newer than what we could fetch: as long as identity is down, nobody knows.
    if (key === undefined && this.#lastAttemptFailed) {
      throw new KeysUnavailableError('unknown kid, and the key set could not be fetched', 2);
    }
    return key;
  }

  #usable(): KeySet | undefined {
    const { now, staleIfErrorSeconds } = this.#options;
    const current = this.#current;
    if (current === undefined) return undefined;
    return now() - current.fetchedAt <= current.maxAgeMs + staleIfErrorSeconds * 1000 ? current : undefined;
  }

  #mayFetch(cooldownMs: number): boolean {
    return this.#options.now() - this.#lastAttemptAt >= cooldownMs;
  }

  #fetchOnce(): Promise<void> {
    this.#inFlight ??= this.#fetch().finally(() => {
      this.#inFlight = undefined;
    });
    return this.#inFlight;
  }

  async #fetch(): Promise<void> {
    const { jwksUri, onFetch, now, timeoutMs = 2_000 } = this.#options;
    this.#lastAttemptAt = now();
    try {
      const etag = this.#current?.etag;
      const response = await this.#http.get<unknown>(jwksUri, {
        signal: AbortSignal.timeout(timeoutMs),
        ...(etag === undefined ? {} : { headers: { 'If-None-Match': etag } }),
      });
      const maxAgeMs = maxAgeOf(response.headers['cache-control']) * 1000;
      if (response.status === 304 && this.#current !== undefined) {
        this.#current = { ...this.#current, fetchedAt: now(), maxAgeMs };
        onFetch?.({ outcome: 'not_modified' });
      } else {
        const keys = this.#keepSame(parseKeySet(response.data));
        this.#current = { keys, etag: headerText(response.headers.etag), fetchedAt: now(), maxAgeMs };
        onFetch?.({ outcome: 'fetched', kids: [...keys.keys()] });
      }
      this.#lastAttemptFailed = false;
    } catch (error) {
      this.#lastAttemptFailed = true;
      onFetch?.({
        outcome: 'failed',
        reason: axios.isAxiosError(error) ? (error.code ?? error.message) : String(error),
      });
      throw error;
    }
  }

  // A key that did not change stays the same object, which is what remembered signatures are compared by.
  #keepSame(keys: ReadonlyMap<string, KeyObject>): ReadonlyMap<string, KeyObject> {
    return new Map(
      [...keys].map(([kid, key]) => {
        const known = this.#current?.keys.get(kid);
        return [kid, known?.equals(key) === true ? known : key];
      }),
    );
  }
}

function parseKeySet(data: unknown): ReadonlyMap<string, KeyObject> {
  const keys = new Map<string, KeyObject>();
  for (const candidate of keySetSchema.parse(data).keys) {
    const parsed = publicRsaKey.safeParse(candidate);
    // RFC 7517 5: members of the set that are not understood are skipped.
    if (!parsed.success) continue;
    const { kid, n, e } = parsed.data;
    if (keys.has(kid)) throw new Error(`the key set has two keys ${kid}`);
    const key = createPublicKey({ key: { kty: 'RSA', n, e }, format: 'jwk' });
    if ((key.asymmetricKeyDetails?.modulusLength ?? 0) >= 2048) keys.set(kid, key);
  }
  if (keys.size === 0) throw new Error('the key set has no usable key');
  return keys;
}

// Between ten seconds and a day: neither a mistake upstream nor a hostile header decides how often keys are fetched.
function maxAgeOf(cacheControl: unknown): number {
  const given = /max-age=(\d{1,9})/.exec(headerText(cacheControl) ?? '')?.[1];
  return Math.min(86_400, Math.max(10, given === undefined ? defaultMaxAgeSeconds : Number(given)));
}

function headerText(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined;
}
