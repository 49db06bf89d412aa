import { tokenResponseSchema } from '@tessera/contracts';
import type { RequestOrigin } from '@tessera/service-kit';
import axios, { type AxiosInstance, type AxiosResponse } from 'axios';
import { z } from 'zod';
import {
  identityAnswerInvalid,
  identityUnavailable,
  OutageError,
} from '../identity-mirror/identity-problem.ts';

/** Tokens of identity, with the end of the refresh token. */
export interface TokenPair {
  accessToken: string;
  refreshToken: string;
  accessSeconds: number;
  refreshExpiresAt: Date;
}

/** Identity refuses the refresh token: its session has ended. */
export class RefreshRefusedError extends Error {
  override readonly name = 'RefreshRefusedError';
}

/**
 * Timeout of a request. Longer than that of look-ups, because identity queues password comparisons for up to 5 s, and
 * because a refresh whose response is lost ends the session.
 */
const timeoutMs = 10_000;
const maxResponseBytes = 64 * 1024;
const claimsSchema = z.object({ exp: z.int().positive() });
const unsentCodes = new Set(['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN', 'EHOSTUNREACH', 'ENETUNREACH']);

/**
 * Sends requests to identity's token endpoints with the browser's address and user agent, which identity uses for its limits
 * and shows in its list of sessions. Sends no service token.
 */
export class TokenTransport {
  readonly #http: AxiosInstance;

  constructor({ url }: { url: string }) {
    this.#http = axios.create({
      baseURL: url,
      allowAbsoluteUrls: false,
      maxRedirects: 0,
      proxy: false,
      maxContentLength: maxResponseBytes,
      headers: { Accept: 'application/json' },
      validateStatus: () => true,
    });
  }

  /** Sends a body as JSON, or as a form if it is `URLSearchParams`. Throws 503 `identity_unavailable`. */
  async post(
    url: string,
    body: object,
    { ip, userAgent, requestId }: RequestOrigin,
    headers: Record<string, string> = {},
  ): Promise<AxiosResponse<unknown>> {
    let response: AxiosResponse<unknown>;
    try {
      response = await this.#http.post(url, body, {
        headers: {
          'X-Request-Id': requestId,
          ...(ip === '' ? {} : { 'X-Forwarded-For': ip }),
          'User-Agent': userAgent ?? 'unknown',
          ...headers,
        },
        signal: AbortSignal.timeout(timeoutMs),
      });
    } catch (error) {
      // The axios error contains the request with its credentials. Only its code is kept.
      const code = axios.isAxiosError(error) ? (error.code ?? 'no response') : 'no response';
      throw identityUnavailable(new OutageError(code, { isUnsent: unsentCodes.has(code) }));
    }
    if (response.status >= 500) throw identityUnavailable(outageOf(response));
    return response;
  }
}

/** Reads the tokens of a response. Throws 502 if there are none. */
export function parseTokens(data: unknown): TokenPair {
  const parsed = tokenResponseSchema.safeParse(data);
  const claims = claimsSchema.safeParse(
    parsed.success ? unverifiedClaims(parsed.data.refresh_token) : undefined,
  );
  if (!parsed.success || !claims.success) throw identityAnswerInvalid('no tokens');
  return {
    accessToken: parsed.data.access_token,
    refreshToken: parsed.data.refresh_token,
    accessSeconds: parsed.data.expires_in,
    refreshExpiresAt: new Date(claims.data.exp * 1000),
  };
}

// Only identity verifies refresh tokens. The expiry decides only how long the session's row is kept.
function unverifiedClaims(token: string): unknown {
  try {
    return JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString());
  } catch {
    return undefined;
  }
}

export function outageOf({ status, headers }: AxiosResponse<unknown>): OutageError {
  return new OutageError(`responded ${status}`, {
    retryAfterSeconds: secondsOf(headers['retry-after'], 60, 5),
  });
}

/** Reads `Retry-After`, from 1 to `max`. */
export function secondsOf(value: unknown, max: number, otherwise: number): number {
  const seconds = /^\d{1,6}$/.test(String(value)) ? Number(value) : otherwise;
  return Math.min(Math.max(seconds, 1), max);
}
