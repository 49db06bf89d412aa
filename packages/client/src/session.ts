import type { TokenResponse } from '@tessera/contracts';
import { ProblemError } from './problem-error.ts';
import { Transport, type TransportOptions } from './transport.ts';

/** Supplies access tokens. */
export interface TokenSource {
  /** A token that is valid for some seconds at least. */
  accessToken(signal?: AbortSignal): Promise<string>;
  /** A new token, after the service has refused this one; undefined if there is none. */
  renew?(refused: string, signal?: AbortSignal): Promise<string | undefined>;
}

interface SessionOptions extends Omit<TransportOptions, 'baseUrl'> {
  /** The URL of the identity service. */
  identityUrl: string;
  /** Is called with each new pair of tokens, to store them: a refresh token can be used once. */
  onTokens?: (tokens: TokenResponse) => void;
}

// A token is renewed before it expires: clocks differ, and a request takes time.
const marginMs = 15_000;

/** A signed-in person: refreshes its tokens, once for all callers that wait. */
export class Session implements TokenSource {
  readonly #transport: Transport;
  readonly #onTokens: SessionOptions['onTokens'];
  #tokens: TokenResponse;
  #expiresAt: number;
  #refreshing: Promise<TokenResponse> | undefined;
  #isSignedOut = false;

  /** Continues a session with the tokens of an earlier `onTokens`. Its first call refreshes them. */
  constructor(options: SessionOptions & { tokens: TokenResponse }) {
    const { identityUrl, tokens, onTokens, ...transport } = options;
    // The service accepts a refresh token again for some seconds, for a response that was lost.
    this.#transport = new Transport({ deadlineMs: 8_000, ...transport, baseUrl: identityUrl });
    this.#onTokens = onTokens;
    this.#tokens = tokens;
    this.#expiresAt = 0;
  }

  /** Throws a `ProblemError` with the code `invalid_grant` for a wrong e-mail address or password. */
  static async signIn(options: SessionOptions & { email: string; password: string }): Promise<Session> {
    const { email, password, ...rest } = options;
    const { identityUrl, onTokens: _, ...settings } = rest;
    const transport = new Transport({ ...settings, baseUrl: identityUrl });
    const { body } = await transport.send({
      method: 'POST',
      path: '/token',
      body: { grant_type: 'password', email, password },
    });
    const session = new Session({ ...rest, tokens: body as TokenResponse });
    session.#keep(body as TokenResponse);
    return session;
  }

  async accessToken(): Promise<string> {
    this.#assertSignedIn();
    if (Date.now() < this.#expiresAt - marginMs) return this.#tokens.access_token;
    return (await this.#refresh()).access_token;
  }

  async renew(refused: string): Promise<string> {
    this.#assertSignedIn();
    if (refused !== this.#tokens.access_token) return this.#tokens.access_token;
    return (await this.#refresh()).access_token;
  }

  /**
   * Ends the session: its refresh token becomes invalid, and further calls throw a `ProblemError` with the code `signed_out`.
   * An access token that was used before stays valid until it expires.
   */
  async signOut(): Promise<void> {
    this.#isSignedOut = true;
    await this.#refreshing?.catch(() => undefined);
    await this.#transport.send({
      method: 'POST',
      path: '/token/revoke',
      body: { token: this.#tokens.refresh_token },
      isRepeatable: true,
    });
  }

  #assertSignedIn(): void {
    if (this.#isSignedOut)
      throw new ProblemError({ code: 'signed_out', detail: 'The session was signed out.' });
  }

  #refresh(): Promise<TokenResponse> {
    this.#refreshing ??= this.#transport
      .send({
        method: 'POST',
        path: '/token/refresh',
        body: { refresh_token: this.#tokens.refresh_token },
        isRepeatable: true,
      })
      .then(({ body }) => this.#keep(body as TokenResponse))
      .finally(() => {
        this.#refreshing = undefined;
      });
    return this.#refreshing;
  }

  #keep(tokens: TokenResponse): TokenResponse {
    this.#tokens = tokens;
    this.#expiresAt = Date.now() + tokens.expires_in * 1_000;
    this.#onTokens?.(tokens);
    return tokens;
  }
}
