import { Agent as HttpAgent } from 'node:http';
import { Agent as HttpsAgent } from 'node:https';
import axios, { type AxiosInstance, type AxiosResponse } from 'axios';
import { type JwkSetKeys, parseJwkSet } from './jwk-set.ts';

export interface JwksClientOptions {
  /** Absolute, http or https, without credentials. From configuration, never from a token. */
  jwksUri: string;
  /** Timeout of a fetch from DNS lookup to last byte, in milliseconds. */
  timeoutMs: number;
}

/** The result of a fetch; without `keySet` for a 304. */
export interface JwksResponse {
  keySet: JwkSetKeys | undefined;
  etag: string | undefined;
  /** How long the response is fresh, in seconds. */
  maxAgeSeconds: number;
}

// A set of a dozen large keys stays below 10 KiB.
const maxResponseBytes = 64 * 1024;
const defaultMaxAgeSeconds = 300;

/** Fetches a key set over HTTP, without redirects, with limits on time and size. */
export class JwksClient {
  readonly #options: JwksClientOptions;
  readonly #http: AxiosInstance;

  /** Throws `TypeError` for an invalid `jwksUri`. */
  constructor(options: JwksClientOptions) {
    const { protocol, username, password } = new URL(options.jwksUri);
    if (!/^https?:$/.test(protocol) || username !== '' || password !== '') {
      throw new TypeError('jwksUri must be an http or https URL without credentials');
    }
    this.#options = options;
    this.#http = axios.create({
      // The keys decide which tokens are trusted, so they come only from the configured URL.
      maxRedirects: 0,
      proxy: false,
      // A connection that is idle between fetches may be closed by the server just when the next fetch is sent.
      httpAgent: new HttpAgent({ keepAlive: false }),
      httpsAgent: new HttpsAgent({ keepAlive: false }),
      // Without compression, the size limit also applies to the parsed text.
      decompress: false,
      maxContentLength: maxResponseBytes,
      responseType: 'text',
      headers: { Accept: 'application/json, application/jwk-set+json', 'Accept-Encoding': 'identity' },
      validateStatus: (status) => status === 200 || status === 304,
    });
  }

  /** Throws an `Error` whose message states the reason and may be logged. */
  async fetch(knownEtag: string | undefined): Promise<JwksResponse> {
    const response = await this.#get(knownEtag === undefined ? {} : { 'If-None-Match': knownEtag });
    if (response.status === 304 && knownEtag === undefined)
      throw new Error('304 to an unconditional request');
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
  if (axios.isCancel(error)) return `no response within ${timeoutMs} ms`;
  // Node's error for a host with several addresses has a code but no message.
  if (axios.isAxiosError(error)) return error.message === '' ? (error.code ?? 'unknown') : error.message;
  return String(error);
}

// RFC 9111 4.2. At least ten seconds and at most a day, so that a wrong header causes neither a storm nor an outage.
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
