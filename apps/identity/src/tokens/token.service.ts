import { randomUUID } from 'node:crypto';
import type { RefreshTokenClaims, TokenResponse } from '@tessera/contracts';
import { InvalidTokenError } from '@tessera/jwt-verify';
import type { OutcomeCounter, RequestOrigin } from '@tessera/service-kit';
import type { RefreshOutcome } from '../identity-metrics.ts';
import { invalidGrantProblem, oauthProblem } from '../oauth-error.ts';
import { type OwnTokenVerifiers, readOwnToken } from './own-token.ts';
import type { RefreshTokenRepository } from './refresh-token.repository.ts';
import { presentTokens } from './token.presenter.ts';
import type { TokenIssuer } from './token-issuer.ts';

interface TokenServiceDependencies extends OwnTokenVerifiers {
  repository: RefreshTokenRepository;
  issuer: TokenIssuer;
  refreshIdleTtlSeconds: number;
  reuseLeewaySeconds: number;
  sessionsValidAfter: Date;
  outcomes: OutcomeCounter<RefreshOutcome>;
}

/** Rotation and revocation of refresh tokens (identity-service.md 3.2, 4.1.3). */
export class TokenService {
  readonly #dependencies: TokenServiceDependencies;

  constructor(dependencies: TokenServiceDependencies) {
    this.#dependencies = dependencies;
  }

  refresh(presented: string, origin: RequestOrigin): Promise<TokenResponse> {
    return this.#dependencies.outcomes.count(this.#refresh(presented, origin));
  }

  async #refresh(presented: string, origin: RequestOrigin): Promise<TokenResponse> {
    const { repository, issuer, refreshIdleTtlSeconds, reuseLeewaySeconds, sessionsValidAfter } =
      this.#dependencies;
    const claims = await this.#verify(presented);
    const issuedAt = Math.floor(Date.now() / 1000);
    const nextJti = randomUUID();
    const expiresAt = issuedAt + refreshIdleTtlSeconds;
    // Signed while the statement runs, for the end that almost every successor has; near its family's end, the
    // cap is known only afterwards, and it is signed once more.
    const next = { subjectId: claims.sub, jti: nextJti, issuedAt };
    const [rotated, speculative] = await Promise.all([
      repository.rotate({
        jti: claims.jti,
        nextJti,
        nextExpiresAt: new Date(expiresAt * 1000),
        sessionsValidAfter,
        origin,
      }),
      issuer.signRefreshToken({ ...next, expiresAt }),
    ]);
    if (rotated === undefined) {
      const reason = await repository.refuse(claims.jti, { leewaySeconds: reuseLeewaySeconds, origin });
      throw invalidRefreshToken(reason);
    }
    const cappedAt = Math.floor(rotated.expiresAt.getTime() / 1000);
    const [accessToken, refreshToken] = await Promise.all([
      issuer.signAccessToken(rotated.subject, issuedAt),
      cappedAt === expiresAt ? speculative : issuer.signRefreshToken({ ...next, expiresAt: cappedAt }),
    ]);
    return presentTokens(accessToken, refreshToken, issuer.accessTtlSeconds);
  }

  /** RFC 7009: a token that is not valid any more needs no revocation; an access token cannot be revoked here. */
  async revoke(presented: string, origin: RequestOrigin): Promise<void> {
    const token = await readOwnToken(this.#dependencies, presented);
    if (token?.kind === 'refresh') {
      await this.#dependencies.repository.revokeFamilyOf(token.claims.jti, origin);
    }
    if (token?.kind === 'access') {
      throw oauthProblem(
        'unsupported_token_type',
        'Only refresh tokens can be revoked; an access token ends with its lifetime.',
      );
    }
  }

  async #verify(presented: string): Promise<RefreshTokenClaims> {
    try {
      return await this.#dependencies.refreshVerifier.verify(presented);
    } catch (error) {
      if (error instanceof InvalidTokenError) throw invalidRefreshToken(error);
      throw error;
    }
  }
}

function invalidRefreshToken(cause: unknown) {
  return invalidGrantProblem('The refresh token is not valid.', cause);
}
