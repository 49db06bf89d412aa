import type { AccessTokenClaims, LogoutTokenClaims } from '@tessera/contracts';
import { InvalidTokenError, type TokenVerifier } from '@tessera/jwt-verify';
import type { Logger, RequestOrigin } from '@tessera/service-kit';
import { identityAnswerInvalid } from '../identity-mirror/identity-problem.ts';
import type { IdentitySessions } from './identity-sessions.ts';
import { hashOf, newSessionId } from './session-id.ts';
import type { ClientOf, SessionRefresher } from './session-refresher.ts';
import type { SignInCredentials, TokenClient } from './token-client.ts';
import type { TokenSealer } from './token-sealer.ts';
import type { TokenPair } from './token-transport.ts';
import type { ClaimedSession, StoredSession, WebSessionRepository } from './web-session.repository.ts';
import { sessionEnded, sessionUnavailable } from './web-session-problem.ts';

interface WebSessionDependencies {
  repository: WebSessionRepository;
  refresher: SessionRefresher;
  client: TokenClient;
  /** The client of the tokens of a session. */
  clientOf: ClientOf;
  identitySessions: IdentitySessions;
  sealer: TokenSealer;
  verifier: TokenVerifier<'access'>;
  logger: Logger;
}

/** A session of a request, with the verified claims of its access token. */
export interface WebSession {
  stored: StoredSession;
  claims: AccessTokenClaims;
}

/** A session that has begun. */
export interface BegunSession {
  sessionId: string;
  claims: AccessTokenClaims;
  expiresAt: Date;
}

/** The tokens of a sign-in. */
interface IssuedTokens {
  tokens: TokenPair;
  /** Of a sign-in on identity's pages. */
  hosted?: { idToken: string; clientId: string; ssoSessionId: string | null };
  /** The person of the ID token. */
  identityId?: string;
  /** The generation of ends that was known before the sign-in. */
  since: bigint;
}

interface SignInContext {
  /** The id of the session that the browser had. */
  replaced: string | undefined;
  browser: RequestOrigin;
}

const maxSessionsPerIdentity = 100;
const maxRevocations = 200;
/** When to repeat a request that this process cannot judge because of its clock. */
const clockSeconds = 5;

/** Sessions of the web app. Their tokens stay in this service. */
export class WebSessionService {
  readonly #dependencies: WebSessionDependencies;

  constructor(dependencies: WebSessionDependencies) {
    this.#dependencies = dependencies;
  }

  /** Signs in at identity with a password and starts a session. A refusal of identity is thrown as a problem. */
  async signIn(credentials: SignInCredentials, context: SignInContext): Promise<BegunSession> {
    const since = await this.findGeneration();
    const tokens = await this.#dependencies.client.signIn(credentials, context.browser);
    return this.begin({ tokens, since }, context);
  }

  /** Returns the generation of ends of sessions, which a sign-in reads before it asks identity. */
  findGeneration(): Promise<bigint> {
    return this.#dependencies.repository.findGeneration();
  }

  /** Starts a session with a new id. Ends the session of `replaced`. */
  async begin(
    { tokens, hosted, identityId, since }: IssuedTokens,
    { replaced, browser }: SignInContext,
  ): Promise<BegunSession> {
    const { repository, refresher, identitySessions } = this.#dependencies;
    const claims = await this.#verifyIssued(tokens);
    if (identityId !== undefined && claims.sub !== identityId)
      throw identityAnswerInvalid('the tokens have two persons');
    const identitySessionId = await identitySessions.idOf(tokens.refreshToken, browser.requestId);
    const sessionId = newSessionId();
    const idHash = hashOf(sessionId);
    await repository.insert({
      idHash,
      identityId: claims.sub,
      identitySessionId,
      tokens: refresher.seal(tokens, idHash),
      hosted: hosted && {
        ...hosted,
        idToken: this.#dependencies.sealer.seal(hosted.idToken, 'id', idHash),
      },
      browser,
      maxSessions: maxSessionsPerIdentity,
      since,
    });
    if (replaced !== undefined) await this.signOut(replaced, browser);
    return { sessionId, claims, expiresAt: tokens.refreshExpiresAt };
  }

