import type { AccessTokenClaims, RefreshTokenClaims } from '@tessera/contracts';
import { InvalidTokenError, type TokenVerifier } from '@tessera/jwt-verify';

export interface OwnTokenVerifiers {
  refreshVerifier: TokenVerifier<'refresh'>;
  accessVerifier: TokenVerifier<'access'>;
}

type OwnToken =
  | { kind: 'access'; claims: AccessTokenClaims }
  | { kind: 'refresh'; claims: RefreshTokenClaims };

/** Verifies a token that this service issued, of either kind. Returns undefined for an invalid or expired token. */
export async function verifyOwnToken(
  { refreshVerifier, accessVerifier }: OwnTokenVerifiers,
  presented: string,
): Promise<OwnToken | undefined> {
  const refresh = await orUndefined(refreshVerifier.verify(presented));
  if (refresh !== undefined) return { kind: 'refresh', claims: refresh };
  const access = await orUndefined(accessVerifier.verify(presented));
  return access === undefined ? undefined : { kind: 'access', claims: access };
}

/**
 * Whether a token was issued before the sessions of its identity ended. `iat` is in whole seconds, so a token issued in
 * the same second counts as issued afterwards.
 */
export function wasIssuedBefore(sessionsValidAfter: Date | null, { iat }: { iat: number }): boolean {
  return sessionsValidAfter !== null && iat < Math.floor(sessionsValidAfter.getTime() / 1000);
}

async function orUndefined<Claims>(verification: Promise<Claims>): Promise<Claims | undefined> {
  try {
    return await verification;
  } catch (error) {
    if (error instanceof InvalidTokenError) return undefined;
    throw error;
  }
}
