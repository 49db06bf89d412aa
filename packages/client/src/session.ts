import type { TokenResponse, UserInfo } from '@tessera/contracts';
import { identityPaths } from '@tessera/contracts/requests';
import { ProblemError } from './problem-error.ts';
import { type CallOptions, type Credentials, Transport, type TransportOptions } from './transport.ts';
import { untilAborted } from './waiting.ts';

/** Supplies access tokens. */
export interface TokenSource {
  /** Returns a token that is valid for at least a few seconds. */
  accessToken(signal?: AbortSignal): Promise<string>;
  /** Returns a new token after the service has refused `refused`; undefined if there is none. */
  renew?(refused: string, signal?: AbortSignal): Promise<string | undefined>;
}

interface SessionOptions extends Omit<TransportOptions, 'baseUrl'> {
  /** The URL of the identity service. */
  identityUrl: string;
  /**
   * Called with each new pair of tokens, which the application must store, because a refresh token can be used only
   * once.
   */
  onTokens?: (tokens: TokenResponse) => void;
}

const scheme = 'Bearer ';

/** Authenticates requests with the tokens of a source. */
export function bearerCredentials(source: TokenSource): Credentials {
  return {
    headers: async (signal) => ({ Authorization: `${scheme}${await source.accessToken(signal)}` }),
    renew: async ({ Authorization: refused = '' }, signal) =>
      (await source.renew?.(refused.slice(scheme.length), signal)) !== undefined,
  };
}

// Renews a token before its expiry, because clocks differ and a request takes time.
const marginMs = 15_000;

type IdentityTransport = Transport<typeof identityPaths>;

/** The session of a signed-in user. Refreshes the tokens once for all concurrent callers. */
export class Session implements TokenSource {
  readonly #transport: IdentityTransport;
  readonly #authenticated: IdentityTransport;
  readonly #onTokens: SessionOptions['onTokens'];
  #tokens: TokenResponse;
  #expiresAt: number;
  #refreshing: Promise<TokenResponse> | undefined;
  #isSignedOut = false;

  /** Continues a session with the tokens of an earlier `onTokens` call. The first request refreshes them. */
  constructor(options: SessionOptions & { tokens: TokenResponse }) {
    const { identityUrl, tokens, onTokens, ...transport } = options;
    // Must be shorter than the leeway in which the service accepts a refresh token again after a lost response.
    this.#transport = new Transport(identityPaths, { deadlineMs: 8_000, ...transport, baseUrl: identityUrl });
    const settings = { ...transport, baseUrl: identityUrl };
    this.#authenticated = new Transport(identityPaths, settings, bearerCredentials(this));
    this.#onTokens = onTokens;
    this.#tokens = tokens;
    this.#expiresAt = 0;
  }

  /**
   * Signs in. Throws a `ProblemError` with the code `invalid_grant` for a wrong e-mail address or password, and
   * `password_change_required` for a temporary password, until `newPassword` replaces it.
   */
  static async signIn(
    options: SessionOptions & { email: string; password: string; newPassword?: string | undefined },
    call?: CallOptions,
  ): Promise<Session> {
    const { email, password, newPassword, ...rest } = options;
    const { identityUrl, onTokens: _, ...settings } = rest;
    const transport = new Transport(identityPaths, { ...settings, baseUrl: identityUrl });
    const next = newPassword === undefined ? {} : { new_password: newPassword };
    const body = { grant_type: 'password', email, password, ...next };
    const tokens = await transport.call('signIn', { body, ...call });
    const session = new Session({ ...rest, tokens });
    session.#keep(tokens);
    return session;
  }

  /** The current tokens. They change with each refresh, after which `onTokens` is called. */
  get tokens(): TokenResponse {
    return this.#tokens;
  }

  async accessToken(signal?: AbortSignal): Promise<string> {
    this.#assertSignedIn();
    if (Date.now() < this.#expiresAt - marginMs) return this.#tokens.access_token;
    return this.#refresh(signal);
  }

  async renew(refused: string, signal?: AbortSignal): Promise<string> {
    this.#assertSignedIn();
    if (refused !== this.#tokens.access_token) return this.#tokens.access_token;
    return this.#refresh(signal);
  }

  /** Returns the current data of the user, not those at the sign-in. */
  userInfo(options?: CallOptions): Promise<UserInfo> {
    return this.#authenticated.call('getUserInfo', { ...options });
  }

  /**
   * Ends the session and invalidates its refresh token. Further calls throw a `ProblemError` with the code
   * `signed_out`. Issued access tokens stay valid until they expire.
   */
  async signOut(options?: CallOptions): Promise<void> {
    this.#isSignedOut = true;
    await untilAborted(Promise.allSettled([this.#refreshing]), options?.signal);
    const body = { token: this.#tokens.refresh_token };
    await this.#transport.call('revokeToken', { body, isRepeatable: true, ...options });
  }

  #assertSignedIn(): void {
    if (this.#isSignedOut)
      throw new ProblemError({ code: 'signed_out', detail: 'The session was signed out.' });
  }

  // A caller can stop waiting, but not end the refresh, because others wait for it too.
  async #refresh(signal: AbortSignal | undefined): Promise<string> {
    signal?.throwIfAborted();
    const body = { refresh_token: this.#tokens.refresh_token };
    this.#refreshing ??= this.#transport
      .call('refreshTokens', { body, isRepeatable: true })
      .then((tokens) => this.#keep(tokens))
      .finally(() => {
        this.#refreshing = undefined;
      });
    return (await untilAborted(this.#refreshing, signal)).access_token;
  }

  #keep(tokens: TokenResponse): TokenResponse {
    this.#tokens = tokens;
    this.#expiresAt = Date.now() + tokens.expires_in * 1_000;
    this.#onTokens?.(tokens);
    return tokens;
  }
}