  /**
   * Returns the session, and refreshes its tokens if that is due. Throws 401 `session_ended`, or 503 `session_unavailable` if
   * the access token has expired and identity does not respond, or if the clock of this process is wrong.
   */
  async authenticate(sessionId: string, browser: RequestOrigin): Promise<WebSession> {
    const { repository, refresher, sealer, verifier } = this.#dependencies;
    const found = await repository.find(hashOf(sessionId));
    if (found === undefined) throw sessionEnded('unknown session');
    if (found.isUnseen) await repository.touch(found.idHash, browser);
    if (sealer.open(found.accessToken, 'access', found.idHash) === undefined)
      throw sessionEnded('no key of SESSION_KEYS opens the tokens');
    const stored = found.isExpired ? await refresher.await(found, browser) : found;
    if (!found.isExpired && found.isDue) refresher.start(found, browser);
    const token = sealer.open(stored.accessToken, 'access', stored.idHash) ?? '';
    try {
      return { stored, claims: await verifier.verify(token) };
    } catch (error) {
      if (!(error instanceof InvalidTokenError)) throw error;
      // By the clock of the database, the token is valid, so the clock of this process is wrong.
      throw error.isOfTime ? sessionUnavailable(clockSeconds, error) : sessionEnded(error.reason);
    }
  }

  /** Returns whose session it is, or undefined if it has ended. */
  async findIdentity(sessionId: string): Promise<string | undefined> {
    return (await this.#dependencies.repository.find(hashOf(sessionId)))?.identityId;
  }

  /**
   * Ends a session at once and revokes its tokens at identity. The cleanup job repeats a failed revocation.
   * @returns the ID token of a sign-in on identity's pages
   */
  async signOut(sessionId: string, browser: RequestOrigin): Promise<string | undefined> {
    const { repository, sealer } = this.#dependencies;
    const ended = await repository.end(hashOf(sessionId));
    if (ended === undefined) return undefined;
    await this.#revoke(ended, browser);
    return ended.idToken === null ? undefined : sealer.open(ended.idToken, 'id', ended.idHash);
  }

  /**
   * Ends what a logout token of a client names: one sign-in of a browser, or all sessions of the person that identity has ended.
   * A token that comes late, or again, ends no later session: a later sign-in of a browser has another id, and without one the
   * next request of each session asks identity.
   */
  async endByLogout({ sub, sid }: Pick<LogoutTokenClaims, 'sub' | 'sid'>, clientId: string): Promise<void> {
    const { repository } = this.#dependencies;
    if (sid !== undefined) await repository.endSignIn(sid, clientId);
    else if (sub !== undefined) await repository.expireEnded([{ identity_id: sub, session_id: null }]);
  }

  /** Ends a session of the identity, of this app or of another client. Throws 404 `session_not_found`. */
  async endSession(identityId: string, identitySessionId: string, requestId: string): Promise<void> {
    const { identitySessions, repository } = this.#dependencies;
    await identitySessions.revoke(identityId, identitySessionId, requestId);
    await repository.deleteRevoked(identityId, identitySessionId);
  }

  /** Ends all sessions of the identity. */
  async endAllSessions(identityId: string, requestId: string): Promise<void> {
    const { identitySessions, repository } = this.#dependencies;
    await identitySessions.revokeAll(identityId, requestId);
    await repository.deleteRevoked(identityId, undefined);
  }

  /** Lists the newest active sessions of the identity. */
  async listSessions(identityId: string, requestId: string) {
    return this.#dependencies.identitySessions.list(identityId, requestId);
  }

  /** Repeats failed revocations until one fails again. Returns the number of revoked sessions. */
  async revokePending(batchSize: number): Promise<number> {
    const pending = await this.#dependencies.repository.claimPending(Math.min(batchSize, maxRevocations));
    for (const [revoked, session] of pending.entries()) {
      const browser = { ip: '', userAgent: null, requestId: 'cleanup' };
      if (!(await this.#revoke(session, browser))) return revoked;
    }
    return pending.length;
  }

  async #revoke(
    { idHash, refreshToken, clientId }: ClaimedSession,
    browser: RequestOrigin,
  ): Promise<boolean> {
    const { clientOf, repository, sealer, logger } = this.#dependencies;
    const token = sealer.open(refreshToken, 'refresh', idHash);
    try {
      // Without its key, a token can be neither used nor revoked. It expires at identity.
      if (token !== undefined) await clientOf(clientId).revoke(token, browser);
      await repository.deleteEnded(idHash);
      return true;
    } catch (error) {
      logger.warn({ err: error, request_id: browser.requestId }, 'session not revoked yet; will be repeated');
      return false;
    }
  }

  // Identity has just issued the token, so a refusal means different settings of issuer or audience.
  async #verifyIssued({ accessToken }: TokenPair): Promise<AccessTokenClaims> {
    try {
      return await this.#dependencies.verifier.verify(accessToken);
    } catch (error) {
      throw error instanceof InvalidTokenError ? identityAnswerInvalid(error.reason) : error;
    }
  }
}
