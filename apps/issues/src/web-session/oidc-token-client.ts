import type { RequestOrigin } from '@tessera/service-kit';
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
  type TokenPair,
  type TokenTransport,
} from './token-transport.ts';

/** The id and the secret of an OAuth client. */
export interface ClientCredentials {
  clientId: string;
  secret: string;
}

/** Where the credentials come from. */
export interface ClientCredentialsSource {
  /** Throws a problem if there are none. */
  current(requestId: string): Promise<ClientCredentials>;
  /** Identity has refused these credentials. Returns others, or undefined if there are none. */
  replace(refused: ClientCredentials, requestId: string): Promise<ClientCredentials | undefined>;
}

/** The tokens of a sign-in on identity's pages. */
export interface HostedTokens extends TokenPair {
  idToken: string;
  clientId: string;
}

interface AuthorizationCode {
  code: string;
  /** The code verifier of PKCE. */
  verifier: string;
  redirectUri: string;
}

/** Identity refuses the code: it has expired, or was used before. */
export class CodeRefusedError extends Error {
  override readonly name = 'CodeRefusedError';
}

const maxConcurrent = 32;
const maxQueued = 128;
const idTokenSchema = z.object({ id_token: z.string().min(1).max(8192) });

/**
 * Client of identity's endpoints of OpenID Connect, for sign-ins on identity's pages. Authenticates with the secret of the web
 * app's OAuth client (RFC 6749 2.3.1).
 */
export class OidcTokenClient {
  readonly #transport: TokenTransport;
  readonly #credentials: ClientCredentialsSource;
  readonly #calls = bulkhead(maxConcurrent, maxQueued);

  constructor(transport: TokenTransport, credentials: ClientCredentialsSource) {
    this.#transport = transport;
    this.#credentials = credentials;
  }

  /** Exchanges a code. Throws `CodeRefusedError`, or a problem if identity is unavailable. */
  async exchange(
    { code, verifier, redirectUri }: AuthorizationCode,
    browser: RequestOrigin,
  ): Promise<HostedTokens> {
    const { response, credentials } = await this.#post(
      '/oidc/token',
      { grant_type: 'authorization_code', code, code_verifier: verifier, redirect_uri: redirectUri },
      browser,
    );
    if (response.status === 400) throw new CodeRefusedError('identity responded 400');
    const tokens = tokensOf(response);
    const parsed = idTokenSchema.safeParse(response.data);
    if (!parsed.success) throw identityAnswerInvalid('no ID token');
    return { ...tokens, idToken: parsed.data.id_token, clientId: credentials.clientId };
  }

  /** Exchanges a refresh token. Throws `RefreshRefusedError`, or a problem if identity is unavailable. */
  async refresh(refreshToken: string, browser: RequestOrigin): Promise<TokenPair> {
    const parameters = { grant_type: 'refresh_token', refresh_token: refreshToken };
    const { response } = await this.#post('/oidc/token', parameters, browser);
    if (response.status === 400) throw new RefreshRefusedError('identity responded 400');
    return tokensOf(response);
  }

  /** Ends the session of a refresh token (RFC 7009). Throws a problem if identity did not confirm it. */
  async revoke(refreshToken: string, browser: RequestOrigin): Promise<void> {
    const parameters = { token: refreshToken, token_type_hint: 'refresh_token' };
    const { response } = await this.#post('/oidc/revoke', parameters, browser);
    if (response.status !== 200) throw identityAnswerInvalid(`responded ${response.status}`);
  }

  // Identity authenticates the client first, so a request with refused credentials has had no effect and may be repeated.
  async #post(path: string, parameters: Record<string, string>, browser: RequestOrigin) {
    const send = async (credentials: ClientCredentials) => ({
      credentials,
      response: await this.#calls
        .execute(() =>
          this.#transport.post(path, new URLSearchParams(parameters), browser, {
            Authorization: basicOf(credentials),
          }),
        )
        .catch((error: unknown) => {
          throw isBulkheadRejectedError(error) ? identityUnavailable(new OutageError(error.message)) : error;
        }),
    });
    const first = await send(await this.#credentials.current(browser.requestId));
    if (first.response.status !== 401) return first;
    const other = await this.#credentials.replace(first.credentials, browser.requestId);
    const second = other === undefined ? first : await send(other);
    if (second.response.status === 401) throw identityAnswerInvalid('refuses the client of the web app');
    return second;
  }
}

function tokensOf(response: AxiosResponse<unknown>): TokenPair {
  const { status, data } = response;
  if (status === 200) return parseTokens(data);
  throw status === 429
    ? identityUnavailable(outageOf(response))
    : identityAnswerInvalid(`responded ${status}`);
}

// RFC 6749 2.3.1: both parts are encoded like a form before they are joined.
function basicOf({ clientId, secret }: ClientCredentials): string {
  const encode = (text: string) => new URLSearchParams({ '': text }).toString().slice(1);
  return `Basic ${Buffer.from(`${encode(clientId)}:${encode(secret)}`).toString('base64')}`;
}
