import type { IncomingMessage } from 'node:http';
import type { IdTokenClaims } from '@tessera/contracts';
import { createTokenVerifier, InvalidTokenError, type KeySource, type TokenKind } from '@tessera/jwt-verify';
import { originOf } from '@tessera/service-kit';
import { identityAnswerInvalid } from '../identity-mirror/identity-problem.ts';
import type { ClientCredentialsSource, HostedTokens, OidcTokenClient } from './oidc-token-client.ts';
import { challengeOf, type SignInFlow, type SignInFlows } from './sign-in-flow.ts';
import type { BegunSession, WebSessionService } from './web-session.service.ts';

/** The settings of the sign-in on identity's pages. */
export interface HostedSignInConfig {
  /** Of the ID tokens: `{JWT_ISSUER}/oidc`. */
  issuer: string;
  publicBaseUrl: string;
  clockToleranceSeconds: number;
}

interface HostedSignInDependencies extends HostedSignInConfig {
  sessions: WebSessionService;
  client: OidcTokenClient;
  credentials: ClientCredentialsSource;
  flows: SignInFlows;
  keys: KeySource;
}

interface SignInRequest extends Pick<SignInFlow, 'target' | 'replaced'> {
  loginHint?: string | undefined;
  prompt?: 'login' | undefined;
}

export const callbackPath = '/app/oidc/callback';
export const signedOutPath = '/sign-in?signed_out=1';
export const logoutPath = '/app/oidc/backchannel-logout';

const scope = 'openid email profile';

/** The sign-in of the web app on identity's pages: an ordinary client of OpenID Connect, with code and PKCE. */
export class HostedSignIn {
  readonly #dependencies: HostedSignInDependencies;

  constructor(dependencies: HostedSignInDependencies) {
    this.#dependencies = dependencies;
  }

  get issuer(): string {
    return this.#dependencies.issuer;
  }

  /** Begins a sign-in. @returns the URL of identity's page and the cookies of the flow */
  async begin(
    request: IncomingMessage,
    { loginHint, prompt, ...wanted }: SignInRequest,
  ): Promise<{ url: string; cookies: string[] }> {
    const { flows, credentials, issuer } = this.#dependencies;
    const { clientId } = await credentials.current(request.requestId ?? '');
    const { flow, cookies } = flows.begin(request, wanted);
    const query = new URLSearchParams({
      response_type: 'code',
      client_id: clientId,
      redirect_uri: this.#redirectUri,
      scope,
      state: flow.state,
      nonce: flow.nonce,
      code_challenge: challengeOf(flow.verifier),
      code_challenge_method: 'S256',
      ...(loginHint !== undefined && { login_hint: loginHint }),
      ...(prompt !== undefined && { prompt }),
    });
    return { url: `${issuer}/authorize?${query}`, cookies };
  }

  /**
   * Exchanges the code of a flow and starts a session. Throws `CodeRefusedError` if identity refuses the code, and a problem if
   * it is unavailable or its tokens are not those of this flow.
   */
  async finish(code: string, flow: SignInFlow, request: IncomingMessage): Promise<BegunSession> {
    const { client, sessions } = this.#dependencies;
    const browser = originOf(request);
    const since = await sessions.findGeneration();
    const tokens = await client.exchange(
      { code, verifier: flow.verifier, redirectUri: this.#redirectUri },
      browser,
    );
    const { sub, sid } = await this.#verifyIdToken(tokens, flow.nonce);
    const { idToken, clientId } = tokens;
    const hosted = { idToken, clientId, ssoSessionId: sid ?? null };
    return sessions.begin({ tokens, hosted, identityId: sub, since }, { replaced: flow.replaced, browser });
  }

  /** Ends a session of this service. @returns the URL at which identity signs the person out of all applications */
  async signOut(sessionId: string | undefined, request: IncomingMessage): Promise<string> {
    const { sessions, credentials, issuer, publicBaseUrl } = this.#dependencies;
    const idToken =
      sessionId === undefined ? undefined : await sessions.signOut(sessionId, originOf(request));
    const { clientId } = await credentials.current(request.requestId ?? '');
    const query = new URLSearchParams({
      client_id: clientId,
      post_logout_redirect_uri: publicBaseUrl + signedOutPath,
      ...(idToken !== undefined && { id_token_hint: idToken }),
    });
    return `${issuer}/logout?${query}`;
  }

  /** Ends the sessions of a logout token. Throws `InvalidTokenError`. */
  async endByLogoutToken(token: string, requestId: string): Promise<void> {
    const { credentials, sessions } = this.#dependencies;
    const { clientId } = await credentials.current(requestId);
    await sessions.endByLogout(await this.#verify('logout', token, clientId), clientId);
  }

  get #redirectUri(): string {
    return this.#dependencies.publicBaseUrl + callbackPath;
  }

  #verify<Kind extends TokenKind>(kind: Kind, token: string, audience: string) {
    const { issuer, keys, clockToleranceSeconds } = this.#dependencies;
    const rules = { kind, issuer, audience, keys, clockToleranceSeconds, signatureCacheSize: 0 };
    return createTokenVerifier(rules).verify(token);
  }

  // Identity has just sent the token over a connection of our own, so a refusal means other settings, or a code of another flow.
  async #verifyIdToken({ idToken, clientId }: HostedTokens, nonce: string): Promise<IdTokenClaims> {
    try {
      const claims = await this.#verify('id', idToken, clientId);
      if (claims.nonce !== nonce) throw new InvalidTokenError('wrong nonce');
      return claims;
    } catch (error) {
      throw error instanceof InvalidTokenError ? identityAnswerInvalid(error.reason) : error;
    }
  }
}
