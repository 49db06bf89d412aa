import { refreshTokens, revokeToken, signIn } from '@tessera/contracts';
import { ProblemError, type RequestOrigin, validationProblem } from '@tessera/service-kit';
import type { AxiosResponse } from 'axios';
import { bulkhead, isBulkheadRejectedError } from 'cockatiel';
import { z } from 'zod';
import {
  identityAnswerInvalid,
  identityUnavailable,
  OutageError,
} from '../identity-mirror/identity-problem.ts';
import {
  outageOf,
  parseTokens,
  RefreshRefusedError,
  secondsOf,
  type TokenPair,
  type TokenTransport,
} from './token-transport.ts';

export interface SignInCredentials {
  email: string;
  password: string;
  /** Replaces a temporary password. */
  new_password?: string | undefined;
}

const maxConcurrent = 32;
const maxQueued = 128;

const problemSchema = z.object({
  detail: z.string().max(300),
  code: z.enum(['invalid_grant', 'password_change_required', 'password_expired']).catch('invalid_grant'),
});
const refusedPasswordSchema = z.object({
  errors: z.tuple([z.object({ field: z.literal('new_password'), message: z.string().max(300) })]),
});

/** Client of identity's token endpoints (docs/spec/identity-service.md 4.1), for sign-ins with the app's own form. */
export class TokenClient {
  readonly #transport: TokenTransport;
  // Sign-ins are slow, so refreshes do not queue behind them.
  readonly #signIns = bulkhead(maxConcurrent, maxQueued);
  readonly #refreshes = bulkhead(maxConcurrent, maxQueued);

  constructor(transport: TokenTransport) {
    this.#transport = transport;
  }

  /**
   * Signs in. Throws 401 `invalid_grant`, `password_change_required` and `password_expired`, 422 `validation_failed`, 429
   * `too_many_requests` and 503 `identity_unavailable`.
   */
  async signIn(credentials: SignInCredentials, browser: RequestOrigin): Promise<TokenPair> {
    const body = { grant_type: 'password', ...credentials };
    const response = await this.#signIns
      .execute(() => this.#transport.post(signIn.path, body, browser))
      .catch((error: unknown) => {
        throw isBulkheadRejectedError(error) ? identityUnavailable(new OutageError(error.message)) : error;
      });
    return response.status === 200 ? parseTokens(response.data) : refuseSignIn(response);
  }

  /** Exchanges a refresh token. Throws `RefreshRefusedError`, or a problem if identity is unavailable. */
  async refresh(refreshToken: string, browser: RequestOrigin): Promise<TokenPair> {
    const response = await this.#refreshes.execute(() =>
      this.#transport.post(refreshTokens.path, { refresh_token: refreshToken }, browser),
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
      this.#transport.post(revokeToken.path, { token: refreshToken }, browser),
    );
    if (status !== 200) throw identityAnswerInvalid(`responded ${status}`);
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
