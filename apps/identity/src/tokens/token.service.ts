import { randomUUID } from 'node:crypto';
import type { RefreshTokenClaims, TokenResponse } from '@tessera/contracts';
import { InvalidTokenError } from '@tessera/jwt-verify';
import type { OutcomeCounter, RequestOrigin } from '@tessera/service-kit';
import { invalidGrantProblem, oauthProblem } from '../oauth.ts';
import type { IdentityQuota } from '../rate-limit/identity-quota.ts';
import { type OwnTokenVerifiers, verifyOwnToken } from './own-token.ts';
import type {
  RefreshTokenRepository,
  RefusalReason,
  RotatedToken,
  TokenHolder,
} from './refresh-token.repository.ts';
import type { TokenIssuer } from './token-issuer.ts';

export type RefreshOutcome = 'rotated' | RefusalReason | 'invalid' | 'limited' | 'unavailable' | 'error';

interface TokenServiceDependencies extends OwnTokenVerifiers {
  repository: RefreshTokenRepository;
  /**
   * Limits rotations. Refused tokens do not count; otherwise an attacker with an old token could block the owner's
   * rotations.
   */
  quota: IdentityQuota;
  issuer: TokenIssuer;
  refreshIdleTtlSeconds: number;
  reuseLeewaySeconds: number;
  sessionsValidAfter: Date;
  outcomes: OutcomeCounter<RefreshOutcome>;
}

const passwordGrant: TokenHolder = { clientId: null };

/** A used refresh token and its successor. `issuedAt` is in seconds since 1970. */
export interface Rotated extends RotatedToken {
  issuedAt: number;
  refreshToken: string | Promise<string>;
}

/** Rotates and revokes refresh tokens (docs/spec/identity-service.md 3.2, 4.1.3). */
export class TokenService {
  readonly #dependencies: TokenServiceDependencies;

  constructor(dependencies: TokenServiceDependencies) {
    this.#dependencies = dependencies;
  }

  async refresh(presented: string, origin: RequestOrigin): Promise<TokenResponse> {
    const { issuer, outcomes } = this.#dependencies;
    return outcomes.count(
      this.#rotate(presented, passwordGrant, origin).then(async ({ subject, issuedAt, refreshToken }) => {
        const [accessToken, signed] = await Promise.all([
          issuer.signAccessToken(subject, issuedAt),
          refreshToken,
        ]);
        return issuer.present(accessToken, signed);
      }),
    );
  }

  /** Rotates the refresh token of a client. */
  rotateFor(presented: string, holder: TokenHolder, origin: RequestOrigin): Promise<Rotated> {
    return this.#dependencies.outcomes.count(this.#rotate(presented, holder, origin));
  }

  async #rotate(presented: string, holder: TokenHolder, origin: RequestOrigin): Promise<Rotated> {
    const { repository, quota, issuer, refreshIdleTtlSeconds, reuseLeewaySeconds, sessionsValidAfter } =
      this.#dependencies;
    const claims = await this.#verify(presented);
    await quota.assertAvailable(claims.sub);
    const issuedAt = Math.floor(Date.now() / 1000);
    const nextJti = randomUUID();
    const expiresAt = issuedAt + refreshIdleTtlSeconds;
    // Sign in parallel with the statement, assuming the usual expiry. If the family ends earlier, the statement returns
    // the earlier expiry and the token is signed again.
    const next = { subjectId: claims.sub, jti: nextJti, issuedAt };
    const [rotated, presigned] = await Promise.all([
      repository.rotate({
        jti: claims.jti,
        sub: claims.sub,
        holder,
        nextJti,
        nextExpiresAt: new Date(expiresAt * 1000),
        sessionsValidAfter,
        origin,
      }),
      issuer.signRefreshToken({ ...next, expiresAt }),
    ]);
    if (rotated === undefined) {
      const reason = await repository.recordRefusal(claims, {
        leewaySeconds: reuseLeewaySeconds,
        origin,
        holder,
      });
      throw invalidRefreshToken(reason);
    }
    await quota.count(claims.sub);
    const storedExpiry = Math.floor(rotated.expiresAt.getTime() / 1000);
    const refreshToken =
      storedExpiry === expiresAt ? presigned : issuer.signRefreshToken({ ...next, expiresAt: storedExpiry });
    return { ...rotated, issuedAt, refreshToken };
  }

  /** RFC 7009: ignores invalid tokens and refuses access tokens. */
  async revoke(presented: string, origin: RequestOrigin): Promise<void> {
    const kind = await this.revokeFor(presented, passwordGrant, origin);
    if (kind === 'access') {
      throw oauthProblem(
        'unsupported_token_type',
        'Only refresh tokens can be revoked. Access tokens are valid until they expire.',
      );
    }
  }

  /** Revokes the family of a refresh token of this holder. Returns the kind of the token, if it is valid. */
  async revokeFor(
    presented: string,
    holder: TokenHolder,
    origin: RequestOrigin,
  ): Promise<'access' | 'refresh' | undefined> {
    const token = await verifyOwnToken(this.#dependencies, presented);
    if (token?.kind === 'refresh')
      await this.#dependencies.repository.revokeFamilyOf(token.claims, origin, holder);
    return token?.kind;
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
