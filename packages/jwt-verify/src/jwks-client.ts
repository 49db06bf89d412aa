import axios, { type AxiosInstance, type AxiosResponse } from 'axios';
import { type JwkSetKeys, parseJwkSet } from './jwk-set.ts';

export interface JwksClientOptions {
  /** Absolute, http or https, without credentials. From configuration, never from a token. */
  jwksUri: string;
  /** Bound on one fetch from look-up to last byte, in milliseconds. */
  timeoutMs: number;
}

/** What one fetch brought; `keySet` is absent when the server says that nothing changed (304). */
export interface JwksAnswer {
  keySet: JwkSetKeys | undefined;
  etag: string | undefined;
  /** How long the answer is fresh, in seconds. */
  maxAgeSeconds: number;
}

// A set of a dozen large keys stays below 10 KiB.
const maxAnswerBytes = 64 * 1024;
const defaultMaxAgeSeconds = 300;

/** Fetches a key set over HTTP: no redirects, bounded in time and size. */
export class JwksClient {
  readonly #options: JwksClientOptions;
  readonly #http: AxiosInstance;

  /** Throws `TypeError` for a URI that cannot be the configured one of a key set. */
  constructor(options: JwksClientOptions) {
    const { protocol, username, password } = new URL(options.jwksUri);
    if (!/^https?:$/.test(protocol) || username !== '' || password !== '') {
      throw new TypeError('jwksUri must be an http or https URL without credentials');
    }
    this.#options = options;
    this.#http = axios.create({
      // The answer decides whom we trust, so it comes from the configured place and not by way of another.
      maxRedirects: 0,
      proxy: false,
      // Nothing to unpack, so that the bound holds for what arrives as for what is kept.
      decompress: false,
      maxContentLength: maxAnswerBytes,
      responseType: 'text',
      headers: { Accept: 'application/json, application/jwk-set+json', 'Accept-Encoding': 'identity' },
      validateStatus: (status) => status === 200 || status === 304,
    });
  }

  /** Throws an `Error` whose message says why, fit for a log. */
  async fetch(knownEtag: string | undefined): Promise<JwksAnswer> {
    const response = await this.#get(knownEtag === undefined ? {} : { 'If-None-Match': knownEtag });
    if (response.status === 304 && knownEtag === undefined)
      throw new Error('not modified, but nothing is known');
    return {
      keySet: response.status === 304 ? undefined : parseJwkSet(response.data),
      etag: textOf(response.headers.etag) ?? (response.status === 304 ? knownEtag : undefined),
      maxAgeSeconds: maxAgeOf(textOf(response.headers['cache-control']), textOf(response.headers.age)),
    };
  }

  async #get(headers: Record<string, string>): Promise<AxiosResponse<string>> {
    const { jwksUri, timeoutMs } = this.#options;
    try {
      return await this.#http.get<string>(jwksUri, { headers, signal: AbortSignal.timeout(timeoutMs) });
    } catch (error) {
      throw new Error(reasonOf(error, timeoutMs));
    }
  }
}

function reasonOf(error: unknown, timeoutMs: number): string {
  if (axios.isCancel(error)) return `no answer within ${timeoutMs} ms`;
  // Node's error for a host with several addresses has a code and no message.
  if (axios.isAxiosError(error)) return error.message === '' ? (error.code ?? 'unknown') : error.message;
  return String(error);
}

// RFC 9111 4.2. Between ten seconds and a day: neither a slip upstream nor a cache decides how often keys are fetched.
function maxAgeOf(cacheControl = '', age = '0'): number {
  const directives = cacheControl.toLowerCase();
  const given = /(?:^|[\s,])max-age="?(\d{1,9})/.exec(directives)?.[1] ?? String(defaultMaxAgeSeconds);
  const seconds = /\bno-(?:store|cache)\b/.test(directives)
    ? 0
    : Number(given) - (Number.parseInt(age, 10) || 0);
  return Math.min(86_400, Math.max(10, seconds));
}

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined;
}
