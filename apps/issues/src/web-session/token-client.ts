import {
  refreshTokens,
  revokeToken,
  signIn,
  type TokenResponse,
  tokenResponseSchema,
} from '@tessera/contracts';
import { ProblemError, type RequestOrigin, validationProblem } from '@tessera/service-kit';
import axios, { type AxiosInstance, type AxiosResponse } from 'axios';
import { bulkhead, isBulkheadRejectedError } from 'cockatiel';
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

export interface SignInCredentials {
  email: string;
  password: string;
  /** Replaces a temporary password. */
  new_password?: string | undefined;
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
const maxConcurrent = 32;
const maxQueued = 128;

const problemSchema = z.object({
  detail: z.string().max(300),
  code: z.enum(['invalid_grant', 'password_change_required', 'password_expired']).catch('invalid_grant'),
});
const refusedPasswordSchema = z.object({
  errors: z.tuple([z.object({ field: z.literal('new_password'), message: z.string().max(300) })]),
});
const claimsSchema = z.object({ exp: z.int().positive() });
const unsentCodes = new Set(['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN', 'EHOSTUNREACH', 'ENETUNREACH']);

/**
 * Client of identity's token endpoints (docs/spec/identity-service.md 4.1). Sends the browser's address and user agent, which
 * identity uses for its limits and shows in its list of sessions. Sends no service token.
 */
export class TokenClient {
  readonly #http: AxiosInstance;
  // Sign-ins are slow, so refreshes do not queue behind them.
  readonly #signIns = bulkhead(maxConcurrent, maxQueued);
  readonly #refreshes = bulkhead(maxConcurrent, maxQueued);

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

  /**
   * Signs in. Throws 401 `invalid_grant`, `password_change_required` and `password_expired`, 422 `validation_failed`, 429
   * `too_many_requests` and 503 `identity_unavailable`.
   */
  async signIn(credentials: SignInCredentials, browser: RequestOrigin): Promise<TokenPair> {
    const body = { grant_type: 'password', ...credentials };
    const response = await this.#signIns
      .execute(() => this.#post(signIn.path, body, browser))
      .catch((error: unknown) => {
        throw isBulkheadRejectedError(error) ? identityUnavailable(new OutageError(error.message)) : error;
      });
    return response.status === 200 ? parseTokens(response.data) : refuseSignIn(response);
  }

  /** Exchanges a refresh token. Throws `RefreshRefusedError`, or a problem if identity is unavailable. */
  async refresh(refreshToken: string, browser: RequestOrigin): Promise<TokenPair> {
    const response = await this.#refreshes.execute(() =>
      this.#post(refreshTokens.path, { refresh_token: refreshToken }, browser),
    );
    const { status, data } = response;
    if (status === 200) return parseTokens(data);
    // RFC 6749 5.2 specifies 400; docs/spec/identity-service.md 7 specifies 401.
    if (status === 401 || status === 400) throw new RefreshRefusedError(`identity responded ${status}`);
    throw status === 429
      ? identityUnavailable(outageOf(response))
      : identityAnswerInvalid(`responded ${status}`);
  }

  /** Ends the session of a refresh token (RFC 7009). Throws a problem if identity did not confirm it. */
  async revoke(refreshToken: string, browser: RequestOrigin): Promise<void> {
    const { status } = await this.#refreshes.execute(() =>
      this.#post(revokeToken.path, { token: refreshToken }, browser),
    );
    if (status !== 200) throw identityAnswerInvalid(`responded ${status}`);
  }

  async #post(
    url: string,
    body: object,
    { ip, userAgent, requestId }: RequestOrigin,
  ): Promise<AxiosResponse<unknown>> {
    let response: AxiosResponse<unknown>;
    try {
      response = await this.#http.post(url, body, {
        headers: {
          'X-Request-Id': requestId,
          ...(ip === '' ? {} : { 'X-Forwarded-For': ip }),
          'User-Agent': userAgent ?? 'unknown',
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

function refuseSignIn({ status, data, headers }: AxiosResponse<unknown>): never {
  const { detail, code = 'invalid_grant' } = problemSchema.safeParse(data).data ?? {};
  if (status === 401 && detail !== undefined) throw new ProblemError({ status, code, detail });
  if (status === 429 && detail !== undefined) {
    const retryAfter = String(secondsOf(headers['retry-after'], 86_400, 60));
    throw new ProblemError({
      status,
      code: 'too_many_requests',
      detail,
      headers: { 'Retry-After': retryAfter },
    });
  }
  if (status === 422) {
    const errors = refusedPasswordSchema.safeParse(data).data?.errors;
    throw validationProblem(errors ?? [{ field: 'body', message: 'is refused by the identity service' }]);
  }
  throw identityAnswerInvalid(`responded ${status}`);
}

function parseTokens(data: unknown): TokenPair {
  const parsed = tokenResponseSchema.safeParse(data);
  const claims = claimsSchema.safeParse(parsed.success ? unverifiedClaims(parsed.data) : undefined);
  if (!parsed.success || !claims.success) throw identityAnswerInvalid('no tokens');
  return {
    accessToken: parsed.data.access_token,
    refreshToken: parsed.data.refresh_token,
    accessSeconds: parsed.data.expires_in,
    refreshExpiresAt: new Date(claims.data.exp * 1000),
  };
}

// Only identity verifies refresh tokens. The expiry decides only how long the session's row is kept.
function unverifiedClaims({ refresh_token: token }: TokenResponse): unknown {
  try {
    return JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString());
  } catch {
    return undefined;
  }
}

function outageOf({ status, headers }: AxiosResponse<unknown>): OutageError {
  return new OutageError(`responded ${status}`, {
    retryAfterSeconds: secondsOf(headers['retry-after'], 60, 5),
  });
}

function secondsOf(value: unknown, max: number, otherwise: number): number {
  const seconds = /^\d{1,6}$/.test(String(value)) ? Number(value) : otherwise;
  return Math.min(Math.max(seconds, 1), max);
}
